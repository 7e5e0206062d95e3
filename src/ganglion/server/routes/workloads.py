"""Routes for workloads."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Annotated, Any, TypeVar

import anyio
from fastapi import Header, Query, Response
from msgspec.structs import replace
from pydantic import Field

from ganglion.api import reasons, workloads
from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.lifecycle.expand import gang_count
from ganglion.metering.clusters import metered_name
from ganglion.model.errors import FieldError
from ganglion.model.workload import Deadline, Kind, UnixAccount
from ganglion.server.access.caller import Caller
from ganglion.server.access.checks import (
    check_submit,
    check_target,
    may_audit,
    narrowed,
    own_key,
)
from ganglion.server.commands import live
from ganglion.server.commands.secrets import needed
from ganglion.server.commands.submission import retry as retries
from ganglion.server.commands.submission import submit
from ganglion.server.delivered.filed import metered_as
from ganglion.server.delivered.living import ClusterWord, living_detail, living_view
from ganglion.server.requests.context import Body, Document, Here, ServerContext, document_body
from ganglion.server.rest.filters import ENDED, RowFilter, WorkloadQuery, clean, wanted
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.pages import Rank
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes, sent
from ganglion.server.routes.fleet.away_logs import away_log, read_away
from ganglion.server.routes.fleet.explaining import explained
from ganglion.server.routes.models.requests import checked_request
from ganglion.server.state.feed import Patient
from ganglion.server.state.refs import living, resolve
from ganglion.server.state.transaction import Transaction
from ganglion.server.views import lists, logs
from ganglion.server.views.ahead.dry_runs import verdict_view, with_retries
from ganglion.server.views.cluster import positions
from ganglion.server.views.lists import MOST
from ganglion.server.views.workload_costs import costs_of, opened_costs, trial_cost
from ganglion.server.views.workloads import (
    detail,
    filed_detail,
    filed_view,
    model_view,
    view,
)
from ganglion.specs.grammar.times.deadlines import parse_deadline
from ganglion.specs.grammar.times.durations import parse_duration

T = TypeVar("T")
_Row = tuple[workloads.WorkloadView, str]
"""A workload, and its name in usage."""

router = Routes(tags=["workloads"], responses=ERRORS)

MOST_KEY = 200
"""Longest idempotency key."""

Key = Annotated[
    str,
    Header(alias="Idempotency-Key", max_length=MOST_KEY, pattern=r"^[\x21-\x7e]*$"),
]


class Update(Input):
    """What to change; keys left out stay as they are."""

    priority: int | None = Field(None, ge=0, le=100)
    queue: str | None = Field(None, max_length=1000, description="a leaf queue, by name or path")
    time_limit: str | None = Field(None, max_length=100, description="as `24h`; `0` lifts it")
    deadline: str | None = Field(
        None, max_length=100, description="as `12h` after the submit, or a date; `0` lifts it"
    )
    held: bool | None = Field(None, description="true = do not start it; false = release it")


class Cancel(Input):
    """How to stop."""

    force: bool = Field(False, description="leave no grace")


@router.post(
    "/workloads",
    status_code=201,
    response_model=workloads.Accepted,
    responses={200: {"model": reasons.Verdict, "description": "with dry_run: what would happen"}},
    openapi_extra=document_body("WorkloadFile"),
)
async def submit_workload(
    here: Here,
    body: Document,
    dry_run: Annotated[bool, Query(description="only say what would happen")] = False,
    force: Annotated[bool, Query(description="take it though it can never start now")] = False,
    if_plan: Annotated[
        str, Query(max_length=100, description="`plan` of a dry run: take it only if it holds")
    ] = "",
    idempotency_key: Key = "",
) -> Response:
    """Submit a workload. The same Idempotency-Key gets the same answer and submits once."""
    if not dry_run:
        if if_plan:
            here.take_dry_run()
        return await taken(here, body, key=idempotency_key, force=force, if_plan=if_plan)
    here.take_dry_run()
    request = await checked_request(here, body, key=idempotency_key, force=force, dry=True)
    tried = await anyio.to_thread.run_sync(_tried, here, request)
    return sent(tried)


async def taken(
    here: ServerContext, body: Body, *, key: str = "", force: bool = False, if_plan: str = ""
) -> Response:
    """Submit a workload, and answer.

    Args:
        here: the server.
        body: the workload file.
        key: idempotency key; empty = none.
        force: take it although it can never start now.
        if_plan: hash of a plan, which has to hold still; empty = none has to.

    Raises:
        GanglionError: it is refused.
    """
    account = await _account(here)
    checked = await checked_request(here, body, key=key, force=force)
    request = replace(checked, account=account, if_plan=if_plan)
    accepted = await here.service.answer(lambda draft: admitted(here.caller, draft, request))
    return sent(accepted, 201)


def admitted(
    caller: Caller, draft: Transaction, request: submit.Request, known: submit.Known | None = None
) -> workloads.Accepted:
    """Submit a workload, where the caller may submit to its queue and see what it waits for.

    Raises:
        GanglionError: it is refused.
    """
    check_submit(caller, draft.mind, draft.ledger, request.file)
    return submit.submit(draft, request, known)


async def _account(here: ServerContext) -> UnixAccount | None:
    """The account that programs of the caller run as; the helper is asked beside other requests."""
    return await anyio.to_thread.run_sync(here.account) if here.host else here.account()


def _tried(here: ServerContext, request: submit.Request) -> reasons.Verdict:
    needed(here.service.secrets, request.file, here.user)
    with here.dry_run() as mind:
        check_submit(here.caller, mind, here.service.ledger, request.file)
        now, ledger = here.service.now(), here.service.ledger
        found = with_retries(mind, submit.try_out(mind, ledger, request, now), now)
        workload = submit.understood(mind, ledger, request, now)
        return replace(
            verdict_view(mind.state, found, here.caller.sees),
            snapshot=ledger.head,
            plan=submit.plan_of(request, found.verdict),
            gangs=gang_count(workload),
            cost=trial_cost(mind, workload, now),
            model=model_view(request.model),
        )


@router.get("/workloads")
def list_workloads(here: Here, query: Annotated[WorkloadQuery, Query()]) -> workloads.WorkloadPage:
    """List workloads, the newest first; those that live in clusters come before all others."""
    want = narrowed(here.caller, wanted(query, here.service.now()))
    if query.key:
        return workloads.WorkloadPage(items=_priced(here, _keyed(here, want, query.key)))
    behind, before = lists.begins(query)
    items = _live(here, want, behind, before, query.limit + 1)
    if query.all or want.states & ENDED:
        ended = lists.ended(here.service.ledger.history, want, before, query.limit + 1)
        # One that ended between the two looks is shown as ended.
        items |= {(1, -each.number): (filed_view(each), metered_as(each)) for each in ended}
    found = sorted(items)
    return workloads.WorkloadPage(
        items=_priced(here, [items[rank] for rank in found[: query.limit]]),
        next=lists.cursor(found[query.limit - 1]) if len(found) > query.limit else None,
    )


def _priced(here: ServerContext, rows: Sequence[_Row]) -> tuple[workloads.WorkloadView, ...]:
    """With what each of them costs, where there are prices."""
    with here.service.read() as mind:
        names = [name for _, name in rows]
        noted = opened_costs(mind, here.service.ledger, names, here.service.now())
    costs = costs_of(here.service.ledger, noted)
    return tuple(replace(each, cost=costs.get(name)) if costs else each for each, name in rows)


def _keyed(here: ServerContext, want: RowFilter, key: str) -> list[_Row]:
    """The workload of a cluster that usage names so, if it passes."""
    with here.service.read() as mind:
        if away := mind.book.clusters.keyed(key):
            word = here.words(mind)[away[0]]
            return [_away_row(*away, word)] if lists.takes_away(want, *away) else []
    row = here.service.ledger.history.metered_as([clean(key)]).get(key)
    return [(filed_view(row), key)] if row and lists.takes_ended(want, row) else []


def _away_row(cluster: str, found: DeliveredGang, word: ClusterWord) -> _Row:
    return living_view(cluster, found, word), metered_name(cluster, found.gang.id)


def _live(
    here: ServerContext, want: RowFilter, behind: Rank | None, before: int, limit: int
) -> dict[Rank, _Row]:
    """Live workloads, at most `limit` of clusters and the newest `limit` of the server itself."""
    with here.service.read() as mind:
        words = here.words(mind)
        away: dict[Rank, _Row] = {
            (0, *rank): _away_row(cluster, each, words[cluster])
            for rank, cluster, each in lists.away(mind, want, behind)[:limit]
        }
        chosen = list(islice(lists.live(mind, want, before), limit))
        # A place in the order counts work that the caller may not see.
        places = positions(mind.state) if chosen and here.caller.sees_all else {}
        return away | {(1, -each.number): (view(mind, each.id, places), each.id) for each in chosen}


@router.get("/workloads/{ref:ref}/why")
async def explain_workload(here: Here, ref: str) -> reasons.Why:
    """Say why a workload waits: gang by gang, what waits first, at most 20 of them.

    The scheduler of a cluster is asked about work that lives there. Without its answer within
    some seconds it is what it delivered last; `asked` says which.
    """
    return await explained(here, ref)


@router.get(
    "/workloads/{ref:ref}/logs",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def read_log(
    here: Here,
    ref: str,
    rank: Annotated[int, Query(ge=0, le=MOST)] = 0,
    index: Annotated[int | None, Query(ge=0, le=MOST)] = None,
    tail: Annotated[int | None, Query(ge=0, le=MOST, description="number of last lines")] = None,
    since: Annotated[str | None, Query(description="written within: `10m`")] = None,
    follow: Annotated[bool, Query(description="go on until the attempt ends")] = False,
    previous: Annotated[bool, Query(description="of the attempt before")] = False,
) -> Response:
    """Read the log of one rank; bytes come as they were written.

    Of work in a cluster its scheduler reads it there, as far as the cluster lets it.
    """
    wanted = logs.WantedLog(ref, index, rank, previous)
    after = 0 if since is None else here.service.now() - _parsed("since", parse_duration, since)
    away = await anyio.to_thread.run_sync(away_log, here, wanted, tail, after)
    if away:
        return await read_away(here, away, follow=follow)
    return await anyio.to_thread.run_sync(
        partial(_own_log, here, wanted, tail, after, follow=follow)
    )


def _own_log(
    here: ServerContext, wanted: logs.WantedLog, tail: int | None, after: int, *, follow: bool
) -> Response:
    """The log of work of this server."""

    def look() -> logs.Which:
        with here.service.read() as mind:
            return logs.which(mind, here.service.ledger, wanted)

    found = look()
    logs.check(found, follow=follow)
    root = here.home.root
    if follow and not found.over:
        stream = logs.followed(root, look, here.feed, wanted.rank, tail, after)
    else:
        stream = logs.copied(root, found, wanted.rank, tail, after)
    return Patient(stream, media_type="text/plain; charset=utf-8")


def _parsed(key: str, parse: Callable[[str], T], text: str) -> T:
    """A value of a request; FieldError names its key."""
    try:
        return parse(text)
    except FieldError as error:
        raise FieldError(error.problem, key=key, hint=error.hint) from error


@router.post("/workloads/{ref:ref}/cancel")
def cancel_workload(here: Here, ref: str, how: Cancel | None = None) -> workloads.WorkloadDetail:
    """End what waits and stop what runs of a workload, or of one gang of it."""
    force, user = bool(how and how.force), here.user
    return shown(here, here.service.ask(lambda draft: live.cancel(draft, ref, user, force=force)))


@router.post("/workloads/{ref:ref}/retry", status_code=201)
def retry_workload(here: Here, ref: str, idempotency_key: Key = "") -> workloads.Accepted:
    """Submit what failed of a workload, as a workload of its own: of a sweep those trials only."""
    key = own_key(here.caller, idempotency_key)
    cap = here.caller.cap
    return here.service.ask(lambda draft: retries.retry(draft, ref, here.user, key, cap=cap))


@router.patch("/workloads/{ref:ref}")
def update_workload(here: Here, ref: str, changes: Update) -> workloads.WorkloadDetail:
    """Change a live workload."""
    given = changes_of(changes)
    if given.queue is not None:
        check_target(here.caller, given.queue)
    return shown(here, here.service.ask(lambda draft: live.change(draft, ref, given)))


def changes_of(changes: Update) -> live.Changes:
    """What a request asks to change.

    Raises:
        FieldError: the time limit or the deadline is none.
    """
    limit: Any = changes.time_limit
    return live.Changes(
        priority=changes.priority,
        queue=None if changes.queue is None else changes.queue.rpartition("/")[2],
        time_limit_ms=None if limit is None else _parsed("time_limit", parse_duration, limit),
        deadline=None if changes.deadline is None else _parsed("deadline", _due, changes.deadline),
        held=changes.held,
    )


def _due(text: str) -> Deadline:
    return live.NO_DEADLINE if text.strip() == "0" else parse_deadline(text)


@router.get("/workloads/{ref:ref}")
def show_workload(here: Here, ref: str) -> workloads.WorkloadDetail:
    """Show everything about a workload."""
    return shown(here, ref)


def shown(here: ServerContext, ref: str) -> workloads.WorkloadDetail:
    """Everything about a workload, live or ended."""
    ledger, filed = here.service.ledger, None
    with here.service.read() as mind:
        now = here.service.now()
        if away := living(mind, ref):
            made = living_detail(*away, here.words(mind)[away[0]])
            metered = metered_name(away[0], away[1].gang.id)
        else:
            found = resolve(mind, ledger, ref)
            filed = found.filed
            metered = metered_as(filed) if filed else found.workload
        costs = opened_costs(mind, ledger, [metered], now)
        if not away and filed is None:
            places = positions(mind.state) if here.caller.sees_all else {}
            made = detail(mind, found.workload, places, here.service.endpoints, here.url(), now)
            use = here.use_of(made.gangs[0].id) if made.kind == Kind.WORKSPACE else ""
            load = here.load_of(made.name) if made.url else None
            its = mind.book.entries[found.workload].workload
            kept = here.model_kept(its.model, its.account) if its.model else None
            made = replace(made, use=use, load=load, model_kept=kept)
    if filed is not None:
        made = filed_detail(filed)
    cost = costs_of(ledger, costs).get(metered)
    return _noted(here, replace(made, cost=cost))


def _noted(here: ServerContext, made: workloads.WorkloadDetail) -> workloads.WorkloadDetail:
    """With the alarm that its notices could not be sent."""
    unsent = here.unsent(made.id)
    if made.sessions and not may_audit(here.caller, made.queue):
        made = replace(made, sessions=())
    return replace(made, alarms=made.alarms | {"notify": unsent}) if unsent else made
