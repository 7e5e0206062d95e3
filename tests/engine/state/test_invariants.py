"""An owner of a part of the state whose invariant does not hold is caught by `validate`."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import InvariantBroken
from ganglion.model.events import GangStarted
from ganglion.model.fleet.levels import Level
from ganglion.model.kinds import KindRules, Weighted
from ganglion.model.plan import Phase
from ganglion.model.policy import Policy
from ganglion.model.resources import Usage
from ganglion.model.workload import Kind, Topology
from tests.engine.build import gang, node, state_of, submit

LATER = 700_000


@pytest.fixture
def state() -> ClusterState:
    """A gang that runs, one that leaves and is promised away, one that sleeps and one held back."""
    made = state_of(node("a", rack="r1"), node("b", rack="r2"), node("c", rack="r3"))
    submit(made, gang("chat", gpus=8, kind=Kind.SERVICE, priority=70, recall_ms=60_000))
    submit(made, gang("runs", pods=2, gpus=4, priority=50), gang("low", gpus=8, priority=10))
    starting = [each for each in made.gangs.records.values() if each.phase is Phase.STARTING]
    cycle(made, [GangStarted(2, each.gang.id, each.attempt) for each in starting], 2)
    submit(made, gang("high", gpus=8, priority=90), now=LATER)
    submit(made, gang("waits", gpus=8, priority=5), gang("held", held=True), now=LATER)
    return made


def test_a_sound_state_passes(state: ClusterState) -> None:
    phases = {name.split("/")[0]: each.phase for name, each in state.gangs.records.items()}
    assert phases == {
        "chat": Phase.PENDING,
        "runs": Phase.RUNNING,
        "low": Phase.STOPPING,
        "high": Phase.RESERVED,
        "waits": Phase.PENDING,
        "held": Phase.PENDING,
    }
    assert state.timeline.kept.get("chat/0")
    state.validate()


def rename(state: ClusterState) -> None:
    state.gangs.records["other/0"] = state.gangs.records.pop("held/0")


def out_of_lane(state: ClusterState) -> None:
    state.gangs.lanes.discard("waits/0")


def miscount_siblings(state: ClusterState) -> None:
    state.gangs.floors.running["runs"] += 1


def settled_unlisted(state: ClusterState) -> None:
    del state.holdings._settled["runs/0"]


def promise_unlisted(state: ClusterState) -> None:
    del state.holdings.promised["high/0"]


def leaving_unlisted(state: ClusterState) -> None:
    state.holdings.leaving.clear()


def device_used_twice(state: ClusterState) -> None:
    low, runs = state.gangs.records["low/0"], state.gangs.records["runs/0"]
    assert runs.placement
    low.leaving = (*low.leaving, *runs.placement.pods)


def pods_miscounted(state: ClusterState) -> None:
    record = state.gangs.records["runs/0"]
    assert record.placement
    state.holdings.occupants.part(record, record.placement.pods[:1])


def part_of_a_gang(state: ClusterState) -> None:
    record = state.gangs.records["runs/0"]
    assert record.placement
    record.placement = replace(record.placement, pods=record.placement.pods[:1])


def torn_apart(state: ClusterState) -> None:
    record = state.gangs.records["runs/0"]
    assert record.placement
    first, second = record.placement.pods
    away = replace(second, node="a" if first.node != "a" else "b")
    record.placement = replace(record.placement, pods=(first, away))
    record.gang = replace(record.gang, topology=Topology(required=Level.RACK))


def uncounted_use(state: ClusterState) -> None:
    state.queues.shares.charge("team", "H100", Usage(1_000, 0, 0), True, 1, "")


def missing_use(state: ClusterState) -> None:
    state.gangs.records["runs/0"].charged = ()


def miscounted_nodes(state: ClusterState) -> None:
    tree = state.fleet.tree
    tree.counts[tree.conditions[0]] += 1


def miscounted_devices(state: ClusterState) -> None:
    state.fleet.table.supply = {"H100": 1}


def kept_for_one_that_runs(state: ClusterState) -> None:
    kept = state.timeline.kept.get("chat/0")
    assert kept
    state.timeline.kept.drop("chat/0")
    state.timeline.kept.put(state.gangs.records["runs/0"], kept.placement)


def work_of_no_gang(state: ClusterState) -> None:
    record = state.gangs.records["waits/0"]
    state.forecast.backlog.waits(GangRecord(gang("unknown"), record.shapes, None))


def found_out_ahead(state: ClusterState) -> None:
    state.agenda.unhelped["runs"] = state.progress.freed + 1


def clock_behind(state: ClusterState) -> None:
    state.progress.clock = 1


def unknown_score(state: ClusterState) -> None:
    rules = KindRules(scores=(Weighted("no such score"),))
    state.config.policy = Policy(kinds={Kind.TRAIN: rules})


def open_journal(state: ClusterState) -> None:
    state.journal.open()


BROKEN: dict[Callable[[ClusterState], None], str] = {
    rename: "is listed as",
    out_of_lane: "in a lane False",
    miscount_siblings: "miscounted",
    settled_unlisted: "settled gangs are not listed",
    promise_unlisted: "promises are not listed",
    leaving_unlisted: "what leaves is stale",
    device_used_twice: "devices are in use twice",
    pods_miscounted: "miscounted",
    part_of_a_gang: "holds 1 of 2..2 pods",
    torn_apart: "crosses rack",
    uncounted_use: "miscounts its usage",
    missing_use: "miscounts its usage",
    miscounted_nodes: "miscounts its conditions",
    miscounted_devices: "miscounts the devices",
    kept_for_one_that_runs: "a kept place and more",
    work_of_no_gang: "work of unknown gangs",
    found_out_ahead: "after the last change",
    clock_behind: "after the clock",
    unknown_score: "no such score",
    open_journal: "was not closed",
}


@pytest.mark.parametrize("harm", BROKEN, ids=lambda each: each.__name__)
def test_a_broken_invariant_is_caught(
    state: ClusterState, harm: Callable[[ClusterState], None]
) -> None:
    harm(state)
    with pytest.raises(InvariantBroken, match=BROKEN[harm]):
        state.validate()
