"""The time ahead: what is spoken for, kept and reserved."""

from ganglion.engine.runtimes.occupants import RunningTimes
from ganglion.engine.store.store import Store
from ganglion.engine.timeline.backfill import BackfillPlanner
from ganglion.engine.timeline.bookings import Bookings
from ganglion.engine.timeline.profile import ProfileInput
from ganglion.engine.timeline.standby import StandbyPlaces
from ganglion.model.errors import InvariantBroken
from ganglion.model.plan import Phase


class Timeline:
    """Bookings, kept places and reservations.

    Invariant: only pending gangs have kept places and reservations, and every kept place could
    be had in time.

    Args:
        state: the present.

    Attributes:
        bookings: nodes that are spoken for.
        kept: places of gangs that sleep.
        future: reservations of blocked gangs.
    """

    def __init__(self, state: Store) -> None:
        self._state = state
        self.bookings = Bookings(state.queues.shares.path)
        self.kept = StandbyPlaces(state)
        self.replan()

    def replan(self) -> None:
        """The policy is another one: reservations are made anew."""
        state = self._state
        clock = RunningTimes(state.gangs.estimates, state.config.policy.future)
        ground = ProfileInput(state, state.holdings.occupants, clock, self.bookings)
        self.future = BackfillPlanner(ground, self.kept)

    def rebuild(self) -> None:
        """Compute what follows from bookings, kept places and reservations anew."""
        bookings, kept, future = self.bookings.all(), self.kept, self.future
        self.bookings = Bookings(self._state.queues.shares.path)
        self.bookings.restore(bookings)
        self.kept = StandbyPlaces(self._state)
        self.kept.take_over(kept)
        self.replan()
        self.future.restore(future.held())

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        records = self._state.gangs.records
        for kept in self.kept:
            gang = kept.record.gang.id
            if kept.record is not records.get(gang):
                raise InvariantBroken(f"the record of gang {gang} is stale")
            if kept.record.phase is not Phase.PENDING:
                raise InvariantBroken(f"gang {gang} has a kept place and more")
            if not self.kept.is_sound(kept):
                raise InvariantBroken(f"the place kept for gang {gang} is not free in time")
        for held in self.future.reservations():
            gang = held.record.gang.id
            if held.record is not records.get(gang) or held.record.phase is not Phase.PENDING:
                raise InvariantBroken(f"gang {gang} has a reservation and does not wait")
