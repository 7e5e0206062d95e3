"""Schedules of the engine in virtual time, on cases worked out by hand and in general."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples

from benchmarks.common.jobs import Cluster, Job
from benchmarks.common.replay import Recipe, Schedule, replay
from benchmarks.completion.jct import TEXTBOOK
from ganglion.model.errors import InvariantBroken

STAYING = tuple(name for name, recipe in TEXTBOOK.items() if not recipe.preempts)


def cluster(*jobs: tuple[int, int, int], nodes: int = 1) -> Cluster:
    """Jobs as (submitted, duration, GPUs)."""
    return Cluster("c", nodes, tuple(Job(n, *each) for n, each in enumerate(jobs)))


def ends(schedule: Schedule) -> dict[int, int]:
    return {done.job.number: done.ended for done in schedule.done}


def test_strict_fifo_lets_nobody_overtake() -> None:
    jobs = cluster((0, 100, 4), (10, 100, 8), (20, 10, 4))
    assert ends(replay(jobs, TEXTBOOK["fifo"])) == {0: 100, 1: 200, 2: 210}


def test_fifo_with_overtaking_fills_what_is_free() -> None:
    jobs = cluster((0, 100, 4), (10, 100, 8), (20, 10, 4))
    assert ends(replay(jobs, TEXTBOOK["fifo-overtaking"])) == {0: 100, 1: 200, 2: 30}


def test_jobs_submitted_together_run_in_the_order_of_the_list() -> None:
    jobs = cluster(*((0, 10, 8) for _ in range(12)))
    assert ends(replay(jobs, TEXTBOOK["fifo"])) == {n: 10 * (n + 1) for n in range(12)}


def test_sjf_takes_the_shortest_that_waits_and_stops_nobody() -> None:
    jobs = cluster((0, 100, 8), (10, 50, 8), (20, 5, 8))
    assert ends(replay(jobs, TEXTBOOK["sjf"])) == {0: 100, 1: 155, 2: 105}


def test_srsf_stops_a_long_job_and_resumes_it_where_it_was() -> None:
    schedule = replay(cluster((0, 100, 8), (10, 5, 8)), TEXTBOOK["srsf"])
    assert ends(schedule) == {0: 105, 1: 15}
    assert schedule.preemptions == 1
    assert schedule.decisions == 3


def test_srsf_counts_gpus_and_srtf_does_not() -> None:
    # at 1, job 1 has 20 s x 8 GPUs; job 0 has 99 s x 1 GPU left
    jobs = cluster((0, 100, 1), (1, 20, 8))
    assert ends(replay(jobs, TEXTBOOK["srsf"])) == {0: 100, 1: 120}
    assert ends(replay(jobs, TEXTBOOK["srtf"])) == {0: 120, 1: 21}


def las(restart: int = 0) -> Recipe:
    """Two-queue LAS whose jobs go behind after 80 GPU-ms."""
    return replace(TEXTBOOK["las"], demotes_at=80, restart_ms=lambda _: restart)


def test_las_puts_a_job_behind_once_it_has_had_its_service() -> None:
    # job 0 has had 80 GPU-ms at 10; from then on job 1, which came later, goes first
    schedule = replay(cluster((0, 100, 8), (5, 4, 8)), las())
    assert ends(schedule) == {0: 104, 1: 14}
    assert schedule.preemptions == 1


def test_las_lets_jobs_that_are_behind_run_in_order_of_submission() -> None:
    schedule = replay(cluster((0, 30, 8), (0, 30, 8)), las())
    assert ends(schedule) == {0: 40, 1: 60}
    assert schedule.preemptions == 2


def test_a_restart_that_is_charged_makes_the_job_longer() -> None:
    assert ends(replay(cluster((0, 100, 8), (5, 4, 8)), las(restart=7))) == {0: 111, 1: 14}


def test_a_job_larger_than_a_node_waits_for_whole_nodes() -> None:
    jobs = cluster((0, 50, 1), (0, 10, 16), nodes=2)
    assert ends(replay(jobs, TEXTBOOK["fifo"])) == {0: 50, 1: 60}


def test_a_job_without_duration_ends_as_it_starts() -> None:
    assert ends(replay(cluster((0, 10, 8), (5, 0, 8)), TEXTBOOK["fifo"])) == {0: 10, 1: 10}


def test_best_fit_keeps_a_node_whole() -> None:
    # the 2-GPU job goes beside the 4-GPU one, so that eight stay free on the other node
    jobs = cluster((0, 90, 4), (1, 90, 2), (2, 10, 8), nodes=2)
    assert ends(replay(jobs, TEXTBOOK["fifo"]))[2] == 12


def test_a_job_that_can_never_fit_is_an_error_and_not_a_silent_loss() -> None:
    with pytest.raises(InvariantBroken, match="1 jobs wait for ever"):
        replay(cluster((0, 10, 16)), TEXTBOOK["fifo"])


def test_progress_ends_with_all_jobs() -> None:
    told: list[int] = []
    replay(cluster((0, 10, 8), (0, 10, 8)), TEXTBOOK["fifo"], told.append)
    assert told == [0, 1, 2]


JOBS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 20), st.sampled_from([1, 2, 3, 5, 8, 12, 16])),
    min_size=1,
    max_size=14,
).map(sorted)


def peak(schedule: Schedule) -> int:
    """Most GPUs in use at once by jobs that run without a break until they end."""
    change: Counter[int] = Counter()
    for done in schedule.done:
        change[done.ended - done.job.duration] += done.job.gpus
        change[done.ended] -= done.job.gpus
    used = most = 0
    for at in sorted(change):
        used += change[at]
        most = max(most, used)
    return most


@settings(max_examples=examples(20, nightly=800), deadline=None)
@given(JOBS, st.sampled_from(STAYING))
def test_no_gpu_is_used_twice(jobs: list[tuple[int, int, int]], policy: str) -> None:
    schedule = replay(cluster(*jobs, nodes=2), TEXTBOOK[policy])
    assert peak(schedule) <= 16
    assert len(ends(schedule)) == len(jobs)
    assert all(done.wait >= 0 for done in schedule.done)


@settings(max_examples=examples(20, nightly=800), deadline=None)
@given(JOBS)
def test_strict_fifo_starts_in_the_order_of_submission(jobs: list[tuple[int, int, int]]) -> None:
    schedule = replay(cluster(*jobs, nodes=2), TEXTBOOK["fifo"])
    done = sorted(schedule.done, key=lambda each: each.job.number)
    starts = [each.ended - each.job.duration for each in done]
    assert starts == sorted(starts)


@settings(max_examples=examples(20, nightly=800), deadline=None)
@given(JOBS, st.sampled_from(["srsf", "srtf", "las"]))
def test_a_preempted_job_does_all_its_work(jobs: list[tuple[int, int, int]], policy: str) -> None:
    schedule = replay(cluster(*jobs, nodes=2), TEXTBOOK[policy])
    assert len(ends(schedule)) == len(jobs)
    assert schedule.decisions == len(jobs) + schedule.preemptions
    assert all(done.wait >= 0 for done in schedule.done)


@settings(max_examples=examples(20), deadline=None)
@given(JOBS, st.sampled_from(sorted(TEXTBOOK)))
def test_the_same_jobs_make_the_same_schedule(
    jobs: list[tuple[int, int, int]], policy: str
) -> None:
    first, second = (replay(cluster(*jobs, nodes=2), TEXTBOOK[policy]) for _ in range(2))
    assert first.done == second.done


def test_multi_level_las_has_a_queue_for_every_four_times_the_service() -> None:
    hour = 3_600_000
    jobs = cluster((0, 100 * hour, 8), (2 * hour, 3 * hour, 8))
    assert ends(replay(jobs, TEXTBOOK["las"])) == {0: 101 * hour, 1: 103 * hour}
    # the older one comes back after 8 GPU-hours of the other, until it has had 32 itself
    assert ends(replay(jobs, TEXTBOOK["mlas"])) == {0: 103 * hour, 1: 7 * hour}
