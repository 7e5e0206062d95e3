"""`backfill-swf`: the engine's disciplines agree with the textbook, and the report adds up."""

import pytest

from ganglion.bench import backfill_swf
from ganglion.bench.backfill_jobs import made_up
from ganglion.bench.backfill_swf import BENCH
from ganglion.bench.registry import BenchOptions, silent
from ganglion.bench.rigid_jobs import Rigid


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
