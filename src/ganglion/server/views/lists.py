"""Which workloads a filter means, live and ended, and the order of what waits."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ganglion.api.workloads import OrderItem, OrderPage
from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.records import Filed
from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.lifecycle.clusters import live_id, place_of
from ganglion.lifecycle.status import live_as, state_of
from ganglion.lifecycle.waiting.reserved import reason_of
from ganglion.model.errors import FieldError
from ganglion.model.workload import Gang
from ganglion.server.rest.filters import ENDED, OrderQuery, RowFilter, WorkloadQuery, wanted
from ganglion.server.rest.pages import Rank, cut, not_a_cursor, parsed, printed
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Mind
from ganglion.server.views.cluster import positions
from ganglion.server.views.workloads import counted, gpus_of

if TYPE_CHECKING:
    from ganglion.ledger.history import WorkloadHistory

WORKLOADS = "workloads"
"""Name of the list in cursors."""
EVERYTHING = OrderQuery()
"""A query that leaves nothing out."""
MOST = (1 << 63) - 1
"""Largest number that databases hold."""
SCANNED = 200
"""Ended workloads that are read at once where most of them may not match."""


def below(query: WorkloadQuery) -> int:
    """Return the number below which a page of workloads begins.

    Raises:
        FieldError: the cursor is none.
    """
    place = query.place
    if place is None:
        return MOST
    if place.isascii() and place.isdigit():  # as servers before cursors gave it
        if len(place) > len(str(MOST)) or int(place) > MOST:
            raise FieldError("it is no cursor of workloads", key="after")
        return int(place)
    match parsed(WORKLOADS, place):
        case (int(number),) if 0 <= number <= MOST:
            return number
    raise not_a_cursor(WORKLOADS)


def begins(query: WorkloadQuery) -> tuple[Rank | None, int]:
    """Return behind which live work of clusters, and below which number, a page begins.

    Work that lives in clusters comes first, and has no number; None = all of it is before the page.

    Raises:
        FieldError: the cursor is none.
    """
    place = query.place
    if place is None:
        return (), MOST
    if not (place.isascii() and place.isdigit()):
        match parsed(WORKLOADS, place):
            case (int(), str()) as rank:
                return rank, MOST
    return None, below(query)


def cursor(rank: Rank) -> str:
    """Return the cursor of the page behind a row: `(0, *rank)` in clusters, or `(1, -number)`."""
    _, *own = rank
    return printed(WORKLOADS, tuple(own) if len(own) > 1 else (-int(own[0]),))


def away(mind: Mind, want: RowFilter, behind: Rank | None) -> list[tuple[Rank, str, DeliveredGang]]:
    """Return live work of clusters that passes, the newest first, each with rank and cluster."""
    if behind is None or (want.states and want.states <= ENDED):
        return []
    found = [
        ((-each.gang.submitted, live_id(cluster, each)), cluster, each)
        for cluster, each in mind.book.clusters.live()
        if takes_away(want, cluster, each)
    ]
    return sorted((each for each in found if each[0] > behind), key=lambda each: each[0])


def takes_away(want: RowFilter, cluster: str, found: DeliveredGang) -> bool:
    """Whether live work of a cluster passes."""
    if want.states and live_as(found.phase) not in want.states:
        return False
    gang, queue = found.gang, place_of(cluster, found.gang.queue)
    key = live_id(cluster, found) if want.names or want.text else ""
    return want.takes(key, found.own_name, queue, gang.user, gang.kind, gang.submitted)


def live(mind: Mind, want: RowFilter, before: int = MOST) -> Iterator[LiveWorkload]:
    """Yield the live workloads that pass, newest first, with numbers below one."""
    if want.states and want.states <= ENDED:
        return
    for entry in reversed(mind.book.entries.values()):
        if entry.number < before and takes(mind, want, entry):
            yield entry


def takes(mind: Mind, want: RowFilter, entry: LiveWorkload) -> bool:
    """Whether a live workload passes."""
    its = entry.workload
    if not want.takes(entry.id, its.name, its.queue, its.user, its.kind, entry.at):
        return False
    if not want.states:
        return True
    records = [mind.state.gangs.records[gang] for gang in counted(mind, entry.id)]
    return state_of(its.kind, records).state in want.states


def ended(history: "WorkloadHistory", want: RowFilter, before: int, limit: int) -> list[Filed]:
    """Return ended workloads that pass, newest first.

    Args:
        history: where they lie.
        want: the filter.
        before: only those with a smaller number.
        limit: most of them.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    states = want.states & ENDED
    if want.states and not states:
        return []
    among = {"state": states, "queue": want.queues, "user": want.users, "kind": want.kinds}
    narrow = want.names is not None or bool(want.text)
    asked, found = max(limit, SCANNED) if narrow else limit, list[Filed]()
    while len(found) < limit:
        page = history.ended(
            below=before,
            limit=asked,
            since=want.since,
            until=want.until,
            text=want.text,
            **{key: values for key, values in among.items() if values},
        )
        found += [each for each in page if want.named(each.id, each.name)]
        if len(page) < asked:
            break
        before = page[-1].number
    return found[:limit]


