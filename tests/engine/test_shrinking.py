"""Nodes come back smaller, larger, otherwise or in another rack: who holds what is gone stops."""

from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import SETTLED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.fleet_events import lacks
from ganglion.model import events as ev
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Phase, Stop
from ganglion.model.policy import Entitlement, Policy
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Topology
from tests.effort import examples, sample
from tests.engine import random_fleets as make
from tests.engine.build import end, gang, node, state_of, submit
from tests.engine.test_machine import Engine, random_step

seeds = st.integers(0, 2**32 - 1).map(Random)
T4 = PodRequest(gpu=GpuRequest(1, types=("T4",)))


def comes_back(state: ClusterState, other: Node, now: int = 10) -> list[Stop]:
    plan = cycle(state, [ev.NodeAdded(now, other)], now)
    assert not plan.rejected
    state.validate()
    return plan.stops


def requeued(state: ClusterState, stops: list[Stop], now: int) -> None:
    ends = [
        ev.GangEnded(now, each.gang, each.attempt, ev.Outcome.PREEMPTED, requeue=True)
        for each in stops
    ]
    cycle(state, ends, now)
    state.validate()


def running(name: str, *gangs: int, gpus: int = 4) -> ClusterState:
    state = state_of(node(name, gpus))
    submit(state, *(gang(f"w{i}", gpus=count) for i, count in enumerate(gangs)))
    cycle(state, [ev.GangStarted(2, f"w{i}/0", 1) for i in range(len(gangs))], 2)
    return state


def where(state: ClusterState, name: str) -> list[str]:
    place = state.gangs.records[f"{name}/0"].placement
    return [pod.node for pod in place.pods] if place else []


def test_a_gang_that_holds_a_gpu_that_is_gone_is_stopped_with_the_reason() -> None:
    state = running("a", 2, 2)
    stops = comes_back(state, node("a", 2))
    assert [(each.gang, str(each.cause)) for each in stops] == [
        ("w1/0", "lost GPU 2, 3 of a: the node came back without what it held")
    ]
    requeued(state, stops, 11)
    assert state.gangs.records["w0/0"].phase is Phase.RUNNING
    assert state.gangs.records["w1/0"].phase is Phase.PENDING


def test_a_stopped_gang_starts_again_elsewhere() -> None:
    state = running("a", 2, 2)
    cycle(state, [ev.NodeAdded(3, node("b", 2))], 3)
    requeued(state, comes_back(state, node("a", 2)), 11)
    assert where(state, "w1") == ["b"]


def test_a_node_that_is_whole_again_before_the_cycle_stops_nobody() -> None:
    state = running("a", 2, 2)
    smaller, whole = node("a", 2), node("a", 4)
    plan = cycle(state, [ev.NodeAdded(10, smaller), ev.NodeAdded(10, whole)], 10)
    assert not plan.stops
    end(state, "w1", now=11)
    state.validate()
    assert len(submit(state, gang("next", gpus=2), now=12).starts) == 1


def test_what_is_gone_is_not_given_out_when_it_is_there_again_and_still_held() -> None:
    state = running("a", 4)
    (stop,) = comes_back(state, node("a", 2))
    assert not comes_back(state, node("a", 4), 11)
    assert not submit(state, gang("next", gpus=2), now=12).starts, "the old pods are still there"
    requeued(state, [stop], 13)
    assert sum(len(where(state, name)) for name in ("w0", "next")) == 1


def test_another_type_of_gpu_stops_only_who_asked_for_the_old_one() -> None:
    state = state_of(node("a", 2, "T4"))
    submit(state, gang("any"), gang("picky", request=T4))
    stops = comes_back(state, node("a", 2, "H100"))
    assert [each.gang for each in stops] == ["picky/0"]
    assert dict(state.gangs.records["any/0"].charged).keys() == {"H100"}


def test_less_cpu_stops_nobody_and_takes_nobody() -> None:
    state = state_of(node("a", 2, cpu_milli=8_000))
    submit(state, gang("w", cpu=6_000))
    smaller = replace(node("a", 2), cpu_milli=4_000)
    assert not comes_back(state, smaller)
    assert not submit(state, gang("next", cpu=1_000), now=11).starts
    end(state, "w", now=12)
    assert state.gangs.records["next/0"].phase is Phase.STARTING


