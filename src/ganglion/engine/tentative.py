"""Changes to tree and queue usage that are tried and taken back."""

from ganglion.engine.holdings import Holdings
from ganglion.engine.record import GangRecord
from ganglion.engine.victims import Unit
from ganglion.model.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.resources import Usage

Charged = tuple[tuple[str, Usage], ...]
Key = tuple[str, bool | None, PodPlacement | None]
Step = tuple[GangRecord, tuple[PodPlacement, ...], Charged, int]


class Tentative:
    """Takes units and seats gangs for real, and remembers how to undo it.

    Args:
        state: as it was, once `undo` has been called.
    """

    def __init__(self, state: Holdings) -> None:
        self._state = state
        self._steps: dict[Key, Step] = {}

    def take(self, unit: Unit) -> None:
        """The pods of a unit leave."""
        self._do(unit.key, unit.record, unit.pods, -1)
        if unit.whole:
            self._state.floors.left(unit.record)

    def give_back(self, unit: Unit) -> None:
        """The pods of a unit that was taken are there again."""
        self._revert(unit.key, self._steps.pop(unit.key))

    def seat(self, record: GangRecord, placement: Placement) -> None:
        """A gang is placed."""
        self._do(_seat(record, placement), record, placement.pods, 1)

    def unseat(self, record: GangRecord, placement: Placement) -> None:
        """A gang that was seated there is not placed any more."""
        seat = _seat(record, placement)
        self._revert(seat, self._steps.pop(seat))

    def undo(self) -> None:
        """Everything is as it was."""
        for key, step in reversed(self._steps.items()):
            self._revert(key, step)
        self._steps = {}

    def _do(self, key: Key, record: GangRecord, pods: tuple[PodPlacement, ...], sign: int) -> None:
        placement = Placement(pods, Level.FLEET)
        charged = tuple(self._state.usage_of(record, placement).items())
        step = self._steps[key] = (record, pods, charged, sign)
        self._apply(step, sign)

    def _revert(self, key: Key, step: Step) -> None:
        self._apply(step, -step[3])
        if key[1]:
            self._state.floors.back(step[0])

    def _apply(self, step: Step, sign: int) -> None:
        record, pods, charged, _ = step
        move = self._state.join if sign > 0 else self._state.part
        move(record, pods)
        self._state.charge(record.gang, charged, sign)


def _seat(record: GangRecord, placement: Placement) -> Key:
    """What tells a seat apart: no pod is seated twice."""
    return (record.gang.id, None, placement.pods[0])
