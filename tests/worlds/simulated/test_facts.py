"""Runs that begin with running jobs, and in which given facts happen."""

from msgspec.structs import replace
from tests.worlds.simulated.samples import S, job, scenario

from ganglion.model.events import (
    DeviceHealth,
    Event,
    GangUpdated,
    NodeAdded,
    NodeCordoned,
    NodeLost,
    Outcome,
    QueueSet,
)
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.queue import Queue
from ganglion.worlds.simulated.run import FinishedRun, simulate
from ganglion.worlds.simulated.scenario import SimulatedScenario, StandingJob
from ganglion.worlds.simulated.setup.cluster import build_nodes

NODE = "n0001"


def fates(run: FinishedRun) -> dict[str, tuple[int | None, int | None]]:
    """Gang -> first start and end, in s."""
    return {
        gang: (
            None if each.first_start is None else each.first_start // S,
            None if each.ended is None else each.ended // S,
        )
        for gang, each in run.collector.records.items()
    }


def running(name: str, *, gpus: int = 8, seconds: int = 100, node: str = NODE) -> StandingJob:
    pod = PodPlacement("main", 0, node, tuple(range(gpus)), 1000)
    return StandingJob(job(name, gpus=gpus, seconds=seconds), 1, Placement((pod,)))


def with_facts(given: SimulatedScenario, *facts: Event) -> SimulatedScenario:
    return replace(given, facts=facts, begin_ms=0, withdraws=False)


def test_what_runs_at_the_beginning_keeps_its_place_before_everything_that_waits() -> None:
    # the waiting job was submitted first
    waiting = job("older", at=-50, gpus=8)
    given = replace(scenario(waiting), begin_ms=0, standing=(running("old"),))
    run = simulate(given, check=True)
    assert fates(run) == {"old/0": (0, 100), "older/0": (100, 200)}
    assert run.collector.records["older/0"].wait_ms == 150 * S


def test_what_runs_on_a_node_that_is_not_there_waits() -> None:
    given = replace(scenario(), begin_ms=0, standing=(running("old", node="elsewhere"),))
    assert fates(simulate(given, check=True)) == {"old/0": (0, 100)}


def test_a_node_that_leaves_interrupts_and_one_that_joins_takes_work() -> None:
    second = build_nodes(2)[1]
    jobs = (job("a", gpus=8), job("b", at=10, gpus=8))
    given = with_facts(scenario(*jobs), NodeAdded(20 * S, second), NodeLost(60 * S, second.name))
    # b loses its 40 s on the second node and starts over on the first one
    run = simulate(given, check=True)
    assert fates(run) == {"a/0": (0, 100), "b/0": (20, 200)}
    assert run.collector.counts.lost_milli_ms == 8_000 * 40 * S


def test_a_gang_that_can_never_start_waits_for_a_node_that_joins_where_nothing_is_withdrawn() -> (
    None
):
    second = build_nodes(2)[1]
    jobs = (job("large", gpus=8, pods=2), job("small", seconds=10))
    run = simulate(with_facts(scenario(*jobs), NodeAdded(50 * S, second)), check=True)
    assert fates(run) == {"large/0": (50, 150), "small/0": (0, 10)}


def test_a_node_described_with_other_devices_loses_its_pods() -> None:
    half = build_nodes(1, 4)[0]
    given = with_facts(scenario(job("a", gpus=4)), NodeAdded(50 * S, half))
    run = simulate(given, check=True)
    assert fates(run) == {"a/0": (0, 150)}


def test_a_device_that_fails_ends_what_uses_it_until_it_is_well() -> None:
    sick = DeviceHealth(40 * S, NODE, 0, healthy=False)
    well = DeviceHealth(70 * S, NODE, 0, healthy=True)
    run = simulate(with_facts(scenario(job("a", gpus=8)), sick, well), check=True)
    assert fates(run) == {"a/0": (0, 170)}


def test_users_hold_and_release_jobs_cordons_come_and_go() -> None:
    jobs = (job("a", gpus=8), job("b", at=1, gpus=8), job("c", at=2, gpus=8))
    facts = (
        GangUpdated(5 * S, "b/0", held=True),
        NodeCordoned(90 * S, NODE, "repair"),
        NodeCordoned(110 * S, NODE, ""),
        GangUpdated(120 * S, "b/0", held=False),
        GangUpdated(130 * S, "a/0", held=True),  # over by then
    )
    run = simulate(with_facts(scenario(*jobs), *facts), check=True)
    assert fates(run) == {"a/0": (0, 100), "c/0": (110, 210), "b/0": (210, 310)}


def test_a_job_is_taken_back_whether_it_waits_or_runs() -> None:
    jobs = [job("a", gpus=8), job("b", at=1, gpus=8)]
    taken = [replace(each, cancelled_ms=40 * S) for each in jobs]
    run = simulate(with_facts(scenario(*taken)), check=True)
    assert fates(run) == {"a/0": (0, 40), "b/0": (None, 40)}
    outcomes = {each.outcome for each in run.collector.records.values()}
    assert outcomes == {Outcome.CANCELLED}


def test_a_fact_that_contradicts_the_run_is_left_out() -> None:
    # the queue has a gang by then, so that it cannot get queues under it
    below = QueueSet(10 * S, Queue("below", parent="q"))
    run = simulate(with_facts(scenario(job("a")), below), check=True)
    assert fates(run) == {"a/0": (0, 100)}
    assert "below" not in run.state.queues.by_name
