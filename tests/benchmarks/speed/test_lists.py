"""The benchmark of lists measures what happened on a real server."""

from benchmarks.registry import BenchOptions, load, silent
from benchmarks.speed.lists import LISTS


def test_every_job_is_submitted_listed_and_cancelled() -> None:
    report = load("lists").run(BenchOptions(gangs=40), silent)
    data = report.data
    submits = data["submits"]
    assert (data["jobs"], submits["one by one"]["jobs"]) == (40, 40)
    late = submits["one by one while all wait"]
    assert late["jobs"] == 40
    assert min(late["per_s"], late["client_cpu_ms"], late["server_cpu_ms"]) > 0
    commands = data["commands"]
    assert commands.keys() == {" ".join(words) for words in (*LISTS, ("cancel", "--all", "--yes"))}
    assert commands["ps"]["lines"] == 42  # headings, and the one that holds the GPUs
    assert commands["queue"]["lines"] == 41
    assert commands["ps --state running"]["lines"] == 2
    assert commands["cancel --all --yes"]["lines"] == 1
    assert data["left"] <= 1  # that one may still be saving
    for figures in commands.values():
        assert 0 < figures["first_s"] <= figures["wall_s"]
        assert figures["client_cpu_s"] > 0
