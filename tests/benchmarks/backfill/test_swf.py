"""`backfill-swf`: the engine's disciplines agree with the textbook, and the report adds up."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.backfill import swf as backfill_swf
from benchmarks.backfill.jobs import made_up
from benchmarks.backfill.rigid_jobs import Rigid
from benchmarks.backfill.swf import BENCH
from benchmarks.registry import BenchOptions, silent
from ganglion.model.errors import FieldError, NotFound


@pytest.fixture(autouse=True)
def few_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill_swf, "made_up", lambda seed: made_up(seed, 150, 64))


@pytest.mark.parametrize("policy", ["fcfs", "easy", "easy-exact"])
def test_the_engine_does_as_the_textbook_says(policy: str) -> None:
    data = BENCH.run(BenchOptions(seeds=2, policies=(policy,)), silent).data
    for log in data["logs"].values():
        entry = log["policies"][policy]
        assert entry["jobs"] == 150
        assert entry["replay"]["mean_wait_s"] > 0
        assert entry["mean_wait_over_replay"] == pytest.approx(1, rel=0.05)


def test_the_default_is_compared_with_easy() -> None:
    data = BENCH.run(BenchOptions(seeds=1, policies=("easy", "default")), silent).data
    ours, easy = (data["policies"][name]["mean_wait_s"] for name in ("default", "easy"))
    assert data["over_easy"]["default"]["mean_wait_s"] == pytest.approx(ours / easy)


def test_any_days_of_a_log_can_be_replayed(tmp_path: Path) -> None:
    lines = [f"{n} {n * 43_200} 0 600 4 -1 -1 4 900 -1 1 1 1 1 1 1 -1 -1" for n in range(8)]
    (tmp_path / "hpc2n_few.swf").write_text("\n".join(lines) + "\n")
    options = BenchOptions(traces=tmp_path, workload="hpc2n-130", policies=("easy",), days=(1, 2))
    data = BENCH.run(options, silent).data
    (log,) = data["logs"].values()
    assert log["policies"]["easy"]["jobs"] == 4
    assert (data["workload"], data["days"]) == ("hpc2n-130", (1, 2))
    with pytest.raises(NotFound, match=r"days 9\.\.9"):
        BENCH.run(replace(options, days=(9, 9)), silent)
    with pytest.raises(FieldError, match="no log 'sdsc'"):
        BENCH.run(replace(options, workload="sdsc"), silent)


def test_made_up_estimates_are_never_below_the_run_time() -> None:
    jobs: list[Rigid] = made_up(3, 100).rigid(exact=False)
    assert all(job.estimate >= job.duration for job in jobs)
    assert made_up(3, 100) == made_up(3, 100)


def test_the_default_waits_less_than_easy_on_average_and_no_longer_at_worst() -> None:
    options = BenchOptions(seeds=6, policies=("easy", "default"))
    logs = [log["policies"] for log in BENCH.run(options, silent).data["logs"].values()]

    def total(policy: str, figure: str) -> float:
        return sum(log[policy][figure] for log in logs)

    assert total("default", "mean_wait_s") < 0.95 * total("easy", "mean_wait_s")
    assert total("default", "max_wait_s") < 1.05 * total("easy", "max_wait_s")
