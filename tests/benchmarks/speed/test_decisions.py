"""The decisions benchmark measures what it says, on small fleets."""

import pytest

from benchmarks.common.fleets import fleet, rack_gang, sliced_gang
from benchmarks.registry import BenchOptions, silent
from benchmarks.speed import bursts, decisions
from benchmarks.speed.decisions import BACKLOG, BENCH
from ganglion.engine.cycle import cycle
from ganglion.model.errors import InputError
from ganglion.model.events import GangSubmitted
from ganglion.model.fleet.levels import Level


def test_every_shape_is_measured_and_carries_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    smaller = {"NODES": (300,), "PODS": 200, "RACK_GANGS": 10, "SLICED": (500, 700), "BACKLOG": 500}
    for name, value in smaller.items():
        monkeypatch.setattr(decisions, name, value)
    report = BENCH.run(BenchOptions(workload="300"), silent)

    for name in ("placement", "cycle", "churn", "rack_gang", "sliced_gang", "backlog"):
        figures = report.data[name]["300"]
        assert figures["per_s"] > 0
        assert figures["mean_us"] > 0
        assert report.data["growth"][name] == 1
    assert report.data["placement"]["300"]["p50_us"] <= report.data["placement"]["300"]["p99_us"]


def test_a_rack_gang_lands_in_one_rack() -> None:
    state = fleet(64)

    plan = cycle(state, [GangSubmitted(1, rack_gang(1))], 1)

    assert plan.starts[0].placement.level is Level.RACK


def test_a_sliced_gang_has_every_hundred_pods_in_one_rack() -> None:
    state = fleet(128)

    plan = cycle(state, [GangSubmitted(1, sliced_gang(1, 500))], 1)

    racks = [
        state.fleet.nodes[pod.node].domains[Level.RACK] for pod in plan.starts[0].placement.pods
    ]
    assert [len(set(racks[at : at + 100])) for at in range(0, 500, 100)] == [1] * 5


def test_an_equal_backlog_is_looked_at_once() -> None:
    state = fleet(4)
    gangs = [GangSubmitted(1, rack_gang(number)) for number in range(BACKLOG // 10)]

    plan = cycle(state, gangs, 1)

    assert [wait.count for wait in plan.waits] == [BACKLOG // 10]
    assert cycle(state, [], 2).waits == []


@pytest.mark.parametrize("workload", ["0", "many", "-3", "999"])
def test_a_fleet_size_that_is_none_is_refused(workload: str) -> None:
    with pytest.raises(InputError, match="number of nodes"):
        BENCH.run(BenchOptions(workload=workload), silent)


def test_a_burst_is_measured_with_and_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bursts, "BURSTS", {64: 40})
    monkeypatch.setattr(decisions, "BURSTS", {64: 40})

    figures = BENCH.run(BenchOptions(workload="burst-64"), silent).data["burst"]["64"]

    assert set(figures) == {"bounded", "unbounded"}
    for each in figures.values():
        assert each["settled"]
        assert 0 < each["started"] <= each["gangs"] == 40
        assert 0 < each["p99_s"] <= each["max_s"] <= each["total_s"]
        assert each["victims"] > 0


def test_the_mixed_fleet_is_made_up_where_no_traces_are_given() -> None:
    figures = BENCH.run(BenchOptions(workload="mixed"), silent).data["mixed"]

    assert figures["fleet"] == "stand-in"
    assert 0 < figures["placed"] < figures["attempts"]
    assert figures["p50_us"] <= figures["p99_us"]
    assert figures["per_s"] == pytest.approx(1e6 / figures["mean_us"])
