"""`preempt`: the made-up jobs are what the page says, and the report adds up."""

from pathlib import Path

import pytest

from benchmarks.preemption import preempt
from benchmarks.preemption.preempt import BENCH
from benchmarks.preemption.preempt_jobs import DAY, TRAINING_LOAD, URGENT, URGENT_LOAD, contended
from benchmarks.registry import BenchOptions, silent
from ganglion.model.errors import FieldError
from ganglion.worlds.simulated.job import gpu_milli


def test_a_seed_always_makes_the_same_jobs() -> None:
    assert contended(1, nodes=2, days=1) == contended(1, nodes=2, days=1)
    assert contended(1, nodes=2, days=1) != contended(2, nodes=2, days=1)


def test_jobs_offer_the_loads_that_are_reported() -> None:
    jobs = contended(0, nodes=16, days=3)
    room = 16 * 8 * 3 * DAY
    for urgent, load in ((True, URGENT_LOAD), (False, TRAINING_LOAD)):
        chosen = [job for job in jobs if (job.gang.priority == URGENT) is urgent]
        work = sum((job.duration_ms or 0) * gpu_milli(job.gang) // 1000 for job in chosen)
        assert work / room == pytest.approx(load, rel=0.05)


def test_only_training_saves_its_work() -> None:
    for job in contended(0, nodes=2, days=1):
        assert (job.gang.checkpoint is None) is (job.gang.priority == URGENT)


def test_every_order_of_victims_runs_the_same_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        preempt, "contended", lambda seed, workload: contended(seed, workload, nodes=4, days=1)
    )
    monkeypatch.setattr(preempt, "NODES", 4)
    made = BENCH.run(BenchOptions(seeds=2), silent).data
    assert set(made["policies"]) == {"price", "youngest", "lowest-newest"}
    assert len({entry["jobs"] for entry in made["policies"].values()}) == 1
    for entries in made["per_seed"].values():
        for entry in entries:
            parts = entry["redone_gpu_hours"] + entry["restart_gpu_hours"]
            assert entry["lost_gpu_hours"] == pytest.approx(parts)


def test_traces_are_refused_because_they_would_not_be_read() -> None:
    with pytest.raises(FieldError, match="makes its jobs up"):
        BENCH.run(BenchOptions(Path("traces")), silent)


def test_an_unknown_workload_is_answered_with_those_there_are() -> None:
    with pytest.raises(FieldError, match="no workload 'x'") as caught:
        BENCH.run(BenchOptions(workload="x"), silent)
    assert "mixed, equals" in caught.value.hint
