"""Accepting a workload: everything that can be wrong with it is checked before it is taken."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.workloads import Accepted
from ganglion.engine.explain.foretell import Prospect, fate, foretell, impossible
from ganglion.engine.gangs.record import WAITING
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.queue_rules import rules_to_come
from ganglion.ledger.records import Filed, Submitted
from ganglion.lifecycle.expand import gang_count, gangs_of
from ganglion.lifecycle.schedules import next_date
from ganglion.lifecycle.status import State
from ganglion.model.behaviour import Schedule
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import Conflict, FieldError, InputError
from ganglion.model.events import GangSubmitted, GangUpdated, ScheduleSet
from ganglion.model.plan import Verdict, check_plan, plan_hash
from ganglion.model.workload import Gang, Kind, ResolvedImage, ResolvedModel, UnixAccount, Workload
from ganglion.server.commands.secrets import digest_of, kept_document, needed
from ganglion.server.commands.submission.submit_rules import (
    check_deadline,
    check_queue,
    check_size,
    contradictions,
    default_queue,
    looked_up,
)
from ganglion.server.commands.workspaces import check_awake
from ganglion.server.state.transaction import Mind, Transaction
from ganglion.specs.wording import first_of
from ganglion.specs.workload.workload import WorkloadFile, from_document, partly_read, to_workload
from ganglion.worlds.local.run_files.secret_store import SCHEDULES, WORKLOADS

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger


class TooLarge(InputError):
    """No future of the present fleet and queues could start it."""

    code = "input.never"


"""Of the hash of a plan, in hexadecimal."""


class Request(Struct, frozen=True):
    """A submission, checked as far as that needs no state.

    Attributes:
        file: the workload file.
        user: who submits it.
        key: idempotency key; empty = none.
        digest: of the body, to distinguish a repetition from a key used twice.
        force: take it although it can never start as things are.
        account: Unix account that its programs run as; None = that of the server.
        if_plan: hash of the plan that was shown; empty = take it whatever would happen.
        model: what its reference to a model means now; None = it has none.
        cap: id of the token within whose spending cap it has to stay; empty = of none.
        image: what its image is; None = it has none, or was not looked for.
    """

    file: WorkloadFile
    user: str
    key: str = ""
    digest: str = ""
    force: bool = False
    account: UnixAccount | None = None
    if_plan: str = ""
    model: ResolvedModel | None = None
    cap: str = ""
    image: ResolvedImage | None = None


def checked(data: dict[str, Any], raw: bytes = b"", **others: Any) -> Request:  # noqa: ANN401 - fields of Request
    """Check a document by itself.

    Args:
        data: the workload file.
        raw: the bytes it came as, to recognise a repetition; empty = `digest` is given.
        others: fields of the request.

    Raises:
        FieldError: a key or value is wrong.
    """
    file = from_document(data)
    return Request(file, **{"digest": digest_of(file, raw) if raw else "", **others})


Known = Mapping[str, Filed | Submitted]
"""Idempotency key -> the workload that was submitted with it."""


def known_requests(draft: Transaction, keys: Collection[str]) -> Known:
    """What was submitted with any of these keys, in the ledger and in this turn."""
    found: dict[str, Filed | Submitted] = {}
    # Nearly always one key that is new, for which there is a cheaper question.
    if len(keys) > 1 or any(map(draft.ledger.is_known, keys)):
        found |= draft.ledger.history.by_requests(keys)
    wanted = frozenset(keys)
    for new in draft.batch.submitted:
        if new.request_key in wanted:
            found[new.request_key] = new
    return found


def submit(draft: Transaction, request: Request, known: Known | None = None) -> Accepted:
    """Take a workload in; a repetition gets the first answer again.

    One with a schedule is kept, and submitted whenever a date comes.

    Args:
        draft: the open turn.
        request: what to submit.
        known: of a batch, `known_requests` of all its keys; None = it is looked up.

    Raises:
        InputError: the queue is wrong, or the workload larger than the fleet.
        Conflict: the name is taken, the queue full, a dependency failed, the key was used.
        PlanChanged: something else would happen to it than what was shown.
    """
    repeated = _repeated(draft, request, known)
    if repeated:
        return repeated
    workload = understood(draft.mind, draft.ledger, request, draft.now)
    if workload.schedule:
        return _keep(draft, request, workload, workload.schedule)
    _check_name(draft.mind, workload)
    if request.if_plan:
        _check_plan(draft, request)
    _check_room(draft, workload)
    if workload.kind is Kind.WORKSPACE:
        check_awake(draft.mind, workload.user)
    if not request.force and not workload.held:
        _check_possible(draft.state, workload, draft.now)
    return _file(draft, request, workload)


def _keep(draft: Transaction, request: Request, workload: Workload, schedule: Schedule) -> Accepted:
    """Set up a schedule, or change the one of that name."""
    first, name = next_date(schedule, draft.wall), workload.name
    if first is None:
        raise FieldError("it has no next date", key="schedule.cron")
    if not request.force:
        _check_possible(draft.state, workload, draft.now)
    known = draft.book.schedules.live.get(name)
    if known and known.user != workload.user:
        raise Conflict(f"the schedule {name} is {known.user}'s", "choose another name for yours")
    kept = {"name": name, **kept_document(request.file)}
    kept.pop("schedule")
    text = msgspec.json.encode(kept).decode()
    secrets = needed(draft.secrets, request.file, workload.user)
    draft.secrets.keep(SCHEDULES, name, secrets)
    own = (workload.account, workload.model)
    made = ScheduleSet(draft.now, name, workload.user, text, schedule, draft.wall, *own)
    draft.record(made)
    commands = ("ganglion schedules", f"ganglion schedules --remove {name}")
    return Accepted(id=name, name=name, gangs=gang_count(workload), next=commands, due=first)


def submit_run(
    draft: Transaction, schedule: str, request: Request, before: Collection[str]
) -> Accepted:
    """Submit one run of a schedule.

    Args:
        draft: the open turn.
        schedule: its name.
        request: what to submit.
        before: runs of the same schedule, beside which it may have their name.

    Raises:
        GanglionError: it cannot be submitted now; nothing has changed.
    """
    workload = understood(draft.mind, draft.ledger, request, draft.now)
    _check_name(draft.mind, workload, before)
    _check_room(draft, workload)
    return _file(draft, request, workload, draft.secrets.given(SCHEDULES, schedule))


def try_out(mind: Mind, ledger: "Ledger", request: Request, now: int) -> Prospect:
    """Say what would happen to the first gang of a workload; nothing changes.

    Raises:
        InputError: the queue is wrong.
        Conflict: the name is taken, or a dependency failed.
    """
    return foretell(mind.state, _first(mind, ledger, request, now), now)


def _first(mind: Mind, ledger: "Ledger", request: Request, now: int) -> Gang:
    workload = understood(mind, ledger, request, now)
    _check_name(mind, workload)
    return gangs_of("trial-0", workload, now)[0]


def plan_of(request: Request, found: Verdict) -> str:
    """Hash of a workload and of what would happen to it."""
    return plan_hash((request.digest, request.model), found)


def _check_plan(draft: Transaction, request: Request) -> None:
    """Raises PlanChanged unless the same would happen as was shown."""
    first = _first(draft.mind, draft.ledger, request, draft.now)
    found = fate(draft.state, first, draft.now).verdict
    check_plan(plan_of(request, found), request.if_plan)


def understood(mind: Mind, ledger: "Ledger", request: Request, now: int) -> Workload:
    """The workload that a request means, with queue and dependencies resolved.

    Raises:
        FieldError: it does not go with the present state; see `contradictions`.
        Conflict: a dependency has failed.
    """
    try:
        return _understood(mind, ledger, request, now)
    except FieldError as error:
        raise first_of(contradictions(mind, ledger, request.file, now) or error.errors) from None


def refused(
    mind: Mind, ledger: "Ledger", data: dict[str, Any], error: FieldError, now: int
) -> FieldError:
    """The error of a document that is wrong by itself, with what else is wrong in this state."""
    found = (*error.errors, *contradictions(mind, ledger, partly_read(data), now))
    return first_of({(each.key, each.problem): each for each in found}.values())


def _understood(mind: Mind, ledger: "Ledger", request: Request, now: int) -> Workload:
    workload = to_workload(
        request.file,
        user=request.user,
        default_queue=default_queue(mind.state),
        classes=mind.state.config.policy.priorities,
        rules=partial(rules_to_come, mind.state),
    )
    check_queue(mind.state, workload.queue)
    check_size(workload)
    if workload.deadline:
        check_deadline(workload.deadline, now, now)
    # The engine forgets what ended long ago; what has succeeded holds nothing up.
    after = tuple(each for name in workload.after if (each := _dependency(mind, ledger, name)))
    awaited = [_awaited(mind, ledger, name) for name in workload.after_any]
    if workload.singleton:
        awaited += [each.id for each in mind.book.all_named(workload.name)]
    after_any = tuple(dict.fromkeys(awaited))
    if request.cap and not workload.time_limit_ms:
        raise FieldError(
            f"token {request.cap} has a spending cap: what is submitted with it needs a time limit,"
            " by which it is known what it costs at most",
            key="time_limit",
            hint="as `2h`",
        )
    own = {"account": request.account, "model": request.model, "cap": request.cap}
    run = replace(workload.run, resolved=request.image)
    return replace(workload, after=after, after_any=after_any, run=run, **own)


def _dependency(mind: Mind, ledger: "Ledger", name: str) -> str:
    """Id of the workload that a name in `after` means; empty = it has succeeded.

    Raises:
        Conflict: it has failed.
    """
    filed = looked_up(mind, ledger, name)
    if isinstance(filed, str):
        return filed
    if filed.state != State.SUCCEEDED:
        raise Conflict(
            f"it is to run after {filed.id}, which ended as {filed.state}",
            f"submit {name} again first, or leave `after` out",
        )
    return ""


def _awaited(mind: Mind, ledger: "Ledger", name: str) -> str:
    """Id of the workload that `any:name` in `after` means, however it ended."""
    filed = looked_up(mind, ledger, name)
    return filed if isinstance(filed, str) else filed.id


def _check_name(mind: Mind, workload: Workload, beside: Collection[str] = ()) -> None:
    """One name, one live workload, but for those of one user that wait for each other."""
    for live in mind.book.all_named(workload.name):
        if live.id in beside or (workload.singleton and live.workload.user == workload.user):
            continue
        raise Conflict(
            f"a workload named {workload.name} is live: {live.id}",
            f"choose another name, or cancel that one first: ganglion cancel {live.id}",
        )


def _check_room(draft: Transaction, workload: Workload) -> None:
    most = draft.state.queues.by_name[workload.queue].max_pending
    if not most:
        return
    waiting = sum(
        all(record.phase in WAITING for record in draft.records(entry.id))
        for entry in draft.book.entries.values()
        if entry.workload.queue == workload.queue
    )
    if waiting >= most:
        raise Conflict(
            f"{waiting} workloads wait in queue {workload.queue}, which takes at most {most}",
            "wait until some have started, or use another queue",
        )


def _check_possible(state: ClusterState, workload: Workload, now: int) -> None:
    """All gangs of a workload ask for the same, so one verdict holds for all."""
    gang = replace(gangs_of("trial-0", workload, now)[0], after=(), after_any=())
    found = impossible(state, gang, now)
    if found and found.reason:
        changes = [each.change for each in found.suggestions]
        hint = f"{changes[0]}; " if changes else ""
        raise TooLarge(
            f"{workload.name} could never start: {found.reason.message}",
            f"{hint}force=true submits it all the same, to wait for a change of the fleet",
        )


def _file(
    draft: Transaction, request: Request, workload: Workload, secrets: Mapping[str, str] = {}
) -> Accepted:
    """Enter a workload; `secrets` are values that its schedule has for it."""
    number = draft.ledger.next_number()
    key = f"{workload.name}-{number}"
    kept = msgspec.json.encode({"name": workload.name, **kept_document(request.file)})
    # Before the turn is written: a workload that exists has its secrets. What is left behind
    # by a turn that was not written is removed when the next server starts.
    if workload.run.secrets:
        values = needed(draft.secrets, request.file, workload.user, secrets)
        draft.secrets.keep(WORKLOADS, key, values)
    draft.file(
        Submitted(key, number, draft.now, kept, workload, request.key or None, request.digest)
    )
    gangs = gangs_of(key, workload, draft.now)
    for gang in gangs:
        draft.apply(GangSubmitted(draft.now, gang, workload.run.recorded_image, workload.account))
        if workload.kind is Kind.SERVICE and not workload.replicas and not workload.held:
            draft.apply(GangUpdated(draft.now, gang.id, held=True, cause=Cause(CauseKind.ASLEEP)))
    return _accepted(key, workload.name, len(gangs))


def _accepted(key: str, name: str, gangs: int) -> Accepted:
    commands = (f"ganglion why {key}", f"ganglion logs -f {key}", f"ganglion cancel {key}")
    return Accepted(id=key, name=name, gangs=gangs, next=commands)


def _repeated(draft: Transaction, request: Request, known: Known | None) -> Accepted | None:
    """The first answer to a request with this key."""
    if not request.key:
        return None
    if known is None:
        known = known_requests(draft, (request.key,))
    found = known.get(request.key)
    if found is None:
        return None
    if found.request_hash != request.digest:
        raise Conflict(
            f"the idempotency key was used for another request, which made {found.id}",
            "use a new key for every new submission",
        )
    return _accepted(found.id, found.workload.name, gang_count(found.workload))
