import pytest

from benchmarks.failures import fleet
from benchmarks.failures.lost_time import BENCH, POLICIES, WORKLOADS, Measures, once
from benchmarks.failures.warden import BenchWarden
from benchmarks.registry import BenchOptions, silent
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import FieldError
from ganglion.model.events import BookingSet, NodeCordoned
from ganglion.model.policy import Failures
from ganglion.worlds.simulated.faults.rates import Dice

HOUR, DAY = fleet.HOUR, fleet.DAY


def test_the_rates_are_the_published_ones() -> None:
    faults, names = fleet.faults(1), [f"n{i}" for i in range(4000)]
    dice = Dice(faults)
    factor = [fleet.LEMON_FACTOR if dice.is_lemon(name) else 1 for name in names]
    per_day = (
        sum(
            DAY * times / faults.node_mtbf_ms + 8 * DAY * times / faults.device_mtbf_ms
            for times in factor
        )
        + len(names) * DAY / faults.crash_mtbf_ms
    )
    published = len(names) * fleet.INTERRUPTIONS / (fleet.DAYS * fleet.NODES)
    assert per_day == pytest.approx(published, rel=0.05)


def test_maintenance_comes_as_often_as_published() -> None:
    names = [f"n{i}" for i in range(fleet.NODES)]
    found = fleet.maintenance(1, names, fleet.DAYS)
    assert len(found) == fleet.PLANNED
    assert found == sorted(found) == fleet.maintenance(1, names, fleet.DAYS)


def test_one_gang_leaves_a_few_nodes_and_mixed_gangs_fill_the_fleet() -> None:
    (alone,) = fleet.one(0, 256, 60, 100)
    assert alone.gang.pod_sets[0].count == 252
    assert alone.gang.replace
    jobs = fleet.mixed(1, 64, 60, 50)
    work = sum((job.duration_ms or 0) * job.gang.pod_sets[0].count for job in jobs)
    assert 64 * 60 * DAY <= work < 1.5 * 64 * 60 * DAY
    assert 0.3 < sum(job.gang.replace for job in jobs) / len(jobs) < 0.7
    assert not any(job.gang.replace for job in fleet.mixed(1, 64, 60, 0))


def test_a_warden_tells_of_maintenance_as_early_as_it_is_known_and_counts_what_it_keeps() -> None:
    warden, state = BenchWarden(Failures(), [(5 * HOUR, "n1")], 2 * HOUR), ClusterState()
    assert warden.next_due(0) == 3 * HOUR
    assert warden.tend(state, 3 * HOUR - 1) == []
    (event,) = warden.tend(state, 3 * HOUR)
    assert isinstance(event, BookingSet)
    assert (event.booking.begin, event.booking.clears) == (5 * HOUR, True)
    assert warden.next_due(3 * HOUR) is None
    warden.note(NodeCordoned(10, "n1", "quarantined"))
    warden.note(NodeCordoned(30, "n1", ""))
    warden.note(NodeCordoned(40, "n2", "spare"))
    assert warden.kept_back_ms(50) == 30


def test_what_is_done_about_failures_loses_at_least_a_third_less() -> None:
    before = once(1, "one", 64, Measures())
    after = once(1, "one", 64, POLICIES["all"])
    assert before["lost_gpu_hours"]
    assert after["lost_gpu_hours"] + after["kept_back_gpu_hours"] < 0.7 * before["lost_gpu_hours"]
    assert after["goodput"] > before["goodput"]
    assert once(1, "one", 64, Measures()) == before


def test_the_report_compares_with_the_reference() -> None:
    options = BenchOptions(seeds=1, nodes=16, policies=("restart-all", "all"))
    report = BENCH.run(options, silent)
    found = report.data["policies"]
    assert found["restart-all"]["less_pct"] == 0
    assert [*found] == ["restart-all", "all"]
    assert report.data["workload"] == next(iter(WORKLOADS))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (BenchOptions(workload="x"), "no workload"),
        (BenchOptions(nodes=2), "too few"),
        (BenchOptions(policies=("x",)), "no policy"),
    ],
)
def test_what_cannot_be_run_is_refused(options: BenchOptions, said: str) -> None:
    with pytest.raises(FieldError, match=said):
        BENCH.run(options, silent)
