"""The order among equals."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.gangs.rank import PARTS, aged_rank, doublings

LENGTHS = st.integers(0, 10**10)


@given(LENGTHS, LENGTHS, st.integers(0, 10**8))
def test_of_two_that_came_together_the_shorter_goes_first(one: int, two: int, ageing: int) -> None:
    short, long = sorted((one, two))
    assert aged_rank(short, 5, ageing) <= aged_rank(long, 5, ageing)


@given(LENGTHS, LENGTHS, st.integers(1, 10**8))
def test_who_came_long_enough_before_is_never_overtaken(one: int, two: int, ageing: int) -> None:
    short, long = sorted((one, two))
    head_start = ageing * (doublings(long) - doublings(short)) // PARTS + 1
    assert aged_rank(long, 0, ageing) <= aged_rank(short, head_start, ageing)


def test_one_doubling_is_worth_the_ageing_time() -> None:
    assert aged_rank(8_000_000, 0, 600) - aged_rank(4_000_000, 0, 600) in (600, 599, 601)


def test_without_ageing_only_the_length_counts() -> None:
    assert aged_rank(1000, 10**12, 0) < aged_rank(9000, 0, 0)
