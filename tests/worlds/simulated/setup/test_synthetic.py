"""The drawn workload has the shape of the published logs."""

from collections import Counter
from statistics import mean, median

from ganglion.model.workload import Kind
from ganglion.worlds.simulated.job import SimJob, gpu_milli
from ganglion.worlds.simulated.setup.synthetic import TEAMS, synthetic_jobs

RUNS = (Kind.TRAIN, Kind.BATCH, Kind.SWEEP)


def drawn(count: int = 6_000, seed: int = 1) -> list[SimJob]:
    return synthetic_jobs(count, seed, gpus=512)


def test_equal_seeds_give_equal_workloads_and_others_do_not() -> None:
    assert drawn(200) == drawn(200)
    assert drawn(200) != drawn(200, seed=2)


def test_exactly_as_many_jobs_as_asked_for_in_order_of_submission() -> None:
    for count in (1, 2, 77, 500):
        jobs = drawn(count)
        assert len({job.gang.id for job in jobs}) == count
        submits = [job.gang.submitted for job in jobs]
        assert submits == sorted(submits)


def test_most_jobs_ask_for_one_gpu_and_few_for_more_than_eight() -> None:
    sizes = [gpu_milli(job.gang) // 1000 for job in drawn() if job.gang.kind is Kind.TRAIN]
    share = {size: count / len(sizes) for size, count in Counter(sizes).items()}
    assert 0.80 < share[1] < 0.86
    assert 0.08 < share[8] < 0.12
    assert 0 < sum(part for size, part in share.items() if size > 8) < 0.02


def test_run_times_have_a_median_near_10_000_s_and_a_heavy_tail() -> None:
    seconds = [(job.duration_ms or 0) / 1000 for job in drawn() if job.gang.kind in RUNS]
    assert 8_500 < median(seconds) < 11_500
    assert 16_000 < mean(seconds) < 26_000
    assert max(seconds) > 20 * median(seconds)


def test_demand_is_skewed_between_teams() -> None:
    jobs = Counter(job.gang.queue for job in drawn())
    assert set(jobs) == set(TEAMS)
    assert jobs[TEAMS[0]] > 3 * jobs[TEAMS[-1]]


def test_arrivals_follow_the_hours_of_the_day() -> None:
    hours = Counter(
        job.gang.submitted // 3_600_000 % 24 for job in synthetic_jobs(6_000, 1, gpus=64)
    )
    assert sum(hours[hour] for hour in range(10, 18)) > 2 * sum(hours[hour] for hour in range(8))


def test_the_load_does_not_depend_on_how_many_jobs_there_are() -> None:
    for count in (2_000, 8_000):
        jobs = synthetic_jobs(count, 3, gpus=128, load_pct=80)
        work = sum(gpu_milli(job.gang) * (job.duration_ms or 0) for job in jobs)
        load = work / (128_000 * max(job.gang.submitted for job in jobs))
        assert 0.7 < load < 0.9


def test_no_job_is_larger_than_half_of_the_cluster_or_one_node() -> None:
    assert max(gpu_milli(job.gang) for job in synthetic_jobs(3_000, 1, gpus=32)) == 16_000
    assert max(gpu_milli(job.gang) for job in synthetic_jobs(500, 1, gpus=2, per_node=2)) == 2_000
