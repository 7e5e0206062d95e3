"""The benchmark of access decisions asks questions with both answers."""

from benchmarks.registry import BenchOptions, load, silent


def test_decisions_are_timed_and_some_of_them_are_refusals() -> None:
    data = load("access").run(BenchOptions(seeds=1), silent).data
    assert 0 < data["allowed"] < data["decisions"] == 20_000
    assert 0 < data["median_us"] <= data["worst_us"]
