"""What is counted adds up over time."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.router.balancing.counters import BUCKETS_S, DurationCounter, LevelCounter


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(-3, 3)), max_size=30))
def test_a_levels_integral_is_what_was_there_times_how_long(steps: list[tuple[int, int]]) -> None:
    level, now, value, total = LevelCounter(), 0, 0, 0
    for pause, change in steps:
        now, total = now + pause, total + value * pause
        level.add(now, change)
        value += change
    assert (level.value, level.total_ms(now)) == (value, total)
    assert level.total_ms(now + 10) == total + 10 * value


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_every_time_is_in_one_bucket_whose_end_it_does_not_pass(values: list[float]) -> None:
    times = DurationCounter()
    for value in values:
        times.add(0, value)
    assert sum(times.buckets) == len(values)
    for place, end in enumerate(BUCKETS_S):
        assert sum(times.buckets[: place + 1]) == sum(value / 1000 <= end for value in values)
