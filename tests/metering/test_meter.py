"""Intervals add up to the capacity, whatever happens to a fleet and to the clock."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.metering.attempts import HeldPlace
from ganglion.metering.intervals import DAY_MS, SupplyInterval, UsageInterval
from ganglion.metering.meter import Meter
from ganglion.metering.sums import (
    SupplySum,
    UsageBy,
    UsageSum,
    add_supply,
    add_usage,
    overlap_ms,
)
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang
from tests.effort import examples
from tests.engine.build import gang, node
from tests.metering.metered import MeteredLife, SlicedLife, lived

FOR_EVER = 1 << 60
SEEDS = range(examples(8, nightly=600))


def usage_of(life: MeteredLife) -> list[UsageInterval]:
    return [*life.usage, *life.meter.open_usage(life.now)]


def supply_of(life: MeteredLife) -> list[SupplyInterval]:
    return [*life.supply, *life.meter.open_supply(life.now)]


def held(usage: list[UsageInterval], since: int = 0, until: int = FOR_EVER) -> dict[str, int]:
    sums: dict[tuple[str, ...], UsageSum] = {}
    add_usage(sums, usage, [UsageBy.FLAVOR], since, until)
    return {flavor: each.held_gpu_us for (flavor,), each in sums.items()}


def supplied(
    supply: list[SupplyInterval], since: int = 0, until: int = FOR_EVER
) -> dict[str, SupplySum]:
    sums: dict[str, SupplySum] = {}
    add_supply(sums, supply, since, until)
    return sums


@pytest.mark.parametrize(
    ("seed", "kind"),
    [*((each, MeteredLife) for each in SEEDS), *((each, SlicedLife) for each in SEEDS[:4])],
)
def test_what_is_held_idle_and_unavailable_is_the_capacity_to_the_millisecond(
    seed: int, kind: type[MeteredLife]
) -> None:
    life = lived(seed, kind=kind)
    assert bool(life.parts) is (kind is SlicedLife)
    usage, supply = held(usage_of(life)), supplied(supply_of(life))
    literal = life.literal
    assert {name: each for name, each in usage.items() if each} == dict(+literal.held)
    assert {name: each.capacity_gpu_us for name, each in supply.items()} == dict(+literal.capacity)
    shut = {name: each.unavailable_gpu_us for name, each in supply.items()}
    assert Counter(shut) == literal.unavailable


def test_parts_of_gpus_change_no_decision() -> None:
    whole, sliced = lived(1), lived(1, kind=SlicedLife)
    decided = [
        [each for each in life.noted if not isinstance(each, ev.NodeAdded)]
        for life in (whole, sliced)
    ]
    assert decided[0] == decided[1]
    assert any(isinstance(each, ev.GangPlaced) for each in decided[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_at_no_moment_is_more_used_than_there_is(seed: int) -> None:
    life = lived(seed)
    usage, supply = usage_of(life), supply_of(life)
    held_from = {t for each in usage for t in (each.begin_ms, each.end_ms)}
    edges = sorted(held_from | {t for each in supply for t in (each.begin_ms, each.end_ms)})
    taken: Counter[tuple[str, int]] = Counter()
    for each in usage:
        for edge in edges:
            if each.begin_ms <= edge < each.end_ms:
                taken[each.node, edge] += each.held_milli
    for there in supply:
        for edge in edges:
            if there.begin_ms <= edge < there.end_ms:
                used = taken.pop((there.node, edge), 0)
                assert there.gpu_milli - there.unavailable_milli - used >= 0
                assert there.unavailable_milli >= 0
    assert not +taken, "usage without supply"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_attempt_is_charged_twice_for_a_time_on_a_node(seed: int) -> None:
    life = lived(seed)
    by_place: dict[object, list[UsageInterval]] = {}
    for each in usage_of(life):
        by_place.setdefault((each.gang, each.attempt, each.node), []).append(each)
    for intervals in by_place.values():
        intervals.sort(key=lambda each: (each.begin_ms, each.end_ms))
        assert all(one.end_ms <= two.begin_ms for one, two in pairwise(intervals))
    begun = Counter((each.gang, each.attempt) for each in usage_of(life) if each.begun)
    placed = {(e.gang, e.attempt) for e in life.noted if isinstance(e, ev.GangPlaced)}
    assert begun == dict.fromkeys(placed, 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_events_give_the_same_intervals(seed: int) -> None:
    life, again = lived(seed), Meter()
    again.begin(0, {}, (), ())
    for event in life.noted:
        again.note(event, life.state.gangs.record)
    assert again.drain() == (life.usage, life.supply)
    assert [*again.open_usage(life.now)] == [*life.meter.open_usage(life.now)]
    assert [*again.open_supply(life.now)] == [*life.meter.open_supply(life.now)]


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 5), st.data())
def test_a_period_that_is_split_anywhere_sums_to_the_whole(seed: int, data: st.DataObject) -> None:
    life = lived(seed, steps=25)
    usage, supply = usage_of(life), supply_of(life)
    since, split, until = sorted(data.draw(st.tuples(*[st.integers(0, life.now + 1)] * 3)))
    by = data.draw(st.lists(st.sampled_from(UsageBy), unique=True))
    whole: dict[tuple[str, ...], UsageSum] = {}
    parts: dict[tuple[str, ...], UsageSum] = {}
    add_usage(whole, usage, by, since, until)
    add_usage(parts, usage, by, since, split)
    add_usage(parts, usage, by, split, until)
    assert parts == whole
    total: dict[tuple[str, ...], UsageSum] = {}
    add_usage(total, usage, (), since, until)
    groups = [each.held_gpu_us for each in whole.values()]
    assert sum(groups) == sum(each.held_gpu_us for each in total.values())
    pieces = supplied(supply, since, split)
    for flavor, each in supplied(supply, split, until).items():
        found = pieces.setdefault(flavor, SupplySum())
        found.add(each.capacity_gpu_us, each.unavailable_gpu_us)
    assert pieces == supplied(supply, since, until)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clock_that_is_put_back_makes_nothing_negative_and_charges_nothing_twice(
    seed: int,
) -> None:
    life, rng, meter = lived(seed), Random(seed), Meter()
    meter.begin(0, {}, (), ())
    usage, supply, step = list[UsageInterval](), list[SupplyInterval](), 0
    for event in life.noted:
        step += rng.choice((0, 0, 0, -5_000, 4_000, -3 * DAY_MS, 2 * DAY_MS))
        meter.note(replace(event, at=max(event.at + step, 0)), life.state.gangs.record)
        closed = meter.drain()
        usage += closed[0]
        supply += closed[1]
    usage += meter.open_usage(0)
    supply += meter.open_supply(0)
    assert all(each.end_ms >= each.begin_ms for each in usage)
    assert all(each.end_ms > each.begin_ms for each in supply)
    taken, there = held(usage), supplied(supply)
    for flavor, each in there.items():
        assert taken.pop(flavor, 0) + each.unavailable_gpu_us <= each.capacity_gpu_us
    assert not any(taken.values())
    by_node: dict[str, list[SupplyInterval]] = {}
    for interval in supply:
        by_node.setdefault(interval.node, []).append(interval)
    for intervals in by_node.values():
        assert all(one.end_ms <= two.begin_ms for one, two in pairwise(intervals))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_meter_that_begins_in_a_running_fleet_goes_on_as_one_that_always_ran(seed: int) -> None:
    life = lived(seed, steps=25)
    late, begin = Meter(), life.now
    records, tree = life.state.gangs.records, life.state.fleet.tree
    places = [
        HeldPlace(
            each.gang,
            each.attempt,
            each.placement.pods if each.placement and each.phase in ("starting", "running") else (),
            each.leaving,
        )
        for each in records.values()
        if each.placement
    ]
    late.begin(begin, life.state.fleet.nodes, sorted(tree.gone()), places)
    life.waits(5_000)
    noted = len(life.noted)
    for seed_of_step in range(20):
        life.submit(Random(seed_of_step), 1)
        life.end(Random(seed_of_step), ev.Outcome.FAILED, requeue=False)
        life.waits(777)
    for event in life.noted[noted:]:
        late.note(event, life.state.gangs.record)
    usage, supply = late.drain()
    usage += late.open_usage(life.now)
    supply += late.open_supply(life.now)
    assert held(usage) == {
        k: v for k, v in held(usage_of(life), begin).items() if v or k in held(usage)
    }
    assert supplied(supply) == supplied(supply_of(life), begin)


def at_node(name: str, *devices: int, milli: int = WHOLE) -> Placement:
    return Placement((PodPlacement("main", 0, name, devices, milli),))


class Known:
    """What knows one gang."""

    def __init__(self, known: Gang) -> None:
        self.gang = known


def test_what_holds_a_place_before_it_runs_and_while_it_stops_is_charged_for_it() -> None:
    meter, known = Meter(), Known(gang("w", gpus=2))
    meter.begin(0, {}, (), ())
    events = [
        ev.NodeAdded(0, node("a", 4)),
        ev.GangPlaced(1_000, "w/0", 1, at_node("a", 0, 1)),
        ev.GangStarted(3_000, "w/0", 1),
        ev.GangStopping(10_000, "w/0", 1, Cause(CauseKind.CANCELLED)),
        ev.GangEnded(14_000, "w/0", 1, ev.Outcome.CANCELLED),
        ev.NodeLost(20_000, "a"),
    ]
    for event in events:
        meter.note(event, lambda _gang: known)
    usage, supply = meter.drain()
    found = [
        (each.begin_ms, each.end_ms, each.requested_milli, each.held_milli, each.begun)
        for each in usage
    ]
    assert found == [(1_000, 10_000, 2_000, 2_000, True), (10_000, 14_000, 0, 2_000, False)]
    assert supply == [SupplyInterval(0, 20_000, "a", "H100", 4_000, 0)]


def test_a_lost_node_stays_in_supply_while_attempts_hold_it() -> None:
    meter, known = Meter(), Known(gang("w"))
    meter.begin(0, {}, (), ())
    for event in (
        ev.NodeAdded(0, node("a", 4)),
        ev.GangPlaced(0, "w/0", 1, at_node("a", 0)),
        ev.NodeLost(5, "a"),
        ev.GangEnded(9, "w/0", 1, ev.Outcome.NODE_LOST),
    ):
        meter.note(event, lambda _gang: known)
    _, supply = meter.drain()
    found = [(e.begin_ms, e.end_ms, e.gpu_milli, e.unavailable_milli) for e in supply]
    assert found == [(0, 5, 4_000, 0), (5, 9, 4_000, 3_000)]
    assert not [*meter.open_supply(100)]


def test_an_attempt_that_ends_at_once_is_counted() -> None:
    meter, known = Meter(), Known(gang("w"))
    meter.begin(0, {}, (), ())
    for event in (
        ev.NodeAdded(0, node("a", 1)),
        ev.GangPlaced(7, "w/0", 1, at_node("a", 0)),
        ev.GangEnded(7, "w/0", 1, ev.Outcome.FAILED),
    ):
        meter.note(event, lambda _gang: known)
    sums: dict[tuple[str, ...], UsageSum] = {}
    add_usage(sums, meter.drain()[0], (), 0, 100)
    assert sums == {(): UsageSum(0, 0, 1)}


def test_a_meter_that_has_not_begun_takes_nothing_in() -> None:
    meter = Meter()
    meter.note(ev.NodeAdded(0, node("a", 1)), lambda _gang: Known(gang("w")))
    assert not meter.nodes


def test_an_interval_is_cut_at_each_midnight_and_loses_nothing() -> None:
    meter, known = Meter(), Known(gang("w"))
    meter.begin(0, {}, (), ())
    for event in (
        ev.NodeAdded(0, node("a", 1)),
        ev.GangPlaced(DAY_MS - 1, "w/0", 1, at_node("a", 0)),
        ev.GangEnded(3 * DAY_MS, "w/0", 1, ev.Outcome.SUCCEEDED),
    ):
        meter.note(event, lambda _gang: known)
    usage, _ = meter.drain()
    edges = [(each.begin_ms, each.end_ms, each.begun) for each in usage]
    day = DAY_MS
    assert edges == [(day - 1, day, True), (day, 2 * day, False), (2 * day, 3 * day, False)]
    assert sum(overlap_ms(each, 0, FOR_EVER) for each in usage) == 2 * DAY_MS + 1


def test_days_of_what_is_open_are_those_that_it_is_cut_into() -> None:
    meter, known = Meter(), Known(gang("w"))
    meter.begin(0, {}, (), ())
    meter.note(ev.NodeAdded(0, node("a", 1)), lambda _gang: known)
    meter.note(ev.GangPlaced(5, "w/0", 1, at_node("a", 0)), lambda _gang: known)
    now = 2 * DAY_MS + 7
    opened, closed = dict[tuple[str, ...], UsageSum](), dict[tuple[str, ...], UsageSum]()
    add_usage(opened, meter.open_usage(now), [UsageBy.DAY], 0, now)
    meter.note(ev.GangEnded(now, "w/0", 1, ev.Outcome.FAILED), lambda _gang: known)
    add_usage(closed, meter.drain()[0], [UsageBy.DAY], 0, now)
    assert opened == closed
    assert [day for (day,) in opened] == ["1970-01-01", "1970-01-02", "1970-01-03"]
