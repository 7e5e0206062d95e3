"""Job lists are read, sized and made up as the protocol says."""

from pathlib import Path

import pytest

from benchmarks.common.jobs import cluster_of, nodes_at_load, read_arrivals, synthetic
from ganglion.model.errors import FieldError, FileError

HOUR = 3_600_000


def test_jobs_are_read_by_vc_in_order_of_submission(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("vc,submit_s,duration_s,num_gpus\nb,5,10,1\na,7,1.5,16\nb,2,10,12\n")
    assert read_arrivals(path) == {
        "a": [(7000, 1500, 16)],
        "b": [(2000, 10000, 12), (5000, 10000, 1)],
    }


def test_a_bad_value_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,duration_s,num_gpus\n1,2,3\n1,2,many\n")
    with pytest.raises(FieldError, match=r"jobs.csv:3:num_gpus"):
        read_arrivals(path)


def test_an_empty_table_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,duration_s,num_gpus\n")
    with pytest.raises(FileError, match="holds no jobs"):
        read_arrivals(path)


def test_jobs_that_never_fit_are_dropped_and_counted() -> None:
    cluster = cluster_of("c", [(0, 1, 16), (0, 1, 17), (5, 1, 0), (6, 1, 1)], 2)
    assert [(job.number, job.gpus) for job in cluster.jobs] == [(0, 16), (1, 1)]
    assert cluster.dropped == 2
    assert cluster.gpus == 16


def test_nodes_follow_from_the_mean_demand() -> None:
    # 72 GPUs on average over 10 hours: 72 / 8 / 0.9 = 10 nodes
    arrivals = [(0, 10 * HOUR, 64), (10 * HOUR, 10 * HOUR, 8)]
    assert nodes_at_load(arrivals, 0.9) == 10
    assert nodes_at_load(arrivals, 0.45) == 20


def test_a_cluster_has_at_least_two_nodes() -> None:
    assert nodes_at_load([(0, 1, 1), (HOUR, 1, 1)], 0.9) == 2


def test_jobs_that_arrive_together_are_sized_by_the_longest() -> None:
    assert nodes_at_load([(0, HOUR, 36), (0, HOUR, 36)], 0.9) == 10


def test_made_up_jobs_are_the_same_for_the_same_seed() -> None:
    assert synthetic(7) == synthetic(7)
    assert synthetic(7) != synthetic(8)
    assert len(synthetic(7, count=20)) == 20


def test_made_up_jobs_offer_about_the_load_they_were_made_for() -> None:
    arrivals = synthetic(1, count=20_000, nodes=8, load=0.9)
    assert 7 <= nodes_at_load(arrivals, 0.9) <= 9
