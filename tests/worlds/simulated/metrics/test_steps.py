"""Step functions in bounded memory."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.worlds.simulated.metrics.steps import Steps


def test_averages_per_bucket_are_those_of_the_step_function() -> None:
    steps = Steps(0)
    steps.set(500, 4)  # half of the first second
    steps.set(2_000, 0)
    assert steps.means(3_000) == [2.0, 4.0, 0.0]
    assert steps.mean(3_000) == 2.0


def test_the_last_bucket_may_be_cut() -> None:
    steps = Steps(10_000)
    steps.set(10_000, 6)
    assert steps.means(11_500) == [6.0, 6.0]
    assert steps.spans(11_500) == [1_000, 500]


def test_memory_is_bounded_and_the_integral_stays_exact() -> None:
    steps = Steps(0, buckets=8)
    for at in range(0, 100_000, 700):
        steps.set(at, at % 13)
    exact = sum((at % 13) * 700 for at in range(0, 100_000 - 700, 700)) + (99_400 % 13) * 600
    assert len(steps.means(100_000)) <= 8
    assert sum(steps.bins(100_000)) == steps.total == exact


@given(
    st.lists(st.tuples(st.integers(0, 50_000), st.integers(0, 9)), max_size=30),
    st.integers(1, 6),
)
def test_buckets_always_add_up_to_the_whole(changes: list[tuple[int, int]], halves: int) -> None:
    steps = Steps(0, buckets=2 * halves)
    at = expected = 0
    for gap, value in changes:
        expected += steps.value * gap
        at += gap
        steps.set(at, value)
    assert sum(steps.bins(at)) == steps.total == expected
