"""The benchmark of budgets decides alike with them and without."""

from benchmarks.registry import BenchOptions, load, silent


def test_it_compares_as_many_runs_with_budgets_as_without() -> None:
    report = load("budgets").run(BenchOptions(nodes=300, seeds=1), silent)
    assert len(report.data["with_s"]) == len(report.data["without_s"]) == 1
    assert report.data["ratio"] > 0
