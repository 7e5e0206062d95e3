"""`churn-openb`: the load is what it says, pods come and go, and policies differ in one thing."""

from pathlib import Path

import pytest

from benchmarks.packing import churn as churn_openb
from benchmarks.packing.churn import BENCH
from benchmarks.packing.churn_jobs import Churn, made_up, read_churn
from benchmarks.registry import BenchOptions, silent
from ganglion.worlds.simulated.job import gpu_milli


def demand(churn: Churn) -> float:
    work = sum((job.duration_ms or 0) * gpu_milli(job.gang) // 1000 for job in churn.jobs)
    return work / churn.span / churn.gpus


def test_pods_are_laid_over_until_they_ask_for_the_load() -> None:
    assert demand(made_up(0.85, 0)) == pytest.approx(0.85, rel=0.05)


def test_every_pod_comes_within_the_span() -> None:
    churn = made_up(0.95, 1)
    assert all(0 <= job.gang.submitted < churn.span for job in churn.jobs)
    assert len({job.gang.id for job in churn.jobs}) == len(churn.jobs)


def test_the_real_list_is_taken_with_its_own_times(shared: Path) -> None:
    folder = shared / "openb"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    churn = read_churn(folder, None, 0.85, 0)
    assert demand(churn) == pytest.approx(0.85, rel=0.05)
    assert len({node.devices[0].type for node in churn.nodes}) > 2


def test_scores_are_compared_on_the_same_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(churn_openb, "LOADS", (0.85,))
    policies = ("ganglion", "bestfit")
    data = BENCH.run(BenchOptions(seeds=1, policies=policies), silent).data["loads"]["0.85"]
    assert set(data) == set(policies)
    assert len({entry["pods"] for entry in data.values()}) == 1
    for entry in data.values():
        assert entry["moves"] == 0
        assert 0 <= entry["unallocated_pct_while_waiting"] <= 100
