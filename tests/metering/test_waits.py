"""Waits are counted in steps of bounded number; percentiles are at most a quarter too large."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ganglion.metering.waits import (
    SIZES,
    WAIT_BOUNDS_MS,
    percentile_ms,
    size_of,
    span_of,
    step_of,
)


def test_a_size_is_the_class_of_its_gpus() -> None:
    milli = (0, 1, 1000, 2000, 8000, 9000, 64_000, 65_000, 512_000, 513_000)
    classes = ["0", "1", "1", "2-8", "2-8", "9-64", "9-64", "65-512", "65-512", "513+"]
    assert [*map(size_of, milli)] == classes
    assert [*dict.fromkeys(classes)] == [*SIZES]


@given(
    st.lists(st.integers(1_000, WAIT_BOUNDS_MS[-1] - 1), min_size=1), st.sampled_from([500, 950])
)
def test_a_percentile_is_never_too_small_and_at_most_a_quarter_too_large(
    waits: list[int], permille: int
) -> None:
    exact = sorted(waits)[-(-len(waits) * permille // 1000) - 1]
    found = percentile_ms(Counter(map(step_of, waits)), permille)
    assert found is not None
    assert exact < found <= exact * 5 // 4 + 1


def test_nothing_has_no_percentile_and_what_is_beyond_the_last_step_is_its_beginning() -> None:
    assert percentile_ms({}, 500) is None
    assert percentile_ms({step_of(1 << 60): 3}, 500) == WAIT_BOUNDS_MS[-1]
    assert len(WAIT_BOUNDS_MS) < 80


def test_a_week_begins_on_monday() -> None:
    assert [span_of(day, weekly=True) for day in (3, 4, 10, 11)] == [-3, 4, 4, 11]  # 1970-01-05
    assert span_of(3, weekly=False) == 3
