"""Maintenance windows and advance reservations: nodes that are spoken for in advance."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.topology.tree import Tree
from ganglion.model.errors import NotFound
from ganglion.model.fleet.booking import Booking
from ganglion.model.placement import Placement
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.workload import Gang

BOOKED = "booked_from_ms"
"""Evidence by which a wait for a booking is known."""


class Bookings:
    """All bookings by name.

    A gang may be on a booked node during a booking only if the booking is for it. Only a time
    limit shows that a gang will have left by then; a gang without one keeps off nodes with a
    booking ahead. A gang that runs when a booking is made is not stopped for it, unless the
    booking clears its nodes (see `upkeep.drain`).

    Args:
        path: the queues from a leaf up to its root, by the leaf's name.
    """

    def __init__(self, path: Callable[[str], Sequence[str]]) -> None:
        self._all: dict[str, Booking] = {}
        self._path = path

    def __len__(self) -> int:
        return len(self._all)

    def put(self, booking: Booking) -> bool:
        """Make or change a booking; False when it changes nothing."""
        if self._all.get(booking.name) == booking:
            return False
        self._all[booking.name] = booking
        return True

    def restore(self, bookings: Iterable[Booking]) -> None:
        """There are exactly these."""
        self._all = {each.name: each for each in bookings}

    def remove(self, name: str) -> None:
        """Take a booking back. Raises NotFound."""
        if self._all.pop(name, None) is None:
            raise NotFound(f"there is no booking {name}", "the names are: " + ", ".join(self._all))

    def all(self) -> list[Booking]:
        """All bookings, the first to begin first."""
        return sorted(self._all.values(), key=lambda each: (each.begin, each.name))

    def clearing(self, now: int) -> list[Booking]:
        """Bookings that clear their nodes and are not over, the first to begin first."""
        if not self._all:
            return []
        return [each for each in self.all() if each.clears and each.end > now]

    def refusal(self, record: GangRecord, placement: Placement, now: int) -> Reason | None:
        """Why a gang may not start there now; None = it may."""
        if not self._all:
            return None
        nodes = {pod.node for pod in placement.pods}
        for booking in self._against(record.gang, now):
            touched = [node for node in booking.nodes if node in nodes]
            if touched:
                return _refusal(booking, touched, record.gang, now)
        return None

    def closed(self, gang: Gang, start: int, tree: Tree) -> dict[int, None]:
        """Ranks of the nodes on which a gang may not start at that time."""
        if not self._all:
            return {}
        return {
            tree.index[node]: None
            for booking in self._against(gang, start)
            for node in booking.nodes
            if node in tree.index
        }

    def next_change(self, now: int) -> int | None:
        """When the next booking begins or ends; None = none does."""
        times = [at for each in self._all.values() for at in (each.begin, each.end) if at > now]
        return min(times, default=None)

    def changed(self, since: int, now: int) -> bool:
        """Whether one began or ended after `since` and up to `now`."""
        return any(
            since < at <= now for each in self._all.values() for at in (each.begin, each.end)
        )

    def ends(self, now: int) -> list[int]:
        """The times at which bookings end, from now on."""
        return [each.end for each in self._all.values() if each.end > now]

    def _against(self, gang: Gang, start: int) -> Iterator[Booking]:
        """Bookings that are not for a gang and begin before it would have left."""
        for booking in self.all():
            over = booking.end <= start
            early = gang.time_limit_ms and start + gang.time_limit_ms <= booking.begin
            if not over and not early and not self.is_for(booking, gang):
                yield booking

    def is_for(self, booking: Booking, gang: Gang) -> bool:
        """Whether a gang may use the nodes of a booking meanwhile."""
        if not any(queue in booking.queues for queue in self._path(gang.queue)):
            return False
        return not booking.users or gang.user in booking.users


def _refusal(booking: Booking, touched: list[str], gang: Gang, now: int) -> Reason:
    what = f"{booking.name} ({booking.reason})" if booking.reason else booking.name
    if booking.begin <= now:
        why, remedy = "", Remedy.WAIT
    elif gang.time_limit_ms:
        why, remedy = ", and its time limit is too long for it to be gone by then", Remedy.CHANGE
    else:
        why, remedy = ", and without a time limit it may not be gone by then", Remedy.CHANGE
    return Reason(
        Token.POLICY if booking.queues else Token.DRAINING,
        f"node {touched[0]} is booked for {what}{why}",
        evidence={
            BOOKED: booking.begin,
            "ends_ms": booking.end,
            "limit_ms": gang.time_limit_ms,
            "nodes": len(touched),
        },
        remedy=remedy,
    )
