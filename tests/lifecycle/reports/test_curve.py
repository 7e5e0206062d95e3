"""Curves are bounded, and say what was measured."""

from itertools import pairwise
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from ganglion.lifecycle.reports.curve import MOST_POINTS, Curve


@settings(max_examples=examples(10), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 600_000), st.floats(-10, 10)), min_size=1, max_size=900),
    st.booleans(),
)
def test_a_curve_is_bounded_ordered_and_within_what_was_added(
    steps: list[tuple[int, float]], mean: bool
) -> None:
    curve, at = Curve(mean=mean), 0
    for number, (after, value) in enumerate(steps):
        at += after
        curve.add(at, number, value)
        assert len(curve.points) <= MOST_POINTS
    times = [point[0] for point in curve.points]
    values = [value for _, value in steps]
    assert times == sorted(times)
    assert times[-1] == at
    assert all(min(values) - 1e-9 <= point[2] <= max(values) + 1e-9 for point in curve.points)
    if not mean:
        assert curve.points[-1][1:] == (len(steps) - 1, values[-1])
        assert all(steps[step][1] == value for _, step, value in curve.points)
    again = Curve.of(curve.saved())
    assert again.saved() == curve.saved()


def test_a_long_run_keeps_points_over_all_of_its_time() -> None:
    curve = Curve(mean=True)
    for second in range(0, 7 * 86_400, 10):
        curve.add(second * 1000, 0, float(second))
    times = [point[0] for point in curve.points]
    gaps = [after - before for before, after in pairwise(times)]
    assert len(times) > MOST_POINTS // 3
    assert max(gaps) < 7 * 86_400_000 // (MOST_POINTS // 4)


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_what_is_no_number_is_left_out(value: float) -> None:
    curve = Curve(mean=False)
    curve.add(1, 1, value)
    assert curve.points == []
