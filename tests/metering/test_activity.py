"""What GPUs did, out of looks at their counters."""

from collections.abc import Mapping
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.metering.activity import (
    AMOUNTS,
    LONGEST_MS,
    ActivityInterval,
    ActivityMeter,
    AttemptLook,
    DeviceCounters,
)
from ganglion.metering.intervals import DAY_MS
from ganglion.metering.sums import ActivitySum, UsageBy, add_activity

WHOSE = ("vision", "ada", "a-1", "a-1/0")
LOOK_MS = 10_000
MIDNIGHT = 20_000 * DAY_MS


def look(devices: Mapping[int, DeviceCounters], attempt: int = 1) -> AttemptLook:
    of = ActivityInterval(0, 0, *WHOSE, attempt, "train", "H100", "n0", "nvml")
    return AttemptLook(of, {str(index): each for index, each in devices.items()})


def looked(*looks: tuple[int, Mapping[int, DeviceCounters]]) -> ActivityMeter:
    meter = ActivityMeter()
    for at, devices in looks:
        meter.look(at, [look(devices)] if devices else [])
    return meter


def amounts(meter: ActivityMeter) -> list[tuple[int, ...]]:
    """Begin, end and amounts of everything."""
    names = ("begin_ms", "end_ms", *AMOUNTS)
    return [tuple(getattr(each, name) for name in names) for each in meter.all()]


def test_activity_and_energy_are_counted_between_looks_and_not_before_the_first() -> None:
    one, two = DeviceCounters(500, 1_000_000), DeviceCounters(1000, 5_000_000)
    later = one._replace(energy_mj=1_004_000)
    meter = looked((1_000, {0: one, 1: two}), (11_000, {0: later, 1: two}))
    assert amounts(meter) == [(1_000, 11_000, 20_000_000, 15_000_000, 20_000_000, 4_000)]


def test_a_gpu_that_says_nothing_is_not_sampled_and_never_idle() -> None:
    meter = looked(
        (1, {0: DeviceCounters(), 1: DeviceCounters(0, 7)}),
        (2, {0: DeviceCounters(), 1: DeviceCounters(0)}),
    )
    assert amounts(meter) == [(1, 2, 1_000, 0, 0, 0)]


def test_a_counter_that_was_reset_or_leaps_gives_no_energy() -> None:
    counts = (9_000, 9_500, 3, 503, 900_000_000, 900_000_500)
    meter = looked(*((at * 1_000 + 1, {0: DeviceCounters(0, mj)}) for at, mj in enumerate(counts)))
    assert amounts(meter) == [(1, 5_001, 5_000_000, 0, 3_000_000, 1_500)]


def test_time_that_goes_back_or_leaps_and_other_gpus_are_not_counted() -> None:
    busy = DeviceCounters(1000, 0)
    at = 5 * LONGEST_MS
    late = at + LOOK_MS
    far = late + LONGEST_MS + 1
    meter = looked(
        (at, {0: busy}),
        (late, {0: busy}),
        (at - 1, {0: busy}),  # the clock was put back
        (late, {0: busy}),
        (far, {0: busy}),
        (far + 5, {0: busy, 1: busy}),  # it grew
        (far + 9, {0: busy, 1: busy}),
    )
    spans = [(begin, end, sampled) for begin, end, sampled, *_ in amounts(meter)]
    assert spans == [(at, late, LOOK_MS * 1_000), (far + 5, far + 9, 8_000)]


def test_an_attempt_that_begins_to_hold_after_the_first_look_is_counted_from_then_on() -> None:
    meter, busy = ActivityMeter(), {0: DeviceCounters(1000)}
    for at, since in (
        (1_000, 1_400),
        (2_000, 1_400),
        (3_000, 2_800),
        (4_000, 2_800),
        (5_000, 9_000),
    ):
        found = look(busy)
        meter.look(at, [found._replace(of=replace(found.of, begin_ms=since, end_ms=since))])
    assert [each[:2] for each in amounts(meter)] == [(1_400, 2_000), (3_000, 4_000)]


def test_what_was_looked_at_after_the_end_of_an_attempt_is_taken_back() -> None:
    busy = DeviceCounters(250)
    meter = looked((0, {}), (1, {0: busy}), (10_001, {0: busy}))
    meter.ended("a-1/0", 1, 4_001)
    assert amounts(meter) == [(1, 4_001, 4_000_000, 1_000_000, 0, 0)]
    meter.look(20_001, [look({0: busy})])  # asked before it was known
    assert [each.end_ms for each in meter.due(everything=True)] == [4_001]


