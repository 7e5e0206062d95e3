"""Work is lost once, within what its attempt held, whatever happens to fleets and their records."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.metering.intervals import LostSpan, UsageInterval
from ganglion.model import events as ev
from ganglion.model.events import GangPlaced, GangResized, SchedulerSettled
from ganglion.model.placement import Placement
from ganglion.model.plan import Plan
from tests.effort import sample
from tests.metering.metered import SlicedLife, lived
from tests.metering.test_clusters import KEYS, Delivery, began, east, placed, pod
from tests.server.delivered.stories import ended, submitted

__all__ = ["east"]


class LossyLife(SlicedLife):
    """A life in which every end of an attempt may have thrown work away."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: list[LostSpan] = []

    def think(self, *events: ev.Event) -> Plan:
        plan = super().think(*map(self._losing, events))
        self.lost += self.meter.drain_lost()
        return plan

    def _losing(self, event: ev.Event) -> ev.Event:
        if not isinstance(event, ev.GangEnded):
            return event
        chance = Random(f"{event.gang} {len(self.noted)}")
        return replace(event, lost_gpu_ms=chance.choice((0, 1, 5_000, 1 << 50)))


def within_once(lost: list[LostSpan], usage: list[UsageInterval]) -> int:
    """Check that each attempt lost once, and what it held; returns GPU-microseconds of all."""
    total = 0
    assert len({(each.gang, each.attempt) for each in lost}) == len(lost)
    for span in lost:
        of = [u for u in usage if (u.gang, u.attempt) == (span.gang, span.attempt)]
        assert {each.workload for each in of} == {span.workload}
        first, last = min(each.begin_ms for each in of), max(each.end_ms for each in of)
        assert first <= span.begin_ms < span.end_ms <= last
        total += sum(
            max(min(u.end_ms, span.end_ms) - max(u.begin_ms, span.begin_ms), 0) * u.held_milli
            for u in of
        )
    return total


@pytest.mark.parametrize("seed", sample(range(120), 24))
def test_an_attempt_loses_once_and_what_it_held(seed: int) -> None:
    life = lived(seed, kind=LossyLife)
    assert isinstance(life, LossyLife)
    lost = within_once(life.lost, life.usage)
    assert lost <= sum(each.held_milli * (each.end_ms - each.begin_ms) for each in life.usage)
    said = {
        (each.gang, each.attempt): each.lost_gpu_ms
        for each in life.noted
        if isinstance(each, ev.GangEnded) and each.lost_gpu_ms
    }
    assert {(each.gang, each.attempt) for each in life.lost} <= said.keys()


def test_the_span_is_that_of_the_devices_of_the_last_place(east: Delivery) -> None:
    two = Placement((pod("n0", 0, 1), pod("n1", 4, 5)))
    east.hears(GangResized(3_000, KEYS["a"], 1, two))
    east.hears(ended(9_000, "a", lost_gpu_ms=4 * 2_500 - 1))
    key = f"east:{KEYS['a']}"
    assert east.lost == [LostSpan(6_500, 9_000, key, key, 1)]
    assert within_once(east.lost, east.usage) == 4_000 * 2_500


def test_no_more_is_lost_than_since_the_attempt_was_placed(east: Delivery) -> None:
    east.hears(ended(9_000, "a", lost_gpu_ms=1 << 50, requeue=True))
    east.hears(ended(9_500, "a", lost_gpu_ms=1 << 50, requeue=True))  # it was said
    east.hears(placed(10_000, "a", "n1", 3, attempt=2), ended(10_000, "a", lost_gpu_ms=7))
    assert [(each.begin_ms, each.end_ms) for each in east.lost] == [(1_000, 9_000)]
    # The end of another attempt is not its own, and one of no length has lost nothing.
    east.hears(ended(10_000, "a", attempt=2, lost_gpu_ms=7))
    assert len(east.lost) == 1


@pytest.mark.parametrize("seed", sample(range(160), 16))
def test_records_that_come_late_or_again_lose_nothing_twice(seed: int) -> None:
    dice, now, scheduler = Random(seed), 10_000, 1
    east = Delivery()
    east.hears(*began(0, "n0", "n1"), SchedulerSettled(0), scheduler="s1")
    number = dict.fromkeys("abc", 0)
    for _ in range(50):
        now += dice.randrange(9_000_000)
        name, by = dice.choice("abc"), f"s{scheduler}"
        late = dice.randrange(-5_000, 5_000)
        if dice.random() < 0.4:
            number[name] += 1
            where, device = f"n{dice.randrange(2)}", "abc".index(name)
            place = placed(now, name, where, device, attempt=number[name])
            east.hears(submitted(now, name), place, late=late, scheduler=by)
        elif dice.random() < 0.2:
            scheduler += 1
            east.hears(*began(now, "n0", "n1"), scheduler=f"s{scheduler}")
            for each in [*east.meters.of["east"].meter.attempts.values()]:
                again = GangPlaced(now, each.gang, 1, Placement(each.wanted))
                known = next(name for name, key in KEYS.items() if key == each.gang)
                number[known] = 1
                east.hears(submitted(now, known), again, scheduler=f"s{scheduler}")
            east.hears(SchedulerSettled(now), scheduler=f"s{scheduler}")
        else:
            at, lost = now - dice.randrange(9_000_000), dice.choice((1, 10**6, 10**9))
            over = ended(at, name, requeue=True, attempt=number[name], lost_gpu_ms=lost)
            east.hears(over, *[over] * (dice.random() < 0.5), late=late, scheduler=by)
    assert east.lost
    held = sum(each.held_milli * (each.end_ms - each.begin_ms) for each in east.usage)
    assert 0 < within_once(east.lost, east.usage) <= held
