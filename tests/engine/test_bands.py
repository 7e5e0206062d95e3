"""Start bands: how they are computed, and that they hold."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ganglion.engine.bands import LEAST_MS, Bands
from ganglion.engine.cycle import cycle
from ganglion.engine.load import GRAIN_MS
from ganglion.engine.queueing import Batch, wait_behind
from ganglion.engine.state import ClusterState
from ganglion.engine.tracking import MOST, ONE, Factor
from ganglion.model import events as ev
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from tests.engine.build import gang, node

HOUR = 3_600_000


def test_the_first_in_line_waits_for_the_first_to_end() -> None:
    assert wait_behind(0, [(50, 4), (20, 4)], [], 4, 8) == 20
    assert wait_behind(0, [(50, 4), (20, 4)], [], 8, 8) == 50
    assert wait_behind(4, [(50, 4)], [], 4, 8) == 0


def test_who_is_ahead_starts_before() -> None:
    ahead = [Batch(2, 4, 100)]
    assert wait_behind(0, [(50, 4), (20, 4)], ahead, 4, 8) == 120


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(1, 8)), max_size=8),
    st.lists(
        st.builds(Batch, st.integers(1, 9), st.integers(1, 8), st.integers(1, 99)), max_size=5
    ),
    st.integers(1, 8),
)
def test_one_more_ahead_never_shortens_the_wait(
    running: list[tuple[int, int]], ahead: list[Batch], size: int
) -> None:
    total = 8 + sum(each for _, each in running)
    short = wait_behind(8, running, ahead[:-1], size, total)
    assert wait_behind(8, running, ahead, size, total) >= short


@given(st.integers(0, 2**32 - 1), st.sampled_from((50, 90)))
@settings(max_examples=20)
def test_a_factor_settles_where_the_bound_holds_as_often_as_it_should(
    seed: int, percent: int
) -> None:
    rng, factor, held = Random(seed), Factor(percent, ONE), []
    for _ in range(4000):
        true = round(rng.paretovariate(1.5) * 1000)
        held.append(true <= factor.times(1000))
        factor.learn(held[-1])
    assert abs(100 * sum(held[1000:]) - percent * 3000) < 4 * 3000
    assert factor.millionths <= MOST


def _waiting() -> tuple[ClusterState, Bands]:
    state = ClusterState(Policy())
    bands = Bands(state, state.estimates)
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    gangs = [gang(name, gpus=8, expected_ms=HOUR, submitted=1) for name in ("a", "b", "c")]
    for start in cycle(state, [ev.GangSubmitted(1, each) for each in gangs], 1).starts:
        bands.started(state.record(start.gang.id), 1)
    return state, bands


def test_a_band_grows_with_what_is_ahead() -> None:
    state, bands = _waiting()
    second, third = (bands.band(state.record(f"{name}/0"), 1) for name in "bc")
    assert HOUR <= second.raw_ms <= HOUR + GRAIN_MS
    assert 2 * HOUR <= third.raw_ms <= 2 * HOUR + GRAIN_MS
    assert second.p50_ms < second.p90_ms < third.p90_ms


def test_bands_are_told_once_and_scored_at_the_start() -> None:
    state, bands = _waiting()
    waiting = [state.record(f"{name}/0") for name in "bc"]
    told = list(bands.tell(waiting, 1))
    assert [each.gang for each in told] == ["b/0", "c/0"]
    for event in told:
        bands.apply(event)
    assert list(bands.tell(waiting, 2)) == []
    bands.started(waiting[0], told[0].p90_ms)
    bands.started(waiting[1], told[1].p90_ms + 1)
    coverage = bands.coverage()
    assert (coverage.bands, coverage.held_p50, coverage.held_p90) == (2, 0, 1)


def test_a_bound_that_passed_teaches_before_the_gang_starts() -> None:
    state, bands = _waiting()
    (told,) = bands.tell([state.record("b/0")], 1)
    bands.apply(told)
    before = bands.band(state.record("c/0"), 1)
    bands.started(state.record("a/0"), told.p90_ms + 1)
    after = bands.band(state.record("c/0"), 1)
    assert after.p90_ms > before.p90_ms
    assert before.raw_ms >= LEAST_MS


def test_a_reservation_bounds_the_band() -> None:
    state = ClusterState(Policy())
    bands = Bands(state, state.estimates)
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    gangs = [gang(name, gpus=8, time_limit_ms=HOUR, submitted=1) for name in ("a", "b")]
    cycle(state, [ev.GangSubmitted(1, each) for each in gangs], 1)
    held = state.future.reservation("b/0")
    assert held
    assert bands.band(state.record("b/0"), 1, held).p90_ms == held.start_ms == HOUR + 1
