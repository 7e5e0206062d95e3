"""The benchmark of the audit trail signs what it times."""

from benchmarks.registry import BenchOptions, load, silent


def test_chain_and_signatures_are_timed_and_every_decision_is_signed() -> None:
    data = load("audit").run(BenchOptions(seeds=1), silent).data
    assert data["decisions"] == 20_480
    assert 0 < data["chain_us"] <= data["median_us"] <= data["worst_us"]
    assert data["seal_us"] > 0
    assert data["chain_us"] < data["append_us"]
    cycles = data["cycles"]
    assert 0 < cycles["engine_ms"] < cycles["audit_ms"]
    assert cycles["ratio"] == cycles["audit_ms"] / cycles["engine_ms"]
