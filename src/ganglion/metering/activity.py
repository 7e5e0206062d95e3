"""What GPUs did while attempts had them alone, as intervals that are made of looks at counters.

Looks are no events: what is between two of them is counted, and what is not looked at is missing.
So every interval says how much GPU time it is about. Amounts are integers, and are cut at a time
so that at each moment no more is active than was looked at, and no more of that than was held.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ganglion.metering.intervals import DAY_MS, UsageInterval, part_of
from ganglion.model.resources import WHOLE

LONGEST_MS = 30_000
"""The same as of `ActivityMeter`, by default."""
INTERVAL_MS = 600_000
"""An interval that is as long is closed. What is open is lost with a killed server."""
MOST_MW = 10_000_000
"""A counter of energy that runs faster is not believed."""


class ActivityInterval(Struct, frozen=True):
    """What the GPUs that one attempt had alone on one node did, within one day of UTC.

    Attributes:
        begin_ms, end_ms: from and before when.
        queue, user, workload, gang, attempt, kind, flavor, node: as of `UsageInterval`.
        source: what said how active they were: `NVML`, `SM` or `UTILISATION`; empty = nothing.
        sampled_gpu_us: GPU-microseconds for which that is known.
        active_gpu_us: those of them in which they were active.
        energy_gpu_us: GPU-microseconds for which it is known what was drawn.
        energy_mj: what was drawn then, in thousandths of a joule.
        energy_source: what said so: `NVML`, `COUNTER` or `POWER`; empty = nothing.
    """

    begin_ms: int
    end_ms: int
    queue: str
    user: str
    workload: str
    gang: str
    attempt: int
    kind: str
    flavor: str
    node: str
    source: str = ""
    sampled_gpu_us: int = 0
    active_gpu_us: int = 0
    energy_gpu_us: int = 0
    energy_mj: int = 0
    energy_source: str = ""

    @property
    def place(self) -> "Place":
        """Which attempt it is about, and where."""
        return self.gang, self.attempt, self.node

    @property
    def amounts(self) -> tuple[int, ...]:
        """Its amounts, in the order of `AMOUNTS`."""
        return tuple(getattr(self, name) for name in AMOUNTS)

    @property
    def key(self) -> tuple["Place", int]:
        """What tells it from all others."""
        return self.place, self.begin_ms

    def within(self, since: int, until: int) -> "ActivityInterval | None":
        """The part of it that lies at or after a time and before another one; None = none."""
        begin, end = max(self.begin_ms, since), min(self.end_ms, until)
        if begin >= end:
            return None
        span = self.begin_ms, self.end_ms
        if (begin, end) == span:
            return self
        return replace(
            self,
            begin_ms=begin,
            end_ms=end,
            **{name: part_of(getattr(self, name), span, (begin, end)) for name in AMOUNTS},
        )

    def contradiction(self, used: Iterable[UsageInterval]) -> str:
        """What of it cannot be, given what its attempt held on its node; empty = all can.

        Args:
            used: the intervals of usage of that attempt there, which do not overlap.
        """
        if self.begin_ms >= self.end_ms or (self.end_ms - 1) // DAY_MS > self.begin_ms // DAY_MS:
            return "it does not lie within one day"
        during = [each for each in used if self._overlap_ms(each) > 0]
        if not during:
            return "its attempt held nothing there then"
        for name in ("queue", "user", "workload", "kind", "flavor"):
            if any(getattr(each, name) != getattr(self, name) for each in during):
                return f"its attempt was not charged to {name} {getattr(self, name)!r} then"
        return self._excess(sum(each.held_milli * self._overlap_ms(each) for each in during))

    def _excess(self, held: int) -> str:
        """Which of its amounts is too large, or no amount; `held`: GPU-microseconds of its GPUs."""
        if min(getattr(self, name) for name in AMOUNTS) < 0:
            return "an amount is below 0"
        for what, amount, most, of in (
            ("sampled", self.sampled_gpu_us, held, "held"),
            ("active", self.active_gpu_us, self.sampled_gpu_us, "sampled"),
            ("measured for energy", self.energy_gpu_us, held, "held"),
        ):
            if amount > most:
                return f"{amount} GPU-microseconds were {what} of {most} that were {of}"
        if self.energy_mj * 1_000_000 > MOST_MW * self.energy_gpu_us:
            return f"its GPUs drew {self.energy_mj} mJ, which is more than any does in that time"
        return ""

    def _overlap_ms(self, used: UsageInterval) -> int:
        return min(self.end_ms, used.end_ms) - max(self.begin_ms, used.begin_ms)


NVML, SM, UTILISATION = "nvml", "dcgm-sm", "dcgm-util"
"""Sources of activity: the driver's utilisation, which is the part of the time in which some kernel
ran; the activity of multiprocessors by DCGM, averaged over all of them; and its utilisation."""
COUNTER, POWER = "dcgm", "dcgm-power"
"""Sources of energy beside `NVML`, the driver's counter: the same counter by DCGM; and power times
time, where there is no counter."""
AMOUNTS = ("sampled_gpu_us", "active_gpu_us", "energy_gpu_us", "energy_mj")
"""Amounts of an interval."""
Place = tuple[str, int, str]
"""Gang, number of the attempt, node."""


class DeviceCounters(NamedTuple):
    """What one GPU says.

    Attributes:
        busy_milli: thousandths of the time since the look before in which it was active; None =
            unknown.
        energy_mj: a counter of what it has drawn, in thousandths of a joule; None = unknown.
        power_mw: what it draws, in thousandths of a watt, where that is to be counted in place of
            the counter; None = unknown.
    """

    busy_milli: int | None = None
    energy_mj: int | None = None
    power_mw: int | None = None


class AttemptLook(NamedTuple):
    """What the GPUs say that an attempt has alone on one node.

    Attributes:
        of: whose, as an interval of no length and amounts: when the attempt began to hold there
            what it holds.
        devices: by the vendor's identifier.
    """

    of: ActivityInterval
    devices: Mapping[str, DeviceCounters]


class GpuWord(Protocol):
    """What is said of one GPU that can be counted; None = unknown."""

    @property
    def sm_milli(self) -> int | None:
        """Thousandths of the time in which its multiprocessors were active, on average."""

    @property
    def utilised_milli(self) -> int | None:
        """Thousandths of the time in which some kernel ran."""

    @property
    def energy_mj(self) -> int | None:
        """A counter of what it has drawn, in thousandths of a joule."""

    @property
    def power_mw(self) -> int | None:
        """What it draws, in thousandths of a watt."""


def attempt_look(
    of: ActivityInterval, said: Mapping[str, GpuWord], utilisation: str, counter: str
) -> AttemptLook:
    """A look at all GPUs that an attempt has alone on a node.

    All are counted by the same: activity of multiprocessors where any GPU has it, else utilisation;
    a counter of energy where any has one, else power. What lacks it is unknown.

    Args:
        of: as of `AttemptLook`, without sources.
        said: of each GPU.
        utilisation: source of utilisation.
        counter: source of the counter of energy.
    """
    by_sm = any(each.sm_milli is not None for each in said.values())
    counted = any(each.energy_mj is not None for each in said.values())
    by_power = not counted and any(each.power_mw is not None for each in said.values())
    devices = {
        name: DeviceCounters(
            each.sm_milli if by_sm else each.utilised_milli,
            each.energy_mj,
            each.power_mw if by_power else None,
        )
        for name, each in said.items()
    }
    source, energy_source = SM if by_sm else utilisation, POWER if by_power else counter
    return AttemptLook(replace(of, source=source, energy_source=energy_source), devices)


class ActivityMeter:
    """Makes intervals of looks.

    Its time never goes back. What was closed stays until it is written.

    Args:
        longest_ms: two looks that are further apart say nothing about the time between them.
    """

    def __init__(self, longest_ms: int = LONGEST_MS) -> None:
        self._longest_ms = longest_ms
        self._at = 0
        self._before: dict[Place, AttemptLook] = {}
        self._open: dict[Place, ActivityInterval] = {}
        self._closed: list[ActivityInterval] = []

    def look(self, at: int, looks: Iterable[AttemptLook]) -> None:
        """Take in what all GPUs that are held say.

        Args:
            at: the time in ms, before it was asked who holds them.
            looks: of every attempt.
        """
        if at <= self._at:
            return
        since, self._at = self._at, at
        found = {each.of.place: each for each in looks}
        for place in [*self._open]:
            if place not in found:
                self._close(place)
        for place, look in found.items():
            before = self._before.get(place)
            if before and at - since <= self._longest_ms and _alike(before, look):
                self._add(place, _between(before, look, since, at))
            else:
                self._close(place)
        self._before = found

    def doubted(self) -> None:
        """Nothing is known of the time between the last look and the next, as the clock was set."""
        for place in [*self._open]:
            self._close(place)
        self._before = {}

    def changed(self, gangs: Container[str]) -> None:
        """What attempts of gangs hold changes now: what was added up ends at the last look."""
        for place in [*self._before]:
            if place[0] in gangs:
                self._close(place)
                del self._before[place]

    def ended(self, gang: str, attempt: int, at: int) -> None:
        """An attempt ended, perhaps before GPUs were looked at for it."""
        for place in [*self._open]:
            if place[:2] == (gang, attempt):
                self._close(place)
                self._before.pop(place, None)
        kept = list[ActivityInterval]()
        for each in self._closed:
            part = each.within(0, at) if (each.gang, each.attempt) == (gang, attempt) else each
            kept += [part] if part else []
        self._closed = kept

    def erased(self, user: str) -> None:
        """A user's name was erased: what is not written of the user's ended work is left out."""
        self._closed = [each for each in self._closed if each.user != user]

    def all(self) -> tuple[ActivityInterval, ...]:
        """What is closed and not written, and what is open as if it ended now."""
        return *self._closed, *(part for each in self._open.values() for part in by_day(each))

    def due(self, *, everything: bool = False) -> tuple[ActivityInterval, ...]:
        """What is to be written: what is closed.

        Args:
            everything: whether what is open is closed now, however short it is.
        """
        for place in [*self._open] if everything else ():
            self._close(place)
        return tuple(self._closed)

    def written(self, intervals: Iterable[ActivityInterval]) -> None:
        """These are written."""
        gone = {each.key for each in intervals}
        self._closed = [each for each in self._closed if each.key not in gone]

    def _close(self, place: Place) -> None:
        found = self._open.pop(place, None)
        self._closed += by_day(found) if found else ()

    def _add(self, place: Place, more: ActivityInterval) -> None:
        if more.begin_ms >= more.end_ms:  # a clock was put back
            return
        found = self._open.get(place)
        if found is None or found.end_ms - found.begin_ms >= INTERVAL_MS:
            # It ended one look ago: an end of the attempt before that is known by now.
            self._close(place)
            self._open[place] = more
            return
        sums = {name: getattr(found, name) + getattr(more, name) for name in AMOUNTS}
        self._open[place] = replace(found, end_ms=more.end_ms, **sums)


def _alike(one: AttemptLook, other: AttemptLook) -> bool:
    """Whether an attempt has had the same GPUs all the time, and is charged alike."""
    return one.of == other.of and one.devices.keys() == other.devices.keys()


def _between(before: AttemptLook, now: AttemptLook, since: int, at: int) -> ActivityInterval:
    """What happened between two looks, as far as all of it was held."""
    since = max(since, now.of.begin_ms)
    lasted = max(at - since, 0)
    sampled = active = energy_gpu_us = energy_mj = 0
    for device, found in now.devices.items():
        if found.busy_milli is not None:
            sampled += WHOLE * lasted
            active += min(max(found.busy_milli, 0), WHOLE) * lasted
        drawn = _drawn(before.devices[device], found, lasted)
        if drawn is not None:
            energy_gpu_us += WHOLE * lasted
            energy_mj += drawn
    amounts = (sampled, active, energy_gpu_us, energy_mj)
    return replace(now.of, begin_ms=since, end_ms=at, **dict(zip(AMOUNTS, amounts, strict=True)))


def _drawn(before: DeviceCounters, now: DeviceCounters, lasted: int) -> int | None:
    """What was drawn between two looks, in mJ; None = that is unknown.

    A counter that is new, was reset or cannot be right says nothing; neither does such a power.
    """
    if before.energy_mj is not None and now.energy_mj is not None:
        drawn = now.energy_mj - before.energy_mj
    elif before.power_mw is not None and now.power_mw is not None:
        drawn = (before.power_mw + now.power_mw) * lasted // 2_000
    else:
        return None
    return drawn if 0 <= drawn <= MOST_MW * lasted // 1000 else None


def by_day(interval: ActivityInterval) -> Iterator[ActivityInterval]:
    """Cut an interval at each midnight of UTC."""
    for day in range(interval.begin_ms // DAY_MS, -(-interval.end_ms // DAY_MS)):
        part = interval.within(day * DAY_MS, (day + 1) * DAY_MS)
        if part:
            yield part