def takes_ended(want: RowFilter, row: Filed) -> bool:
    """Whether an ended workload passes."""
    its = row.workload
    passes = want.takes(row.id, row.name, its.queue, its.user, its.kind, row.at)
    return passes and (not want.states or row.state in want.states)


def waiting_away(mind: Mind, want: RowFilter) -> list[tuple[str, DeliveredGang]]:
    """Return what waits in clusters and passes, each with its cluster."""
    return [(cluster, each) for _, cluster, each in away(mind, want, ()) if not each.holds]


def order_page(
    state: ClusterState,
    query: OrderQuery = EVERYTHING,
    now: int = 0,
    want: RowFilter | None = None,
    away: Sequence[tuple[Rank, Callable[[], OrderItem]]] = (),
    *,
    placed: bool = True,
) -> OrderPage:
    """What waits: first what is in the order, then what may not be looked at yet, then in clusters.

    Args:
        state: of the engine.
        query: which gangs, and which page of them.
        now: time in ms, from which the query's lengths of time count back.
        want: the query with what the caller may see; None = it may see everything.
        away: what waits in clusters and passes, by its rank; lines are made of those of the page.
        placed: whether the caller may know of places, which count all that waits.

    Raises:
        FieldError: the query's times or cursor are none.
    """
    places, passing = positions(state), want or wanted(query, now)
    last = len(places) + 1
    waiting = [
        each
        for each in state.gangs.records.values()
        if each.phase in WAITING and _takes(passing, each.gang)
    ]
    waiting.sort(key=lambda each: (places.get(each.gang.id, last), each.gang.submitted))
    known = places if placed else {}
    rows: list[tuple[Rank, Callable[[], OrderItem]]] = list(away)
    for number, record in enumerate(waiting, 1):
        gang = record.gang
        place = places.get(gang.id, last) if placed else number
        rank: Rank = ("", place, gang.submitted, gang.id)
        rows.append((rank, partial(_item, state, record, known.get(gang.id, 0))))
    rows.sort(key=lambda each: each[0])
    shown, following = cut("order", rows, lambda each: each[0], query)
    items = tuple(made() for _, made in shown)
    return OrderPage(items=items, total=len(rows), next=following)


def _takes(want: RowFilter, gang: Gang) -> bool:
    name = gang.workload.rpartition("-")[0]
    return want.takes(gang.workload, name, gang.queue, gang.user, gang.kind, gang.submitted)


def _item(state: ClusterState, record: GangRecord, position: int) -> OrderItem:
    gang, reason = record.gang, reason_of(state, record.gang.id)
    return OrderItem(
        position=position,
        workload=gang.workload,
        gang=gang.id,
        queue=gang.queue,
        user=gang.user,
        kind=gang.kind,
        priority=gang.priority,
        gpus=gpus_of(state, record),
        reason=reason.token if reason else "",
        message=reason.message if reason else "",
        never=bool(reason and reason.never),
        submitted=gang.submitted,
    )
