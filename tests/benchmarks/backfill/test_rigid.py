"""The textbook disciplines, on cases worked out by hand, in general, and on a real log."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.backfill.jobs import read_log
from benchmarks.backfill.rigid import starts_of
from benchmarks.backfill.rigid_jobs import First, Overtaking, Pool, Rigid
from benchmarks.common.waits import Waited, wait_figures

ONE = Pool(1, 8)
ONE_OF_16 = Pool(1, 16)


def rigid(*jobs: tuple[int, int, int, int]) -> list[Rigid]:
    """Jobs as (submitted, duration, estimate, size)."""
    return [Rigid(number, *each) for number, each in enumerate(jobs)]


def test_strict_order_lets_nobody_pass() -> None:
    jobs = rigid((0, 100, 100, 4), (1, 10, 10, 8), (2, 5, 5, 1))
    assert starts_of(jobs, ONE, Overtaking.NONE) == {0: 0, 1: 100, 2: 110}


def test_easy_lets_pass_what_ends_before_the_reservation() -> None:
    jobs = rigid((0, 100, 100, 4), (1, 10, 10, 8), (2, 50, 98, 4), (3, 50, 99, 4))
    assert starts_of(jobs, ONE, Overtaking.EASY) == {0: 0, 1: 100, 2: 2, 3: 110}


def test_easy_lets_pass_what_leaves_room_beside_the_reservation() -> None:
    jobs = rigid((0, 100, 100, 4), (1, 10, 10, 6), (2, 500, 500, 2), (3, 500, 500, 2))
    assert starts_of(jobs, ONE, Overtaking.EASY) == {0: 0, 1: 100, 2: 2, 3: 110}


def test_easy_may_delay_the_second_that_waits_and_conservative_does_not() -> None:
    jobs = rigid((0, 100, 100, 6), (1, 50, 50, 7), (2, 200, 200, 8), (3, 300, 300, 1))
    assert starts_of(jobs, ONE, Overtaking.EASY)[3] == 3
    assert starts_of(jobs, ONE, Overtaking.EASY)[2] == 303
    assert starts_of(jobs, ONE, Overtaking.CONSERVATIVE) == {0: 0, 1: 100, 2: 150, 3: 350}


def test_conservative_moves_everybody_up_when_a_job_ends_early() -> None:
    jobs = rigid((0, 10, 100, 8), (1, 10, 10, 8), (2, 10, 10, 8))
    assert starts_of(jobs, ONE, Overtaking.CONSERVATIVE) == {0: 0, 1: 10, 2: 20}


def test_shortest_first_orders_the_queue_and_the_reservation() -> None:
    jobs = rigid((0, 10, 10, 8), (1, 50, 50, 8), (2, 5, 5, 8))
    assert starts_of(jobs, ONE, Overtaking.EASY, First.SHORTEST) == {0: 0, 2: 10, 1: 15}


def test_a_job_of_several_nodes_needs_whole_ones() -> None:
    jobs = rigid((0, 30, 30, 1), (1, 10, 10, 16), (2, 5, 5, 8))
    assert starts_of(jobs, Pool(2, 8), Overtaking.EASY) == {0: 0, 1: 30, 2: 2}


JOBS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 20), st.integers(0, 20), st.integers(1, 16)),
    min_size=1,
    max_size=16,
).map(lambda jobs: rigid(*((at, run, run + more, size) for at, run, more, size in sorted(jobs))))


@given(JOBS, st.sampled_from(Overtaking), st.sampled_from(First))
def test_no_seat_is_taken_twice_and_everybody_runs(
    jobs: list[Rigid], overtaking: Overtaking, first: First
) -> None:
    starts = starts_of(jobs, Pool(2, 8), overtaking, first)
    change: Counter[int] = Counter()
    for job in jobs:
        assert starts[job.number] >= job.submitted
        change[starts[job.number]] += job.size
        change[starts[job.number] + job.duration] -= job.size
    used = 0
    for at in sorted(change):
        used += change[at]
        assert used <= 16


@given(JOBS)
def test_with_exact_estimates_conservative_lets_nobody_be_delayed_by_later_jobs(
    jobs: list[Rigid],
) -> None:
    exact = [Rigid(j.number, j.submitted, j.duration, j.duration, j.size) for j in jobs]
    everybody = starts_of(exact, ONE_OF_16, Overtaking.CONSERVATIVE)
    for count in range(1, len(exact) + 1):
        early = starts_of(exact[:count], ONE_OF_16, Overtaking.CONSERVATIVE)
        assert early[count - 1] == everybody[count - 1]


# means in s of an independent replay of the same log: wait, bounded slowdown, longest wait
KNOWN = {
    ("none", "oldest", False): (51_531, 1_062.3, 276_550),
    ("easy", "oldest", False): (17_488, 219.2, 307_361),
    ("easy", "oldest", True): (22_778, 80.8, 271_298),
    ("easy", "shortest", False): (11_495, 145.5, 429_792),
    ("easy", "shortest", True): (6_777, 8.1, 421_674),
    ("conservative", "oldest", True): (25_545, 77.9, 273_188),
}


@pytest.mark.parametrize(("overtaking", "first", "exact"), sorted(KNOWN))
def test_a_real_log_agrees_with_an_independent_replay(
    shared: Path, overtaking: str, first: str, exact: bool
) -> None:
    folder = shared / "swf"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    jobs = read_log(folder).rigid(exact=exact)
    starts = starts_of(jobs, Pool(1, 1280), Overtaking(overtaking), First(first))
    found = wait_figures([Waited(starts[j.number] - j.submitted, j.duration) for j in jobs])
    mean, slowdown, longest = KNOWN[overtaking, first, exact]
    assert found.mean_wait_s == pytest.approx(mean, rel=0.01)
    assert found.mean_bounded_slowdown == pytest.approx(slowdown, rel=0.02)
    assert found.max_wait_s == pytest.approx(longest, rel=0.01)
