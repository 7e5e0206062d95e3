"""A smallest set of victims by Kueue's rules: take until it fits, then put back in reverse."""

from collections.abc import Callable

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.classic_preemption import Asker, Taken, by_priority
from ganglion.engine.kueue.fair_preemption import by_share
from ganglion.engine.queues.cohort import Borrowing, Cells
from ganglion.engine.queues.limits import Passed
from ganglion.engine.store.store import Store
from ganglion.model.policy import Entitlement
from ganglion.model.resources import Usage

HasPlace = Callable[[], bool]
"""Whether there is a place for the asker as things stand."""


def user_limit_passed(state: Store, record: GangRecord, cells: Cells) -> Passed | None:
    """The limit of its user that a gang would pass with `cells` more; None = none.

    Limits of users are not Kueue's; work of the same user is stopped for them by its rules.
    """
    gang = record.gang
    for (flavor, kind), amount in cells.items():
        more = Usage(**{kind: amount})
        found = state.queues.shares.beyond_user(gang.queue, flavor, more, gang.user)
        if found:
            return found
    return None


def quota_fits(state: Store, borrowing: Borrowing, asker: Asker, may_borrow: bool) -> bool:
    """Whether the asker's queue, and its user, may use that much more."""
    if user_limit_passed(state, asker.record, asker.wants):
        return False
    return all(
        amount <= borrowing.available(asker.queue, cell)
        and (may_borrow or not borrowing.borrows(asker.queue, cell, amount))
        for cell, amount in asker.wants.items()
    )


def victims_for(
    state: Store, borrowing: Borrowing, asker: Asker, has_place: HasPlace | None
) -> list[Taken]:
    """Gangs to be stopped so that the asker fits; empty = no set is enough.

    The state is left as it was.

    Args:
        state: the fleet and the queues.
        borrowing: reads the queues.
        asker: the gang that asks.
        has_place: asked when quota suffices; None = quota is all that counts.
    """
    by = by_share if state.config.policy.entitlement is Entitlement.DOMINANT else by_priority
    for attempt in by(state, borrowing, asker):
        away = _Away(state, places=has_place is not None)

        def fits(may_borrow: bool = attempt.may_borrow) -> bool:
            fits = quota_fits(state, borrowing, asker, may_borrow)
            return fits and (has_place is None or has_place())

        enough = False
        for taken in attempt.victims:
            if not state.gangs.floors.spares(taken[0]):
                continue
            away.take(taken)
            if fits():
                enough = True
                break
        found = away.thinned(fits) if enough else []
        away.put_back()
        if found:
            return found
    return []


class _Away:
    """Gangs that are taken out of the state for a while."""

    def __init__(self, state: Store, *, places: bool) -> None:
        self._state, self._places = state, places
        self._taken: list[Taken] = []

    def take(self, taken: Taken) -> None:
        self._move(taken[0], -1)
        self._taken.append(taken)

    def thinned(self, fits: Callable[[], bool]) -> list[Taken]:
        """What is left when all are put back, the last first, that need not be taken."""
        for at in range(len(self._taken) - 2, -1, -1):
            taken = self._taken[at]
            self._move(taken[0], 1)
            if fits():
                del self._taken[at]
            else:
                self._move(taken[0], -1)
        return list(self._taken)

    def put_back(self) -> None:
        for record, _ in self._taken:
            self._move(record, 1)
        self._taken = []

    def _move(self, record: GangRecord, sign: int) -> None:
        self._state.queues.charge(record.gang, record.charged, sign)
        floors = self._state.gangs.floors
        (floors.back if sign > 0 else floors.left)(record)
        if self._places and record.placement:
            move = self._state.holdings.join if sign > 0 else self._state.holdings.part
            move(record, record.placement.pods)
