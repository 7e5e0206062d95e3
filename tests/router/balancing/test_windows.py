"""Quantiles of the last minute: never too low, at most 5 % too high, and forgetting."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.router.balancing.stats import Quantiles
from ganglion.router.balancing.windows import SLOT_MS, SLOTS, Window

WINDOW_MS = SLOT_MS * SLOTS


def nearest(values: list[int], percent: int) -> int:
    return sorted(values)[-(-percent * len(values) // 100) - 1]


@given(st.lists(st.integers(0, 3_600_000), min_size=1, max_size=200))
def test_quantiles_are_at_most_five_per_cent_or_one_ms_too_high(values: list[int]) -> None:
    window = Window()
    for value in values:
        window.add(1_000, value)
    found = window.quantiles(1_000)
    assert found.count == len(values)
    for percent, told in ((50, found.p50_ms), (90, found.p90_ms), (99, found.p99_ms)):
        exact = nearest(values, percent)
        assert exact <= told <= max(exact + 1, exact * 1.05)


@given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(1, 500)), max_size=60))
def test_only_the_last_minute_counts(steps: list[tuple[int, int]]) -> None:
    window, now, seen = Window(), 0, []
    for pause, value in steps:
        now += pause
        window.add(now, value)
        seen.append((now, value))
    oldest = now // SLOT_MS - SLOTS
    assert window.quantiles(now).count == sum(at // SLOT_MS > oldest for at, _ in seen)


def test_after_a_minute_without_requests_nothing_is_told() -> None:
    window = Window()
    window.add(0, 5)
    assert window.quantiles(WINDOW_MS - 1).count == 1
    assert window.quantiles(WINDOW_MS) == Quantiles()
    assert window.quantiles(10 * WINDOW_MS) == Quantiles()
