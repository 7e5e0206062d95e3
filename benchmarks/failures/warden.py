"""What a server's keepers do about failures, for simulated fleets; and maintenance as planned."""

from collections.abc import Sequence

from benchmarks.failures.fleet import MAINTENANCE
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.failures.guard import FleetGuard
from ganglion.model.events import BookingSet, Event, NodeAdded, NodeCordoned, NodeLost
from ganglion.model.fleet.booking import Booking
from ganglion.model.policy import Failures


class BenchWarden:
    """A guard, and bookings for maintenance.

    Args:
        settings: of the guard.
        maintenance: when which node is out of service for `MAINTENANCE`, in order; ms.
        lead_ms: how long before it is announced.
    """

    def __init__(
        self, settings: Failures, maintenance: Sequence[tuple[int, str]], lead_ms: int
    ) -> None:
        self._guard, self._lead = FleetGuard(settings), lead_ms
        self._plan = list(reversed(maintenance))
        self._since: dict[str, int] = {}
        self._kept = self._count = 0

    def kept_back_ms(self, now: int) -> int:
        """For how long nodes were quarantined or spare, all of them together; ms."""
        return self._kept + sum(now - since for since in self._since.values())

    def note(self, event: Event) -> None:
        """Something happened, or was decided."""
        self._guard.note(event)
        if isinstance(event, NodeCordoned) and event.reason:
            self._since.setdefault(event.name, event.at)
        elif isinstance(event, NodeCordoned | NodeLost):
            self._count_in(event.name, event.at)
        elif isinstance(event, NodeAdded) and not event.node.cordoned:
            self._count_in(event.node.name, event.at)

    def _count_in(self, node: str, now: int) -> None:
        self._kept += now - self._since.pop(node, now)

    def tend(self, state: ClusterState, now: int) -> list[Event]:
        """Bookings that are due, then what the guard decides."""
        due = list[Event]()
        while self._plan and self._plan[-1][0] - self._lead <= now:
            begin, node = self._plan.pop()
            self._count += 1
            name = f"maintenance-{self._count}"
            begin = max(begin, now)
            booking = Booking(name, (node,), begin, begin + MAINTENANCE, clears=True)
            due.append(BookingSet(now, booking))
        return due or self._guard.tend(state, now)

    def next_due(self, now: int) -> int | None:
        """When it is to be asked again, in ms."""
        times = [self._plan[-1][0] - self._lead] if self._plan else []
        guarded = self._guard.next_due(now)
        return min([*times, guarded] if guarded is not None else times, default=None)