def test_a_gang_whose_pods_are_replaced_goes_on_elsewhere() -> None:
    state = state_of(node("a", 2), node("b", 1))
    submit(state, gang("w", 2, replace=True, pod={"min_count": 2}))
    plan = cycle(state, [ev.NodeAdded(10, node("a", 1))], 10)
    state.validate()
    assert [each.gang.id for each in plan.resizes] == ["w/0"] and not plan.stops
    assert sorted(where(state, "w")) == ["a", "b"]


def in_racks(*racks: str) -> list[Node]:
    return [node(f"n{index}", 2, rack=rack) for index, rack in enumerate(racks)]


@pytest.mark.parametrize(
    ("before", "after", "topology"),
    [
        (("r0", "r0"), "r1", Topology(required=Level.RACK)),
        (("r0", "r1"), "r0", Topology(forbidden=Level.RACK)),
    ],
    ids=["leaves the rack", "joins the rack"],
)
def test_a_gang_goes_on_when_a_node_of_it_comes_to_lie_in_another_rack(
    before: tuple[str, str], after: str, topology: Topology
) -> None:
    state = state_of(*in_racks(*before))
    submit(state, gang("w", 2, gpus=2, topology=topology))
    assert sorted(where(state, "w")) == ["n0", "n1"]
    assert not comes_back(state, node("n1", 2, rack=after))
    assert sorted(where(state, "w")) == ["n0", "n1"]
    end(state, "w", now=11)
    submit(state, gang("next", 2, gpus=2, topology=topology), now=12)
    assert not where(state, "next"), "the next one is placed by where nodes lie now"
    state.validate()


class Shrinking(Engine):
    """Nodes are described otherwise while gangs run on them; pods leave one by one."""

    @rule(rng=seeds)
    def node_comes_back(self, rng: Random) -> None:
        names = sorted(self.state.fleet.nodes)
        name = rng.choice(names)
        old, new = self.state.fleet.nodes[name], make.node(rng, name)
        domains = rng.choice((old.domains, old.domains, new.domains))  # it may have been moved
        self.run(ev.NodeAdded(self.now, replace(new, domains=domains, labels=old.labels)))

    @rule(rng=seeds)
    def leave(self, rng: Random) -> None:
        shrinking = [each for each in self.state.gangs.records.values() if each.leaving]
        if shrinking:
            record = rng.choice(shrinking)
            self.run(ev.PodsLeft(self.now, record.gang.id, record.attempt))

    @invariant()
    def nobody_runs_on_what_is_gone(self) -> None:
        for record in self.state.gangs.records.values():
            if record.phase in SETTLED and record.placement:
                for pod in record.placement.pods:
                    assert not lacks(self.state.fleet.tree.node(pod.node), record, pod)


TestShrinking = Shrinking.TestCase
TestShrinking.settings = settings(
    max_examples=examples(20, nightly=800), stateful_step_count=25, deadline=None
)


@pytest.mark.parametrize("entitlement", [Entitlement.SHARE, Entitlement.KAI, Entitlement.QUOTA])
def test_long_lives_on_nodes_that_change(entitlement: Entitlement) -> None:
    for seed in sample(range(12), 3, turn=len(entitlement)):
        rng, engine = Random(seed), Shrinking()
        policy = Policy(entitlement=entitlement, repair=seed % 3 == 0)
        engine.state, engine.twin = ClusterState(policy), ClusterState(policy)
        engine.begin(rng, rng.randint(1, 6))
        for _ in range(50):
            if rng.random() < 0.3:
                rng.choice((engine.node_comes_back, engine.node_comes_back, engine.leave))(rng)
            else:
                step, arguments = random_step(rng)
                getattr(engine, step)(rng=rng, **arguments)
            engine.every_invariant_holds()
            engine.nobody_runs_on_what_is_gone()
        engine.teardown()
