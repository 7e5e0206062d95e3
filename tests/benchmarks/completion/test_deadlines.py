"""The benchmark of deadlines on small clusters."""

from pathlib import Path

import pytest

from benchmarks.backfill.rigid import starts_of
from benchmarks.backfill.rigid_jobs import First, Overtaking, Pool, Rigid
from benchmarks.completion.deadlines import BENCH, Due, made_up, read_due
from benchmarks.registry import BenchOptions, load, silent
from ganglion.model.errors import FieldError

HEAD = (
    "job_id,submit_min,duration_min,num_gpus,vc,model,iterations,expect_time_list,"
    "expect_value_list,best_effort,job_type\n"
)


def test_it_is_listed() -> None:
    assert load("deadlines") is BENCH


def test_earliest_deadline_goes_first_among_what_fits() -> None:
    jobs = [Rigid(0, 0, 10, 10, 8, 100), Rigid(1, 1, 5, 5, 8, 90), Rigid(2, 2, 5, 5, 8, 30)]
    starts = starts_of(jobs, Pool(1, 8), Overtaking.ANY, First.DUE)
    assert starts == {0: 0, 2: 10, 1: 15}


def test_a_table_gives_deadlines_to_strict_and_soft_jobs_only(tmp_path: Path) -> None:
    table = tmp_path / "MIX2.csv"
    table.write_text(
        HEAD
        + "0,5,10,1,b,m,1,30-60,10-5,0,soft\n"
        + "1,2,10,2,a,m,1,99,10,1,best\n"
        + "2,3,10,0,a,m,1,99,10,0,strict\n"
    )
    minute = 60_000
    assert read_due(table) == {
        "a": [Due(2 * minute, 10 * minute, 2, "m")],
        "b": [Due(5 * minute, 10 * minute, 1, "m", 35 * minute)],
    }
    table.write_text(HEAD + "0,5,ten,1,b,m,1,30,10,0,soft\n")
    with pytest.raises(FieldError, match=r"MIX2\.csv:2"):
        read_due(table)


def test_all_policies_use_the_same_gpu_hours_and_count_the_same_deadlines() -> None:
    report = BENCH.run(BenchOptions(), silent)
    found = report.data["clusters"]["made-up"]
    assert set(found) == set(BENCH.policies)
    assert len({each["gpu_hours"] for each in found.values()}) == 1
    due = sum(1 for job in made_up(0) if job.due)
    assert {each["jobs_due"] for each in found.values()} == {due}
    assert found["default"]["missed"] <= found["without"]["missed"]
