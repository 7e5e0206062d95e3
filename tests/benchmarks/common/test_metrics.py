"""Metrics on cases worked out by hand, and bounds against whatever the engine achieves."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from benchmarks.common.jobs import Cluster, Job
from benchmarks.common.metrics import (
    Bounds,
    Done,
    bounds,
    figures,
    fluid_srpt_total,
    makespan_bound,
    makespan_of,
    pooled_bounds,
)
from benchmarks.common.replay import replay
from benchmarks.completion.jct import TEXTBOOK

S = 1000


def job(number: int, submitted: int, duration: int, gpus: int = 1) -> Job:
    return Job(number, submitted * S, duration * S, gpus)


def test_figures_of_three_jobs_by_hand() -> None:
    # waits 0, 90 and 1; JCT 100, 100 and 3; slowdowns 1, 100/10 and 1 (3/10 floored)
    done = [
        Done(job(0, 0, 100), 100 * S),
        Done(job(1, 10, 10), 110 * S),
        Done(job(2, 20, 2), 23 * S),
    ]
    found = figures(done)
    assert found.jobs == 3
    assert found.avg_jct_s == pytest.approx(203 / 3)
    assert (found.p50_jct_s, found.p99_jct_s) == (100, 100)
    assert found.avg_wait_s == pytest.approx(91 / 3)
    assert (found.p50_wait_s, found.p99_wait_s, found.max_wait_s) == (1, 90, 90)
    assert found.avg_bounded_slowdown == pytest.approx((1 + 10 + 1) / 3)
    assert found.makespan_s == 110


def test_the_p99_of_a_hundred_jobs_is_the_second_largest() -> None:
    done = [Done(job(n, 0, 1), n * S) for n in range(1, 101)]
    assert figures(done).p99_jct_s == 99


def test_the_p99_of_few_jobs_is_the_largest() -> None:
    assert figures([Done(job(0, 0, 1), 5 * S), Done(job(1, 0, 1), 7 * S)]).p99_jct_s == 7


def test_the_makespan_begins_with_the_first_submission() -> None:
    assert makespan_of([Done(job(0, 50, 1), 60 * S), Done(job(1, 40, 1), 55 * S)]) == 20 * S


def test_fluid_srpt_serves_the_shortest_first() -> None:
    # one GPU, all at once: ends at 1, 3 and 6
    jobs = [job(0, 0, 3), job(1, 0, 1), job(2, 0, 2)]
    assert fluid_srpt_total(jobs, 1) == 10 * S


def test_fluid_srpt_stops_a_long_job_for_a_short_one() -> None:
    # 10 s of work at 0; 2 s of work at 4 runs 4..6; the long one ends at 12
    assert fluid_srpt_total([job(0, 0, 10), job(1, 4, 2)], 1) == (12 + 2) * S


def test_fluid_srpt_does_not_stop_a_job_that_has_less_left() -> None:
    # at 9 the first has 1 s left, the newcomer 2 s: ends at 10 and 12
    assert fluid_srpt_total([job(0, 0, 10), job(1, 9, 2)], 1) == (10 + 3) * S


def test_fluid_srpt_idles_between_jobs() -> None:
    assert fluid_srpt_total([job(0, 0, 1), job(1, 100, 1)], 1) == 2 * S


def test_fluid_srpt_uses_all_gpus_for_one_job() -> None:
    # 8 GPUs, one job of 4 GPUs x 10 s: 5 s; in units of 1/8 ms
    assert fluid_srpt_total([job(0, 0, 10, 4)], 8) == 5 * S * 8


def test_a_job_without_work_costs_the_fluid_server_nothing() -> None:
    assert fluid_srpt_total([job(0, 0, 10), job(1, 3, 0)], 1) == 10 * S


def test_the_makespan_bound_takes_the_worst_moment() -> None:
    # 16 GPU-s arrive at 10 on 2 GPUs: not over before 18
    assert makespan_bound([job(0, 0, 1), job(1, 10, 4, 2), job(2, 10, 4, 2)], 2) == 18 * S


def test_the_makespan_bound_takes_the_longest_job() -> None:
    assert makespan_bound([job(0, 5, 100), job(1, 0, 1)], 64) == 105 * S


def test_the_bound_on_the_jct_is_the_larger_one() -> None:
    wide = bounds([job(0, 0, 10), job(1, 0, 20)], 64)
    assert wide.avg_jct_s == wide.mean_duration_s == 15
    narrow = bounds([job(0, 0, 10), job(1, 0, 10)], 1)
    assert narrow.avg_jct_s == narrow.fluid_srpt_s == 15


def test_bounds_of_clusters_are_pooled_by_their_jobs() -> None:
    pooled = pooled_bounds([(Bounds(1, 2, 2, 10), 1), (Bounds(5, 1, 5, 7), 3)])
    assert pooled == Bounds(4, 1.25, 4.25, 10)


JOBS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 20), st.sampled_from([1, 2, 3, 4, 8, 12, 16])),
    min_size=1,
    max_size=12,
)


@settings(max_examples=examples(20, nightly=800), deadline=None)
@given(JOBS, st.sampled_from(sorted(TEXTBOOK)))
def test_no_schedule_beats_the_bounds(listed: list[tuple[int, int, int]], policy: str) -> None:
    jobs = tuple(job(n, *each) for n, each in enumerate(sorted(listed)))
    cluster = Cluster("c", 2, jobs)
    limits = bounds(jobs, cluster.gpus)
    found = figures(replay(cluster, TEXTBOOK[policy]).done)
    assert found.avg_jct_s >= limits.avg_jct_s or math.isclose(
        found.avg_jct_s, limits.avg_jct_s, rel_tol=1e-9, abs_tol=1e-9
    )
    assert found.makespan_s >= limits.makespan_s
