"""Routes for ended work, and for the attempts of a workload."""

from collections.abc import Collection
from fnmatch import translate
from re import compile as compiled
from typing import Annotated

from fastapi import Query

from ganglion.api.past.curves import CurvePage, CurveView
from ganglion.api.past.timeline import AttemptPage
from ganglion.api.workloads import HistoryPage
from ganglion.ledger.history import WantedWorkloads
from ganglion.ledger.records import Filed
from ganglion.lifecycle.clusters import live_id
from ganglion.lifecycle.status import State
from ganglion.metering.clusters import metered_name
from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind
from ganglion.server.delivered.filed import metered_as
from ganglion.server.requests.context import Here
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.state.refs import living, resolve
from ganglion.server.views.past.timeline import attempts, timeline_present
from ganglion.server.views.workloads import history_item

router = Routes(tags=["workloads"], responses=ERRORS)

MOST = (1 << 63) - 1
"""Largest number that databases hold."""
ENDED = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.TIMED_OUT})

Text = Annotated[str | None, Query(max_length=200)]


@router.get("/history")
def history(
    here: Here,
    since: Annotated[int, Query(ge=0, le=MOST, description="ended at or after, in ms")] = 0,
    until: Annotated[int, Query(ge=0, le=MOST, description="ended before, in ms; 0 = now")] = 0,
    state: Annotated[tuple[State, ...], Query(description="ended in one of these")] = (),
    queue: Annotated[str | None, Query(max_length=1000)] = None,
    user: Text = None,
    kind: Kind | None = None,
    name: Annotated[
        str | None, Query(max_length=200, description="pattern: `*` is any text, `?` one character")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(description="`next` of the page before")] = "",
) -> HistoryPage:
    """List workloads that have ended, the one that ended last first.

    A page may have fewer than `limit` items although more follow: `next` says so.
    """
    pairs = {"queue": queue and queue.rpartition("/")[2], "user": user, "kind": kind}
    equal = {key: _text(str(value)) for key, value in pairs.items() if value}
    states = tuple(str(each) for each in state if each in ENDED)
    if state and not states:
        return HistoryPage(items=(), next=None)
    wanted = WantedWorkloads(since, until, states, equal, _text(name or ""))
    found = here.service.ledger.history.page(wanted, _cursor(after), limit + 1)
    # LIKE of some databases ignores case.
    fits = compiled(translate(_literal(name))) if name else None
    items = tuple(
        history_item(each)
        for each in found[:limit]
        if (fits is None or fits.match(each.name)) and here.caller.sees(each.workload.queue)
    )
    return HistoryPage(items=items, next=_next(found[limit - 1]) if len(found) > limit else None)


@router.get("/workloads/{ref:ref}/attempts")
def list_attempts(here: Here, ref: str) -> AttemptPage:
    """Say when the attempts of a workload held which nodes, those that are over too."""
    service, now = here.service, here.service.now()
    with service.read() as mind:
        if away := living(mind, ref):
            workload, metered = live_id(*away), metered_name(away[0], away[1].gang.id)
            gangs: Collection[str] = (metered,)
        else:
            found = resolve(mind, service.ledger, ref)
            workload = found.workload
            metered = metered_as(found.filed) if found.filed else workload
            gangs = mind.book.gangs.get(found.workload, ())
        present = timeline_present(mind, service.ledger, now, gangs)
    page = attempts(service.ledger, present, metered)
    for each in page.items if metered != workload else ():  # it is of a cluster
        each.workload, each.gang = workload, f"{workload}/0"
    return page


@router.get("/workloads/{ref:ref}/curves")
def list_curves(
    here: Here, ref: str, index: Annotated[int, Query(ge=0, le=MOST, description="of a gang")] = 0
) -> CurvePage:
    """Say what the attempts of a gang used and reported over their time."""
    with here.service.read() as mind:
        found = resolve(mind, here.service.ledger, ref)
    gang = f"{found.workload}/{index if found.gang is None else found.gang}"
    items = [
        CurveView(attempt, kind, name, *zip(*curve.points, strict=True))
        for attempt, curves in here.curves.of(gang).items()
        for (kind, name), curve in sorted(curves.items())
        if curve.points
    ]
    return CurvePage(gang, tuple(items))


def _text(value: str) -> str:
    """Text without what PostgreSQL refuses."""
    return value.replace("\0", "\ufffd")


def _literal(name: str) -> str:
    """The pattern with brackets that mean themselves."""
    return name.replace("[", "[[]")


def _next(last: Filed) -> str:
    return f"{last.ended}-{last.number}"


def _cursor(after: str) -> tuple[int, int] | None:
    if not after:
        return None
    at, dash, number = after.partition("-")
    if not (dash and _is_number(at) and _is_number(number)):
        raise FieldError(f"{after!r} is no cursor", key="after", hint="give `next` of a page")
    return int(at), int(number)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text[:20]) <= MOST and len(text) < 20
