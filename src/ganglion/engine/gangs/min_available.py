"""Floors: minimum siblings of a workload that a preemption leaves running.

A gang that runs may be taken only while enough of its siblings run beside it; one that still
starts, while enough of them run or start. Pods on their way do not stand in for pods that
run. Gangs that were asked to stop count no more, nor do those chosen for the trade at hand, and
it makes no difference whether a gang would go on elsewhere: meanwhile it does not run.

All siblings carry the same floor. What users, limits of time and lost nodes end is not held up.

Budgets of plugins are kept in the same way: whatever victims of one cycle take of them adds up.
"""

from collections.abc import Iterable

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.plugins.protocols import Budgeted
from ganglion.model.plan import Phase


class MinAvailable:
    """Gangs of every workload that start or run, and those that run.

    Args:
        plugins: those that have a say about victims; some have budgets.
    """

    def __init__(self, plugins: Iterable[object] = ()) -> None:
        self.settled: dict[str, int] = {}
        self.running: dict[str, int] = {}
        self._budgeted = tuple(each for each in plugins if isinstance(each, Budgeted))
        self._spent: dict[str, int] = {}

    def open(self) -> None:
        """A cycle begins: plugins know what was taken from their budgets before."""
        self._spent.clear()

    def came(self, record: GangRecord) -> None:
        """A gang took its place and starts."""
        _add(self.settled, record.gang.workload, 1)

    def runs(self, record: GangRecord) -> None:
        """A gang that started runs."""
        _add(self.running, record.gang.workload, 1)

    def left(self, record: GangRecord) -> None:
        """A gang is asked to stop, or would be; call it before its phase changes."""
        self._count(record, -1)

    def back(self, record: GangRecord) -> None:
        """A gang would not be asked to stop after all."""
        self._count(record, 1)

    def spares(self, record: GangRecord) -> bool:
        """Whether a gang may be stopped for the sake of others as things stand."""
        floor = record.gang.floor
        if not self._affords(record):
            return False
        if not floor:
            return True
        among = self.running if record.phase is Phase.RUNNING else self.settled
        return among.get(record.gang.workload, 0) - (record.phase in SETTLED) >= floor

    def spare_all(self, records: list[GangRecord]) -> bool:
        """Whether these may all be stopped together."""
        taken: list[GangRecord] = []
        for each in records:
            if not self.spares(each):
                break
            self.left(each)
            taken.append(each)
        for each in taken:
            self.back(each)
        return len(taken) == len(records)

    def is_short(self, record: GangRecord) -> bool:
        """Whether fewer gangs of a workload start or run than its floor says."""
        floor = record.gang.floor
        return bool(floor) and self.settled.get(record.gang.workload, 0) < floor

    def _count(self, record: GangRecord, sign: int) -> None:
        _add(self.settled, record.gang.workload, sign)
        if record.phase is Phase.RUNNING:
            _add(self.running, record.gang.workload, sign)
        for plugin in self._budgeted:
            for budget, amount in plugin.takes(record.gang):
                self._spent[budget] = self._spent.get(budget, 0) - sign * amount

    def _affords(self, record: GangRecord) -> bool:
        """Whether budgets let a gang go beside those that go already."""
        return all(
            plugin.left(budget) - self._spent.get(budget, 0) >= amount
            for plugin in self._budgeted
            for budget, amount in plugin.takes(record.gang)
        )


def _add(table: dict[str, int], workload: str, sign: int) -> None:
    left = table.get(workload, 0) + sign
    if left:
        table[workload] = left
    else:
        del table[workload]
