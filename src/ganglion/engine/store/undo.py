"""Changes to tree and queue usage that are tried and taken back."""

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.resources import Usage

Charged = tuple[tuple[str, Usage], ...]
Key = tuple[str, bool | None, PodPlacement | tuple[PodPlacement, ...] | None]
Step = tuple[GangRecord, tuple[PodPlacement, ...], Charged, int]


class Tentative:
    """Takes units and seats gangs for real, and remembers how to undo it.

    Args:
        state: as it was, once `undo` has been called.
    """

    def __init__(self, state: Store) -> None:
        self._state = state
        self._steps: dict[Key, list[Step]] = {}

    def take(self, unit: VictimUnit) -> None:
        """The pods of a unit leave."""
        self._do(unit.key, unit.record, unit.pods, -1)
        if unit.whole:
            self._state.gangs.floors.left(unit.record)

    def give_back(self, unit: VictimUnit) -> None:
        """The pods of a unit that was taken are there again."""
        self._revert(unit.key)

    def seat(self, record: GangRecord, placement: Placement) -> None:
        """A gang is placed."""
        self._do(_seat(record, placement), record, placement.pods, 1)

    def unseat(self, record: GangRecord, placement: Placement) -> None:
        """A gang that was seated there is not placed any more."""
        self._revert(_seat(record, placement))

    def undo(self) -> None:
        """Everything is as it was."""
        while self._steps:
            self._revert(next(reversed(self._steps)))

    def _do(self, key: Key, record: GangRecord, pods: tuple[PodPlacement, ...], sign: int) -> None:
        placement = Placement(pods, Level.FLEET)
        charged = tuple(self._state.holdings.usage_of(record, placement).items())
        step = (record, pods, charged, sign)
        self._apply(step, sign)
        self._steps.setdefault(key, []).append(step)

    def _revert(self, key: Key) -> None:
        steps = self._steps[key]
        step = steps.pop()
        if not steps:
            del self._steps[key]
        self._apply(step, -step[3])
        if key[1]:
            self._state.gangs.floors.back(step[0])

    def _apply(self, step: Step, sign: int) -> None:
        record, pods, charged, _ = step
        attended = self._state.journal.attended
        self._state.journal.blame(record.gang.id)
        move = self._state.holdings.join if sign > 0 else self._state.holdings.part
        move(record, pods)
        self._state.queues.charge(record.gang, charged, sign)
        self._state.journal.blame(attended)


def _seat(record: GangRecord, placement: Placement) -> Key:
    """What a seat is known by; seats of equal pods are interchangeable."""
    return (record.gang.id, None, placement.pods)
