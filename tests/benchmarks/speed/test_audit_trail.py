"""The benchmark of the audit trail signs what it times."""

import pytest

from benchmarks.registry import BenchOptions, load, silent
from benchmarks.speed import audit_trail, audited_cycles
from ganglion.audit.sealing import EVENTS


def test_chain_and_signatures_are_timed_and_every_decision_is_signed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audit_trail, "DECISIONS", 8 * EVENTS)
    monkeypatch.setattr(audited_cycles, "TURNS", 16)
    data = load("audit").run(BenchOptions(seeds=1, nodes=800), silent).data
    assert data["decisions"] == 2_048
    assert 0 < data["chain_us"] <= data["median_us"] <= data["worst_us"]
    assert data["seal_us"] > 0
    assert data["chain_us"] < data["append_us"]
    cycles = data["cycles"]
    assert cycles["engine_ms"] > 0
    assert cycles["audit_ms"] > 0
    assert cycles["ratio"] == cycles["audit_ms"] / cycles["engine_ms"]
