"""Statistics over jobs."""

from ganglion.model.events import Outcome
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.metrics.records import JobRecord, Statistics, quantile, spread


def record(duration_ms: int | None, first_start: int, ended: int) -> JobRecord:
    job = SimJob(Gang("a-1/0", "a-1", "q", submitted=1_000), duration_ms)
    return JobRecord(job, 8_000, first_start, ended, Outcome.SUCCEEDED, attempts=1)


def test_waiting_and_completion_times_count_from_submission() -> None:
    done = record(20_000, 31_000, 51_000)
    assert (done.wait_ms, done.jct_ms) == (30_000, 50_000)
    assert done.slowdown == 2.5


def test_slowdown_is_bounded_for_short_jobs_and_never_below_one() -> None:
    assert record(1_000, 16_000, 21_000).slowdown == 2.0  # 20 s over the floor of 10 s
    assert record(1_000, 1_000, 2_000).slowdown == 1.0


def test_a_job_without_an_end_has_no_slowdown() -> None:
    assert record(None, 1_000, 2_000).slowdown is None


def test_quantiles_are_nearest_rank() -> None:
    assert [quantile([1, 2, 3, 4], p) for p in (1, 25, 50, 51, 99, 100)] == [1, 1, 2, 3, 4, 4]
    assert spread([4, 1, 2, 3]) == Statistics(4, 2.5, 2, 4, 4, 4)
    assert spread([]) == Statistics()