def test_what_is_long_is_closed_one_look_later_and_written_once() -> None:
    busy = DeviceCounters(1000)
    meter = looked(*((1 + at * LOOK_MS, {0: busy}) for at in range(61)))
    assert not meter.due()
    meter.look(1 + 61 * LOOK_MS, [look({0: busy})])
    (due,) = meter.due()
    assert (due.begin_ms, due.end_ms) == (1, 600_001)
    meter.written([due])
    assert not meter.due()
    assert [each.begin_ms for each in meter.all()] == [600_001]


def test_midnight_cuts_and_an_erased_user_is_left_out() -> None:
    busy = DeviceCounters(1000)
    meter = looked(
        (MIDNIGHT - 3_000, {0: busy}), (MIDNIGHT + 7_000, {0: busy}), (MIDNIGHT + 7_001, {})
    )
    spans = [(begin, end, active) for begin, end, _, active, *_ in amounts(meter)]
    assert spans == [
        (MIDNIGHT - 3_000, MIDNIGHT, 3_000_000),
        (MIDNIGHT, MIDNIGHT + 7_000, 7_000_000),
    ]
    meter.erased("ada")
    assert not meter.due()


@st.composite
def intervals(draw: st.DrawFn) -> ActivityInterval:
    """One that 2 GPUs at most are held in."""
    begin, lasts = draw(st.integers(0, DAY_MS - 1_000)), draw(st.integers(1, 1_000))
    held = lasts * 2_000
    sampled, known = draw(st.integers(0, held)), draw(st.integers(0, held))
    of = ActivityInterval(begin, begin + lasts, *WHOSE, 1, "train", "H100", "n0", "nvml")
    return replace(
        of,
        sampled_gpu_us=sampled,
        active_gpu_us=draw(st.integers(0, sampled)),
        energy_gpu_us=known,
        energy_mj=draw(st.integers(0, 10**9)),
    )


@given(intervals(), st.lists(st.integers(-100, 1_100), max_size=5))
def test_parts_add_up_and_in_each_no_more_is_active_than_sampled_than_held(
    whole: ActivityInterval, cuts: list[int]
) -> None:
    edges = sorted({0, DAY_MS, *(max(whole.begin_ms + each, 0) for each in cuts)})
    total = ActivitySum()
    for since, until in pairwise(edges):
        sums: dict[tuple[str, ...], ActivitySum] = {}
        add_activity(sums, [whole], (UsageBy.QUEUE,), since, until)
        held = max(min(whole.end_ms, until) - max(whole.begin_ms, since), 0) * 2_000
        for part in sums.values():
            assert 0 <= part.active_gpu_us <= part.sampled_gpu_us <= held
            assert 0 <= part.energy_gpu_us <= held
            assert part.energy_mj >= 0
            total.plus(part)
    every: dict[tuple[str, ...], ActivitySum] = {}
    add_activity(every, [whole], (UsageBy.QUEUE,), 0, DAY_MS)
    assert total == every["vision",]


@given(
    st.lists(
        st.tuples(
            st.integers(-2_000, 40_000),
            st.sets(st.integers(0, 2)),
            st.none() | st.integers(-50, 1_200),
            st.none() | st.integers(0, 10**6),
        ),
        max_size=12,
    )
)
def test_whatever_counters_and_clocks_do_amounts_are_in_order_and_no_time_counts_twice(
    steps: list[tuple[int, set[int], int | None, int | None]],
) -> None:
    meter, now = ActivityMeter(), MIDNIGHT - 20_000
    for more, devices, busy, energy in steps:
        now += more
        meter.look(
            now, [look(dict.fromkeys(devices, DeviceCounters(busy, energy)))] if devices else []
        )
    found = meter.due(everything=True)
    for each in found:
        held = 3_000 * (each.end_ms - each.begin_ms)
        assert 0 <= each.active_gpu_us <= each.sampled_gpu_us <= held
        assert 0 <= each.energy_gpu_us <= held
        assert each.energy_mj >= 0
        assert each.begin_ms // DAY_MS == (each.end_ms - 1) // DAY_MS
    for one, other in pairwise(found):
        assert one.end_ms <= other.begin_ms
