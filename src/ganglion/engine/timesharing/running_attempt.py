"""The service of one running attempt over time: its level, and when it yields.

An attempt that keeps its size is served at a constant rate, so the time at which it reaches a
level does not change. It is worked out once, and not in every cycle.
"""

from bisect import bisect_right

from ganglion.engine.gangs.preemption_cost import gpu_milli
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.timesharing.service_levels import MOST, PART, Levels


class RunningAttempt:
    """The present attempt of a gang, as long as it keeps its size and the levels stay.

    Args:
        record: a gang that starts or runs.
        levels: what compares it.

    Attributes:
        milli: thousandths of GPUs that it holds.
        keeps_until: up to when it need not yield, in ms.
    """

    __slots__ = (
        "_base",
        "_began",
        "_due",
        "_level",
        "_levels",
        "_placement",
        "_since",
        "_until",
        "keeps_until",
        "milli",
    )

    def __init__(self, record: GangRecord, levels: Levels) -> None:
        self._levels, self._placement = levels, record.placement
        self._began, self._base = record.started, record.attained
        self.milli = gpu_milli(record.placement.pods) if record.placement else 0
        least = record.attained // (PART * max(self.milli, 1))
        self.keeps_until = (record.started or record.placed_at) + max(levels.slice_ms, least)
        self._level, self._since, self._until = 0, 0, 0
        self._due: dict[int, tuple[int, int]] = {}

    def is_of(self, record: GangRecord, levels: Levels) -> bool:
        """Whether what was worked out holds for a gang and these levels."""
        return (
            self._placement is record.placement
            and self._began == record.started
            and self._levels is levels
            and self._base == record.attained
        )

    def service(self, now: int) -> int:
        """Service over all attempts, in thousandths of GPUs x ms."""
        if not self._began:
            return self._base
        return self._base + self.milli * max(now - self._began, 0)

    def level(self, now: int) -> int:
        """The level that it has reached."""
        if not self._since <= now < self._until:
            levels, step = self._levels, self._step(now)
            self._level, self._since = levels.levels[step], now
            self._until = self._reaches(step + 1)
        return self._level

    def passes(self, level: int, now: int) -> int | None:
        """When it first yields to gangs at a level, in ms; None = never."""
        if not self._began or not self.milli:
            return None
        least = level + self._levels.apart
        if self.level(now) >= least:
            return max(now, self.keeps_until)
        since, due = self._due.get(level, (0, 0))
        if not since <= now < due:
            levels, step = self._levels.levels, self._step(now)
            while step < len(levels) and levels[step] < least:
                step += 1
            due = self._reaches(step)
            self._due[level] = now, due
        return max(due, self.keeps_until) if due < MOST else None

    def _step(self, now: int) -> int:
        """The number of the step of the levels that it is on."""
        return bisect_right(self._levels.bounds, self.service(now)) - 1

    def _reaches(self, step: int) -> int:
        """When its service reaches a step above the present one, in ms; `MOST` = never."""
        bounds = self._levels.bounds
        if step >= len(bounds) or not self._began or not self.milli:
            return MOST
        return self._began + -(-(bounds[step] - self._base) // self.milli)
