"""Sums of intervals over a period and by group."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain

from msgspec import Struct, field

from ganglion.metering.activity import ActivityInterval
from ganglion.metering.intervals import DAY_MS, SupplyInterval, UsageInterval, by_day


class UsageBy(StrEnum):
    """What usage is grouped by; a day is one of UTC."""

    QUEUE = "queue"
    USER = "user"
    WORKLOAD = "workload"
    FLAVOR = "flavor"
    KIND = "kind"
    DAY = "day"


Group = tuple[str, ...]
"""A value for each thing that is grouped by."""


class UsageSum(Struct, gc=False):
    """Usage over a period.

    Attributes:
        held_gpu_us, requested_gpu_us: GPU-microseconds, which are thousandths of a GPU x ms.
        attempts: attempts that were placed in the period.
    """

    held_gpu_us: int = 0
    requested_gpu_us: int = 0
    attempts: int = 0

    def add(self, held_gpu_us: int, requested_gpu_us: int, attempts: int) -> None:
        """Add to it."""
        self.held_gpu_us += held_gpu_us
        self.requested_gpu_us += requested_gpu_us
        self.attempts += attempts

    def plus(self, other: "UsageSum") -> None:
        """Add another one."""
        self.add(other.held_gpu_us, other.requested_gpu_us, other.attempts)


class ActivitySum(Struct):
    """What GPUs did over a period; amounts are as of `ActivityInterval`.

    Attributes:
        sources: what said how active they were.
        energy_sources: what said how much they drew.
    """

    sampled_gpu_us: int = 0
    active_gpu_us: int = 0
    energy_gpu_us: int = 0
    energy_mj: int = 0
    sources: set[str] = field(default_factory=set)
    energy_sources: set[str] = field(default_factory=set)

    def add(self, sources: tuple[str, str], amounts: Sequence[int]) -> None:
        """Add amounts, as of `AMOUNTS`, by one source of activity and one of energy."""
        sampled_gpu_us, active_gpu_us, energy_gpu_us, energy_mj = amounts
        self.sampled_gpu_us += sampled_gpu_us
        self.active_gpu_us += active_gpu_us
        self.energy_gpu_us += energy_gpu_us
        self.energy_mj += energy_mj
        if sampled_gpu_us:
            self.sources.add(sources[0])
        if energy_gpu_us:
            self.energy_sources.add(sources[1])

    def plus(self, other: "ActivitySum") -> None:
        """Add another one."""
        self.sampled_gpu_us += other.sampled_gpu_us
        self.active_gpu_us += other.active_gpu_us
        self.energy_gpu_us += other.energy_gpu_us
        self.energy_mj += other.energy_mj
        self.sources |= other.sources
        self.energy_sources |= other.energy_sources


class SupplySum(Struct):
    """What there was over a period, in GPU-microseconds; see `SupplyInterval`."""

    capacity_gpu_us: int = 0
    unavailable_gpu_us: int = 0

    def add(self, capacity_gpu_us: int, unavailable_gpu_us: int) -> None:
        """Add to it."""
        self.capacity_gpu_us += capacity_gpu_us
        self.unavailable_gpu_us += unavailable_gpu_us


class LostSum(Struct):
    """What became of the work of a period, as far as that is known.

    Attributes:
        lost_gpu_us: GPU-microseconds held whose work was thrown away.
        sampled_gpu_us: those of all that was held of which it is known how active GPUs were.
        useful_gpu_us: those of them in which GPUs were active, and whose work was kept.
    """

    lost_gpu_us: int = 0
    sampled_gpu_us: int = 0
    useful_gpu_us: int = 0

    def plus(self, other: "LostSum") -> None:
        """Add another one."""
        self.lost_gpu_us += other.lost_gpu_us
        self.sampled_gpu_us += other.sampled_gpu_us
        self.useful_gpu_us += other.useful_gpu_us


def date_of(day: int) -> str:
    """The date of a day, counted from 1970-01-01 UTC."""
    return datetime.fromtimestamp(day * DAY_MS // 1000, UTC).date().isoformat()


def day_of(date: str) -> int:
    """The day of a date that `date_of` wrote."""
    return int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()) * 1000 // DAY_MS


def overlap_ms(interval: UsageInterval | SupplyInterval, since: int, until: int) -> int:
    """How much of an interval lies at or after a time, and before another one; all in ms."""
    return max(min(interval.end_ms, until) - max(interval.begin_ms, since), 0)


def add_usage(
    sums: dict[Group, UsageSum],
    intervals: Iterable[UsageInterval],
    by: Sequence[UsageBy],
    since: int,
    until: int,
) -> None:
    """Add intervals, as far as they lie in a period, to the sums of their groups."""
    parts = chain.from_iterable(map(by_day, intervals)) if UsageBy.DAY in by else intervals
    for each in parts:
        lasted = overlap_ms(each, since, until)
        attempts = int(each.begun and since <= each.begin_ms < until)
        if lasted or attempts:
            found = sums.setdefault(group_of(each, by), UsageSum())
            found.add(each.held_milli * lasted, each.requested_milli * lasted, attempts)


def add_activity(
    sums: dict[Group, ActivitySum],
    intervals: Iterable[ActivityInterval],
    by: Sequence[UsageBy],
    since: int,
    until: int,
) -> None:
    """Add intervals, as far as they lie in a period, to the sums of their groups."""
    for each in intervals:
        part = each.within(since, until)
        if part:
            found = sums.setdefault(group_of(part, by), ActivitySum())
            found.add((part.source, part.energy_source), part.amounts)


def group_of(interval: UsageInterval | ActivityInterval, by: Sequence[UsageBy]) -> Group:
    """The group that an interval, which lies within one day, counts in."""
    return tuple(_value(interval, each) for each in by)


def _value(interval: UsageInterval | ActivityInterval, by: UsageBy) -> str:
    match by:
        case UsageBy.DAY:
            return date_of(interval.begin_ms // DAY_MS)
        case UsageBy.QUEUE:
            return interval.queue
        case UsageBy.USER:
            return interval.user
        case UsageBy.WORKLOAD:
            return interval.workload
        case UsageBy.FLAVOR:
            return interval.flavor
        case UsageBy.KIND:
            return interval.kind


def add_supply(
    sums: dict[str, SupplySum], intervals: Iterable[SupplyInterval], since: int, until: int
) -> None:
    """Add intervals, as far as they lie in a period, to the sums of their flavors."""
    for each in intervals:
        lasted = overlap_ms(each, since, until)
        if lasted:
            found = sums.setdefault(each.flavor, SupplySum())
            found.add(each.gpu_milli * lasted, each.unavailable_milli * lasted)
