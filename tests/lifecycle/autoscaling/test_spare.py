"""What is kept beside the load follows the requests that were late."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.autoscaling.memory import Promise
from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.autoscaling.spare import FIRST, LEAST, MOST, learn, spare

MINUTE = 60_000


def taught(*counts: tuple[int, int], minutes: int = 1) -> Promise:
    """After readings of (arrived, late), of which 5 of 1000 may be late."""
    promise = Promise(FIRST)
    for n, (arrived, late) in enumerate(counts, 1):
        learn(promise, Reading(n * minutes * MINUTE, {}, arrived, late), budget_milli=5)
    return promise


def test_four_times_the_load_keeps_twice_as_much() -> None:
    assert spare(4_000, 1_000, 1_000_000) == 3_500
    assert spare(16_000, 1_000, 1_000_000) == 5_500


def test_late_requests_ask_for_more_and_none_for_less() -> None:
    assert taught((0, 0), (1_000, 50)).spare_micro > FIRST
    assert taught((0, 0), (1_000, 0)).spare_micro < FIRST


def test_exactly_as_many_as_may_be_late_change_nothing() -> None:
    assert taught((0, 0), (1_000, 5), (3_000, 15)).spare_micro == FIRST


def test_the_first_reading_teaches_nothing_as_nobody_knows_when_its_requests_came() -> None:
    assert taught((1_000_000, 900_000)).spare_micro == FIRST


def test_a_counter_that_began_anew_counts_from_its_beginning() -> None:
    promise = taught((5_000, 25), (1_000, 5))
    assert (promise.arrived, promise.late, promise.spare_micro) == (1_000, 5, FIRST)


def test_readings_without_counters_teach_nothing() -> None:
    promise = Promise(FIRST)
    learn(promise, Reading(MINUTE, {}), 5)
    learn(promise, Reading(2 * MINUTE, {}, arrived=100), 5)
    assert promise == Promise(FIRST)


def day_then_trouble(requests: int) -> Promise:
    """A day of 10-minute readings that keep the budget, then 12 in which 1 % more are late."""
    late, counts = 0, [(0, 0)]
    for n in range(1, 157):
        late += requests * (5 if n < 145 else 15) // 1_000
        counts.append((n * requests, late))
    return taught(*counts, minutes=10)


def test_a_busy_service_learns_no_faster_from_the_same_share_than_a_calm_one() -> None:
    calm, busy = day_then_trouble(1_000), day_then_trouble(100_000)
    assert FIRST < calm.spare_micro < MOST
    assert abs(calm.spare_micro - busy.spare_micro) < 1_000


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), max_size=50))
def test_it_stays_between_least_and_most_whatever_is_told(
    counts: list[tuple[int, int]],
) -> None:
    assert LEAST <= taught(*counts).spare_micro <= MOST
