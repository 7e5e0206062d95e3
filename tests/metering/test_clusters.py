"""Clusters are metered from what their schedulers deliver, whatever of that is missing."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from ganglion.lifecycle.clusters import ClusterBooks
from ganglion.metering.activity import ActivityInterval
from ganglion.metering.clusters import ClusterMeters
from ganglion.metering.intervals import LostSpan, SupplyInterval, UsageInterval
from ganglion.metering.lending import LentInterval
from ganglion.model.causes.cause import Cause, CauseKind
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    DeviceHealth,
    GangPlaced,
    GangResized,
    GangStopping,
    GpusSampled,
    NodeAdded,
    NodeCordoned,
    NodeLost,
    PodsLeft,
    QueueLending,
    QueuesLent,
    SampledAttempt,
    SchedulerSettled,
    SchedulerStarted,
)
from ganglion.model.placement import Placement, PodPlacement
from tests.effort import sample
from tests.server.delivered.stories import ended, gang, node, started, submitted

KEYS = {name: gang(name).id for name in "abc"}


class Delivery:
    """What one cluster delivers, its books, and its meter."""

    def __init__(self) -> None:
        self.books, self.meters = ClusterBooks(), ClusterMeters(since=0)
        self.usage: list[UsageInterval] = []
        self.supply: list[SupplyInterval] = []
        self.activity: list[ActivityInterval] = []
        self.lent: list[LentInterval] = []
        self.lost: list[LostSpan] = []

    def hears(self, *events: Delivered, scheduler: str = "s1", late: int = 0) -> None:
        """Take in events, each so late after the scheduler wrote it."""
        for event in events:
            came = DeliveredEvent(event.at + late, "east", scheduler, 1, event)
            self.meters.note(came, self.books.of)
            self.books.note(came)
        usage, supply, activity, lent, lost = self.meters.drain()
        self.usage += usage
        self.supply += supply
        self.activity += activity
        self.lent += lent
        self.lost += lost

    def held(self, until: int | None = None) -> dict[str, int]:
        """Workload -> GPU-microseconds; what is open counts until a time."""
        found = Counter[str]()
        more: Iterable[UsageInterval] = self.meters.open_usage(until) if until else ()
        for each in (*self.usage, *more):
            found[each.workload] += each.held_milli * (each.end_ms - each.begin_ms)
        return dict(found)

    def there(self, until: int) -> int:
        """GPU-microseconds that there were."""
        every = (*self.supply, *self.meters.open_supply(until))
        return sum(each.gpu_milli * (each.end_ms - each.begin_ms) for each in every)


def placed(at: int, name: str, where: str, *devices: int, attempt: int = 1) -> GangPlaced:
    return GangPlaced(at, KEYS[name], attempt, Placement((pod(where, *devices),)))


def pod(where: str, *devices: int) -> PodPlacement:
    return PodPlacement("main", 0, where, devices, 1_000)


def began(at: int, *nodes: str) -> list[Delivered]:
    return [SchedulerStarted(at, "1"), *(NodeAdded(at, node(each)) for each in nodes)]


@pytest.fixture
def east() -> Delivery:
    made = Delivery()
    made.hears(*began(0, "n0", "n1"), SchedulerSettled(0))
    made.hears(submitted(0, "a"), placed(1_000, "a", "n0", 0, 1))
    return made


def test_what_a_gang_held_is_named_by_its_cluster(east: Delivery) -> None:
    east.hears(started(2_000, "a"), ended(5_000, "a"), late=700)
    (interval,) = east.usage
    key = f"east:{KEYS['a']}"
    assert (interval.queue, interval.gang, interval.workload) == ("east:team", key, key)
    assert (interval.node, interval.flavor, interval.user) == ("east:n0", "H100", "lab")
    assert (interval.begin_ms, interval.end_ms, interval.held_milli) == (1_000, 5_000, 2_000)
    assert interval.begun
    assert east.there(10_000) == 16_000 * 10_000


def test_a_scheduler_that_says_again_what_runs_charges_nothing_twice(east: Delivery) -> None:
    again = [*began(4_000, "n0"), submitted(4_000, "a"), placed(1_000, "a", "n0", 1, 0)]
    east.hears(*again, SchedulerSettled(4_500), scheduler="s2")
    assert east.held(6_000) == {f"east:{KEYS['a']}": 2_000 * 5_000}
    assert east.there(6_000) == 16_000 * 4_500 + 8_000 * 1_500  # n1 was not named
    east.hears(ended(7_000, "a"), scheduler="s2")
    assert [each.begun for each in east.usage] == [True]
    assert [each.attempt for each in east.usage] == [1]


def test_a_gang_that_sits_elsewhere_after_a_restart_is_another_attempt(east: Delivery) -> None:
    again = [*began(4_000, "n0", "n1"), submitted(4_000, "a"), placed(3_000, "a", "n1", 0)]
    east.hears(*again, scheduler="s2")
    east.hears(ended(9_000, "a"), scheduler="s2")
    assert [(each.node, each.attempt, each.begun) for each in east.usage] == [
        ("east:n0", 1, True),
        ("east:n1", 2, True),
    ]
    assert east.held() == {f"east:{KEYS['a']}": 2_000 * 3_000 + 1_000 * 5_000}


def test_what_an_earlier_scheduler_delivers_late_changes_nothing(east: Delivery) -> None:
    again = [*began(4_000, "n0", "n1"), submitted(4_000, "a"), placed(1_000, "a", "n0", 0, 1)]
    east.hears(*again, scheduler="s2")
    east.hears(ended(3_000, "a"), NodeLost(3_000, "n1"), SchedulerStarted(0, "1"), scheduler="s1")
    assert east.usage == []
    assert east.held(6_000) == {f"east:{KEYS['a']}": 2_000 * 5_000}


def test_a_clock_that_is_ahead_charges_no_time_that_has_not_passed(east: Delivery) -> None:
    event = ended(10**9, "a")
    came = DeliveredEvent(4_000, "east", "s1", 1, event)
    east.meters.note(came, east.books.of)
    usage, *_ = east.meters.drain()
    assert [(each.begin_ms, each.end_ms) for each in usage] == [(1_000, 4_000)]


def test_what_is_about_nodes_and_gangs_that_were_lost_on_the_way_stops_nothing(
    east: Delivery,
) -> None:
    east.hears(
        NodeCordoned(1_000, "n9", "fan"),
        DeviceHealth(1_000, "n9", 0, healthy=False),
        DeviceHealth(1_000, "n0", 99, healthy=False),
        NodeLost(1_000, "n9"),
        PodsLeft(1_000, KEYS["c"], 1),
        GangStopping(1_000, KEYS["c"], 1, Cause(CauseKind.CANCELLED)),
        ended(1_000, "c"),
        placed(1_000, "c", "n0", 4),
        submitted(2_000, "b"),
        placed(2_000, "b", "n9", 3),
    )
    resized = Placement((pod("n0", 5), PodPlacement("other", 0, "n8", (0,), 1_000)))
    east.hears(GangResized(3_000, KEYS["b"], 1, resized), ended(5_000, "b"))
    found = [(each.node, each.flavor, each.end_ms) for each in east.usage]
    assert sorted(found) == [
        ("east:n0", "H100", 5_000),
        ("east:n8", "unknown", 5_000),
        ("east:n9", "unknown", 3_000),
        ("east:n9", "unknown", 5_000),  # it leaves by and by
    ]
    held = sum(east.held(6_000).values())
    assert held <= east.there(6_000)


def test_of_an_attempt_that_is_over_nothing_more_is_heard(east: Delivery) -> None:
    east.hears(ended(2_000, "a", requeue=True), placed(3_000, "a", "n1", 0, attempt=2))
    east.hears(ended(4_000, "a"))  # of the first attempt
    assert len(east.usage) == 1
    assert east.held(5_000) == {f"east:{KEYS['a']}": 2_000 * 1_000 + 1_000 * 2_000}


def test_metering_begins_with_a_scheduler_that_names_what_there_is() -> None:
    east = Delivery()
    east.meters.since = None  # as an earlier version has it
    east.hears(*began(0, "n0"), submitted(0, "a"), placed(1_000, "a", "n0", 0))
    east.meters.since = 2_000
    east.hears(ended(2_500, "c"), NodeAdded(2_500, node("n1")))
    assert east.meters.begun() == []
    again = [*began(4_000, "n0"), submitted(4_000, "a"), placed(1_000, "a", "n0", 0)]
    east.hears(*again, SchedulerSettled(4_000), scheduler="s2")
    east.hears(ended(9_000, "a"), scheduler="s2")
    assert east.meters.begun() == [4_000]
    assert [(each.begin_ms, each.end_ms, each.begun) for each in east.usage] == [
        (4_000, 9_000, False)
    ]


@pytest.mark.parametrize("seed", sample(range(200), 20))
def test_meter_and_book_charge_the_same_whatever_restarts(seed: int) -> None:
    dice, east, now = Random(seed), Delivery(), 0
    scheduler, numbers = 0, Counter[str]()
    places: dict[str, GangPlaced] = {}
    charged = Counter[str]()

    def says(*events: Delivered) -> None:
        east.hears(*events, scheduler=f"s{scheduler}", late=dice.randrange(500))
        for each in east.books.of["east"].over:
            charged[f"east:{each.gang.id}"] += each.gpu_ms
        east.books.close()

    says(*began(0, "n0", "n1"), SchedulerSettled(0))
    for _ in range(60):
        now += dice.randrange(1, 5_000)
        name = dice.choice("abc")
        if dice.random() < 0.1:
            scheduler += 1
            gone = [each for each in places if dice.random() < 0.2]
            for each in gone:
                del places[each]
            numbers.clear()
            says(*began(now, "n0", "n1"))
            for each, event in places.items():
                numbers[each] = 1
                place = event.placement
                says(submitted(now, each), GangPlaced(now, event.gang, 1, place))
            says(SchedulerSettled(now + 1))
        elif name not in places:
            numbers[name] += 1
            event = placed(now, name, f"n{dice.randrange(2)}", "abc".index(name))
            event = GangPlaced(now, event.gang, numbers[name], event.placement)
            places[name] = event
            says(submitted(now, name), event)
        else:
            del places[name]
            again = dice.random() < 0.3
            says(ended(now, name, requeue=again, attempt=numbers[name]))
            if not again:
                numbers[name] = 0
    for name in [*places]:
        says(ended(now + 7, name, attempt=numbers[name]))
    for book in east.books.of.values():
        for waits in book.gangs.values():
            charged[f"east:{waits.gang.id}"] += waits.gpu_ms
    assert east.held() == {name: milli * 1_000 for name, milli in charged.items() if milli}
    assert sum(east.held().values()) <= east.there(now + 7)


def sampled(at: int, begin: int, end: int, busy: int = 250, **other: Any) -> GpusSampled:
    """The two GPUs of `a` were busy for some thousandths of the time, as the scheduler says."""
    lasted = 2_000 * (end - begin)
    said = SampledAttempt(
        *(KEYS["a"], 1, "n0", begin, end),
        source="dcgm-sm",
        sampled_gpu_us=lasted,
        active_gpu_us=lasted * busy // 1_000,
        energy_source="dcgm",
        energy_gpu_us=lasted,
        energy_mj=end - begin,
    )
    return GpusSampled(at, (replace(said, **other),))


def active(east: Delivery) -> list[tuple[int, int, int, int, int]]:
    """Begin, end, sampled, active and mJ of what is counted, none of which can be wrong."""
    held = [*east.usage, *east.meters.open_usage(1 << 40)]
    for each in east.activity:
        of = [used for used in held if (used.gang, used.attempt, used.node) == each.place]
        assert each.contradiction(of) == ""
    names = ("begin_ms", "end_ms", "sampled_gpu_us", "active_gpu_us", "energy_mj")
    return [tuple(getattr(each, name) for name in names) for each in east.activity]


def test_what_gpus_of_a_cluster_did_is_counted_once_and_only_while_they_were_held(
    east: Delivery,
) -> None:
    east.hears(sampled(4_500, 2_000, 4_000), sampled(4_600, 2_000, 4_000), late=700)
    east.hears(sampled(8_000, 3_000, 7_000), ended(7_500, "a"), sampled(9_000, 7_000, 8_500))
    assert active(east) == [
        (2_000, 4_000, 4_000_000, 1_000_000, 2_000),
        (4_000, 7_000, 6_000_000, 1_500_000, 3_000),
    ]
    (one, _), key = east.activity, f"east:{KEYS['a']}"
    assert (one.queue, one.gang, one.workload, one.node) == ("east:team", key, key, "east:n0")
    assert (one.source, one.energy_source, one.flavor) == ("dcgm-sm", "dcgm", "H100")


def test_what_cannot_be_and_what_another_scheduler_says_is_not_counted(east: Delivery) -> None:
    east.hears(sampled(5_000, 2_000, 4_000, sampled_gpu_us=4_000_001))
    east.hears(sampled(5_000, 2_000, 4_000, active_gpu_us=4_000_001))
    east.hears(sampled(5_000, 2_000, 4_000, energy_mj=-1))
    east.hears(sampled(5_000, 4_000, 2_000), sampled(5_000, 2_000, 2_000))
    east.hears(sampled(5_000, 2_000, 4_000, attempt=2), sampled(5_000, 2_000, 4_000, node="n1"))
    east.hears(sampled(5_000, 2_000, 4_000), scheduler="s0")
    assert active(east) == []
    early = sampled(5_000, 0, 90_000)  # by a clock that is ahead, of before it was placed
    east.hears(early)
    assert [each[:2] for each in active(east)] == [(1_000, 5_000)]
    east.hears(ended(4_000, "a"))  # and is known to have been over
    assert [each.end_ms for each in east.usage] == [5_000]
    active(east)


def lending(at: int, begin: int, end: int, *rows: tuple[str, int, int]) -> QueuesLent:
    return QueuesLent(at, begin, end, tuple(QueueLending(*each) for each in rows))


def test_what_queues_lent_is_taken_in_as_a_whole_once_and_not_ahead_of_its_time(
    east: Delivery,
) -> None:
    even = (("a", 7, 0), ("b", 0, 7))
    east.hears(lending(9_000, 2_000, 8_000, *even), late=500)
    east.hears(lending(9_000, 2_000, 8_000, *even))  # it was said
    east.hears(lending(9_000, 8_000, 9_000, ("a", 8, 0), ("b", 0, 7)))
    east.hears(lending(9_000, 8_000, 9_000, ("a", -7, 0), ("b", 0, -7)))
    east.hears(lending(9_000, 8_000, 9_000, *even), scheduler="s0")
    east.hears(lending(14_000, 8_000, 13_000, *even), late=-4_000)  # by a clock that is ahead
    assert [(each.queue, each.begin_ms, each.end_ms) for each in east.lent] == [
        *(("east:a", 2_000, 8_000), ("east:b", 2_000, 8_000)),
        *(("east:a", 8_000, 9_000), ("east:b", 8_000, 9_000)),
    ]
    assert {(each.lent_gpu_us, each.borrowed_gpu_us) for each in east.lent} == {(7, 0), (0, 7)}


def test_whatever_is_said_again_late_or_by_another_scheduler_no_time_is_sampled_twice() -> None:
    for seed in sample(range(160), every=8):
        dice, now = Random(seed), 10_000
        east, scheduler = Delivery(), 1
        east.hears(*began(0, "n0"), SchedulerSettled(0), submitted(0, "a"), scheduler="s1")
        east.hears(placed(1_000, "a", "n0", 0, 1), scheduler="s1")
        for _ in range(30):
            now += dice.randrange(40_000_000)
            begin = max(now - dice.randrange(80_000_000), 0)
            said = sampled(now, begin, begin + dice.randrange(90_000_000), dice.randrange(1_001))
            east.hears(said, late=dice.randrange(-5_000, 5_000), scheduler=f"s{scheduler}")
            if dice.random() < 0.2:
                scheduler += 1
                again = [*began(now, "n0"), submitted(now, "a"), placed(now, "a", "n0", 0, 1)]
                east.hears(*again, SchedulerSettled(now), scheduler=f"s{scheduler}")
        east.hears(ended(now - dice.randrange(9_000_000), "a"), scheduler=f"s{scheduler}")
        spans = [(begin, end) for begin, end, *_ in active(east)]
        assert spans == sorted(spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert spans
