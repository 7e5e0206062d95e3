"""The scaler: floors, bounds and paces hold; what is unknown is not acted upon."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples

from ganglion.lifecycle.autoscaling.memory import Memory
from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.autoscaling.scaler import Desired, Scaler
from ganglion.lifecycle.autoscaling.trust import IMPLAUSIBLE, LOST
from ganglion.model.behaviour import Hint, Pace, Scaling, Signal, Target

SECOND = 1_000
EVERY = 15 * SECOND
QUICK = Scaling(
    floor=1,
    ceiling=100,
    up=Pace(),
    down=Pace(),
    hold_down_ms=0,
    window_ms=15_000,
    idle_ms=0,
    panic_milli=1_000_000,
)
"""Does what its last reading asks for."""


def requests(at: int, count: int, **more: int) -> Reading:
    return Reading(at, {Signal.REQUESTS: 1_000 * count}, **more)


class Service:
    """A service whose replicas become ready at once, and its scaler."""

    def __init__(self, scaling: Scaling, replicas: int = 1) -> None:
        self.scaler, self.replicas, self.now = Scaler(scaling), replicas, 0

    def step(self, reading: Reading | None, every: int = EVERY) -> Desired:
        self.now += every
        if reading:
            self.scaler.observe(reading, self.now)
        found = self.scaler.desired(self.now, self.replicas, 0)
        self.replicas = found.replicas
        return found

    def load(self, counts: Iterable[int], every: int = EVERY) -> list[int]:
        return [self.step(requests(self.now + every, n), every).replicas for n in counts]


def test_replicas_follow_requests_between_floor_and_ceiling() -> None:
    assert Service(QUICK).load([0, 3, 7, 500, 2, 0]) == [1, 3, 7, 100, 2, 1]


def test_the_signal_that_wants_most_decides() -> None:
    targets = (Target(Signal.REQUESTS, 8_000), Target(Signal.KV_CACHE, 500))
    service = Service(replace(QUICK, targets=targets), replicas=4)
    found = service.step(Reading(EVERY, {Signal.REQUESTS: 8_000, Signal.KV_CACHE: 900}))
    assert found.replicas == 8
    assert found.reason.startswith("kv_cache 0.9: 8 replicas")


def test_what_went_down_comes_only_after_it_was_too_many_for_long_enough() -> None:
    service = Service(replace(QUICK, hold_down_ms=60_000))
    assert service.load([8, 1, 1, 1, 1, 1]) == [8, 8, 8, 8, 1, 1]


def test_a_short_burst_is_seen_before_the_average_shows_it_and_nothing_goes_meanwhile() -> None:
    scaling = Scaling(floor=1, ceiling=100, up=Pace(), down=Pace(), hold_down_ms=0, idle_ms=0)
    service = Service(scaling)
    calm = service.load([1] * 30, every=2_000)
    burst = service.load([20] * 3, every=2_000)
    after = service.load([1] * 28, every=2_000)
    assert calm[-1] == 1
    assert burst[0] >= 8, "the mean of a minute is still below 2"
    assert after == [burst[-1]] * 28, "a stable window has not passed"
    assert service.load([1] * 10, every=2_000)[-1] == 1


def test_replicas_come_no_faster_than_their_pace() -> None:
    service = Service(replace(QUICK, up=Pace(4, 100, 15_000)))
    assert service.load([100] * 6) == [5, 10, 20, 40, 80, 100]


def test_replicas_go_no_faster_than_their_pace() -> None:
    service = Service(replace(QUICK, down=Pace(0, 50, 60_000)), replicas=16)
    assert service.load([1] * 10) == [8, 8, 8, 8, 4, 4, 4, 4, 2, 2]


def test_a_step_that_was_not_taken_may_be_taken_later() -> None:
    scaler = Scaler(replace(QUICK, up=Pace(4, 0, 60_000)))
    found = []
    for now in range(0, 60_000, 2_000):
        scaler.observe(requests(now, 50), now)
        found.append(scaler.desired(now, 1, 0).replicas)
    assert set(found) == {5}, "there was one replica all the time"


def test_pace_is_measured_over_time_however_often_one_asks() -> None:
    service = Service(replace(QUICK, up=Pace(4, 0, 60_000)))
    assert max(service.load([100] * 29, every=2_000)) == 5


def test_the_last_replica_goes_after_so_long_without_a_request_and_comes_with_the_next() -> None:
    service = Service(replace(QUICK, floor=0, idle_ms=60_000))
    assert service.load([1, 0, 0, 0, 0, 0, 1]) == [1, 1, 1, 1, 0, 0, 1]


def test_requests_between_two_readings_keep_the_last_replica() -> None:
    service = Service(replace(QUICK, floor=0, idle_ms=60_000))
    kept = [service.step(requests(EVERY * n, 0, arrived=100 + n)).replicas for n in range(1, 12)]
    assert kept == [1] * 11


def test_a_service_that_sleeps_wakes_even_where_its_pace_is_a_share_of_nothing() -> None:
    scaling = replace(QUICK, floor=0, up=Pace(0, 100, 60_000))
    assert Service(scaling, replicas=0).load([5])[0] == 1


def test_a_source_that_hangs_holds_what_there_is_and_rings() -> None:
    service = Service(QUICK)
    service.load([6])
    found = [service.step(None) for _ in range(4)]
    assert [each.replicas for each in found] == [6] * 4
    assert [each.alarm for each in found] == ["", LOST, LOST, LOST]
    assert "no load was reported for 30 s" in found[1].reason


def test_a_source_that_never_spoke_holds_the_floor_and_rings_after_a_window() -> None:
    service = Service(replace(QUICK, floor=2), replicas=0)
    found = [service.step(None) for _ in range(3)]
    assert [(each.replicas, each.hold, each.alarm) for each in found] == [
        (2, True, ""),
        (2, True, ""),
        (2, True, LOST),
    ]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({Signal.REQUESTS: -1}, "requests is negative"),
        ({Signal.KV_CACHE: 1_001}, "more than there can be"),
        ({Signal.REQUESTS: 10**15}, "more than there can be"),
    ],
)
def test_a_source_that_lies_holds_what_there_is_and_rings(
    values: dict[Signal, int], why: str
) -> None:
    service = Service(QUICK)
    service.load([6])
    found = service.step(Reading(2 * EVERY, values))
    assert (found.replicas, found.hold, found.alarm) == (6, True, IMPLAUSIBLE)
    assert why in found.reason


def test_a_clock_in_the_future_is_not_believed() -> None:
    service = Service(QUICK)
    found = service.step(requests(10 * EVERY, 50))
    assert (found.replicas, found.alarm) == (1, IMPLAUSIBLE)


def test_after_a_lie_the_truth_is_taken_again() -> None:
    service = Service(QUICK)
    service.step(Reading(EVERY, {Signal.REQUESTS: -5}))
    found = service.step(requests(2 * EVERY, 3))
    assert (found.replicas, found.hold, found.alarm) == (3, False, "")


def test_a_signal_that_vanished_lets_nothing_go_but_the_others_may_ask_for_more() -> None:
    targets = (Target(Signal.REQUESTS, 1_000), Target(Signal.KV_CACHE, 800))
    service = Service(replace(QUICK, targets=targets), replicas=4)
    down, up = service.load([1, 9])
    assert (down, up) == (4, 9)
    found = service.step(requests(service.now + EVERY, 9))
    assert (found.hold, found.alarm) == (True, LOST)
    assert "lack kv_cache" in found.reason


def test_latency_that_nobody_measured_as_nobody_asked_is_no_loss() -> None:
    targets = (Target(Signal.TTFT, 500),)
    service = Service(replace(QUICK, targets=targets), replicas=3)
    found = service.step(requests(EVERY, 0))
    assert (found.replicas, found.alarm) == (2, "")
    assert service.step(requests(2 * EVERY, 4)).alarm == LOST


def test_latency_asks_for_at_most_twice_as_many_and_gives_back_one_at_a_time() -> None:
    targets = (Target(Signal.TTFT, 500),)
    service = Service(replace(QUICK, targets=targets), replicas=4)
    times = [9_000, 600, 400, 100]
    found = [
        service.step(Reading(EVERY * n, {Signal.TTFT: ms})).replicas
        for n, ms in enumerate(times, 1)
    ]
    assert found == [8, 10, 10, 9]


def test_hints_raise_the_floor_a_start_before_their_date_and_while_they_last() -> None:
    hint = Hint("0 8 * * *", 3_600_000, 7, "Europe/Berlin")
    eight = int(datetime(2026, 3, 2, 7, tzinfo=UTC).timestamp()) * 1_000
    scaling = replace(QUICK, hints=(hint,), cold_start_ms=120_000)
    found = []
    for minutes in (-3, -2, 0, 59, 60):
        scaler, now = Scaler(scaling), eight + minutes * 60_000
        scaler.observe(requests(now, 0), now)
        found.append(scaler.desired(now, 1, 0).replicas)
    assert found == [1, 7, 7, 7, 1]


def test_hints_ask_for_no_more_than_the_ceiling() -> None:
    hint = Hint("* * * * *", 60_000, 700)
    scaler = Scaler(replace(QUICK, hints=(hint,)))
    assert scaler.desired(0, 1, 0).replicas == 100


def test_how_long_a_start_takes_is_learnt_unless_it_is_said() -> None:
    scaler = Scaler(QUICK)
    assert scaler.lead_ms == 60_000
    for took in range(10):
        scaler.started(100_000 + took)
    assert scaler.lead_ms == 100_008
    said = Scaler(replace(QUICK, cold_start_ms=5_000), scaler.memory)
    assert said.lead_ms == 5_000


def test_a_scaler_that_forgot_everything_lets_nothing_go_at_once() -> None:
    service = Service(replace(QUICK, hold_down_ms=60_000), replicas=9)
    assert service.load([1] * 5) == [9, 9, 9, 9, 1]


def test_ceiling_and_floor_that_were_changed_hold_at_once() -> None:
    service = Service(QUICK)
    service.load([50])
    lower = replace(QUICK, ceiling=10, down=Pace(0, 50, 60_000))
    service.scaler = Scaler(lower, service.scaler.memory)
    assert service.load([50]) == [10]


readings = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.one_of(st.none(), st.integers(-3, 400)),
        st.one_of(st.none(), st.integers(-10, 1_200)),
    ),
    max_size=60,
)
scalings = st.builds(
    Scaling,
    floor=st.integers(0, 5),
    ceiling=st.integers(5, 50),
    targets=st.sampled_from(
        [
            (Target(),),
            (Target(Signal.KV_CACHE, 700),),
            (Target(Signal.REQUESTS, 3_000), Target(Signal.KV_CACHE, 700)),
        ]
    ),
    start_within_ms=st.sampled_from([0, 10_000]),
    hold_down_ms=st.sampled_from([0, 60_000, 300_000]),
    idle_ms=st.sampled_from([0, 60_000]),
    up=st.builds(Pace, st.integers(0, 4), st.integers(0, 100), st.sampled_from([0, 15_000])),
    down=st.builds(Pace, st.integers(0, 4), st.integers(0, 100), st.sampled_from([0, 60_000])),
)


def story(scaling: Scaling, steps: list[tuple[int, int | None, int | None]]) -> list[Desired]:
    service = Service(scaling, scaling.floor)
    found = []
    for seconds, count, share in steps:
        at = service.now + seconds * SECOND
        pairs = ((Signal.REQUESTS, count and count * 1_000), (Signal.KV_CACHE, share))
        values = {signal: milli for signal, milli in pairs if milli is not None}
        found.append(service.step(Reading(at, values) if values else None, seconds * SECOND))
    return found


@settings(max_examples=examples(100, nightly=4_000), deadline=None)
@given(scalings, readings)
def test_never_below_the_floor_nor_above_the_ceiling(
    scaling: Scaling, steps: list[tuple[int, int | None, int | None]]
) -> None:
    for found in story(scaling, steps):
        assert scaling.floor <= found.replicas <= scaling.ceiling


@settings(max_examples=examples(100, nightly=4_000), deadline=None)
@given(scalings, readings)
def test_a_hold_never_lets_a_replica_go_and_every_alarm_is_a_hold(
    scaling: Scaling, steps: list[tuple[int, int | None, int | None]]
) -> None:
    before = scaling.floor
    for found in story(scaling, steps):
        assert not (found.hold and found.replicas < before)
        assert found.hold or not found.alarm
        before = found.replicas


@settings(max_examples=examples(50, nightly=2_000), deadline=None)
@given(scalings, readings)
def test_the_same_calls_get_the_same_answers(
    scaling: Scaling, steps: list[tuple[int, int | None, int | None]]
) -> None:
    assert story(scaling, steps) == story(scaling, steps)


@settings(max_examples=examples(50, nightly=2_000), deadline=None)
@given(scalings, readings)
def test_memory_stays_small(
    scaling: Scaling, steps: list[tuple[int, int | None, int | None]]
) -> None:
    service = Service(scaling, scaling.floor)
    for seconds, count, _ in steps * 3:
        at = service.now + seconds * SECOND
        service.step(requests(at, max(0, count or 0)), seconds * SECOND)
    memory: Memory = service.scaler.memory
    assert all(each.at > service.now - 300_000 for each in memory.samples)
    assert all(
        each.at > service.now - scaling.hold_down_ms or each.at == service.now
        for each in memory.wants
    )
