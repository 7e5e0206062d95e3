"""The report pools clusters by jobs and says what was not measured on real traces."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.common.jobs import Cluster, Job
from benchmarks.completion.jct import USUAL, report, run_all
from benchmarks.registry import silent

ONE = Cluster("one", 1, (Job(0, 0, 10_000, 8), Job(1, 0, 10_000, 8)))
TWO = Cluster("two", 1, (Job(0, 0, 40_000, 1),))


def test_clusters_are_pooled_by_their_jobs() -> None:
    data = report("b", Path("d"), run_all([ONE, TWO], ["fifo"], silent)).data
    assert data["clusters"]["one"]["policies"]["fifo"]["avg_jct_s"] == 15
    assert data["clusters"]["two"]["policies"]["fifo"]["avg_jct_s"] == 40
    assert data["policies"]["fifo"]["avg_jct_s"] == pytest.approx(70 / 3)
    assert data["avg_jct_s"] == {"fifo": pytest.approx(70 / 3)}
    assert data["policies"]["fifo"]["jobs"] == 3
    assert data["policies"]["fifo"]["makespan_s"] == 40


def test_the_gap_to_the_bound_is_a_ratio() -> None:
    # the bound of two jobs that each need all GPUs is what FIFO achieves
    entry = report("b", None, run_all([ONE], ["fifo"], silent)).data["policies"]["fifo"]
    assert entry["avg_jct_over_bound"] == 1
    assert entry["makespan_over_bound"] == 1
    assert entry["avg_bounded_slowdown"] == 1.5


def test_every_policy_has_every_figure_and_all_is_json() -> None:
    data = report("b", None, run_all([ONE, TWO], USUAL, silent)).data
    assert msgspec.json.decode(msgspec.json.encode(data)) == data
    assert set(data["policies"]) == set(USUAL)
    for part in (data, *data["clusters"].values()):
        for entry in part["policies"].values():
            assert entry["decisions_per_s"] > 0
            assert entry["avg_jct_s"] >= part["bounds"]["avg_jct_s"]
            assert {"p99_jct_s", "avg_wait_s", "p50_wait_s", "p99_wait_s"} <= set(entry)


def test_synthetic_jobs_are_labelled() -> None:
    made_up = report("b", None, run_all([TWO], ["fifo"], silent))
    real = report("b", Path("d"), run_all([TWO], ["fifo"], silent))
    assert made_up.data["synthetic"]
    assert any("Synthetic" in note for note in made_up.notes)
    assert not real.data["synthetic"]
    assert not any("Synthetic" in note for note in real.notes)


def test_tables_show_each_cluster_all_together_and_the_bound() -> None:
    tables = report("b", None, run_all([ONE, TWO], ["fifo", "sjf"], silent)).tables
    assert [table.title.split(":")[0] for table in tables] == ["one", "two", "all 2 together"]
    assert [row[0] for row in tables[0].rows] == ["fifo", "sjf", "lower bound"]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)


def test_progress_counts_jobs_over_all_runs() -> None:
    told: list[tuple[int, int, str]] = []
    run_all([ONE, TWO], ["fifo", "sjf"], lambda *step: told.append(step))
    assert told[-1] == (6, 6, "two sjf")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
