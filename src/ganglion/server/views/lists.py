"""Which workloads a filter means, live and ended."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ganglion.ledger.records import Filed
from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.lifecycle.clusters import live_id, place_of
from ganglion.lifecycle.status import live_as, state_of
from ganglion.model.errors import FieldError
from ganglion.server.rest.filters import ENDED, RowFilter, WorkloadQuery
from ganglion.server.rest.pages import Rank, not_a_cursor, parsed, printed
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Mind
from ganglion.server.views.workloads import counted

if TYPE_CHECKING:
    from ganglion.ledger.history import WorkloadHistory

WORKLOADS = "workloads"
"""Name of the list in cursors."""
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
        if _takes_away(want, cluster, each)
    ]
    return sorted((each for each in found if each[0] > behind), key=lambda each: each[0])


def _takes_away(want: RowFilter, cluster: str, found: DeliveredGang) -> bool:
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
