"""What was wanted before fades, where a service has a promise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.autoscaling.memory import FadingFloor
from ganglion.lifecycle.autoscaling.slow import faded

SECOND = 1_000
wants = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 200)), min_size=1, max_size=40)


def kept_of(steps: list[tuple[int, int]], time_ms: int) -> list[tuple[int, int]]:
    """(wanted, kept) of every step of (seconds since the last one, wanted)."""
    kept, now, found = FadingFloor(), 0, []
    for seconds, wanted in steps:
        now += seconds * SECOND
        found.append((wanted, faded(kept, now, wanted, 0, time_ms)))
    return found


@given(wants, st.integers(0, 600_000))
def test_never_fewer_than_wanted_now_nor_more_than_was_ever_wanted(
    steps: list[tuple[int, int]], time_ms: int
) -> None:
    most = 0
    for wanted, kept in kept_of(steps, time_ms):
        most = max(most, wanted)
        assert wanted <= kept <= most


@given(st.integers(0, 100), st.integers(0, 100), st.integers(1, 600_000))
def test_what_is_wanted_no_more_goes_step_by_step_until_nothing_of_it_is_left(
    wanted: int, excess: int, time_ms: int
) -> None:
    steps = [(0, wanted + excess)] + [(time_ms // SECOND + 1, wanted)] * 30
    kept = [each for _, each in kept_of(steps, time_ms)]
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] == wanted


@pytest.mark.parametrize("every", [1, 5, 15, 30])
def test_about_a_third_of_the_excess_is_left_after_its_time_however_often_one_asks(
    every: int,
) -> None:
    steps = [(0, 1_100)] + [(every, 100)] * (180 // every)
    _, left = kept_of(steps, 180 * SECOND)[-1]
    assert 460 <= left <= 500


def test_a_service_of_which_nothing_is_remembered_keeps_all_its_replicas_at_first() -> None:
    assert faded(FadingFloor(), 5 * SECOND, 2, 9, 60 * SECOND) == 9


def test_without_a_time_nothing_is_kept() -> None:
    assert kept_of([(0, 9), (0, 3), (15, 2)], 0) == [(9, 9), (3, 3), (2, 2)]
