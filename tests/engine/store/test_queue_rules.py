"""Rules for gangs of one kind: who is protected, who chooses nodes how, who keeps apart."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.queue_rules import protected_ms
from ganglion.model.events import GangStarted, GangSubmitted, NodeAdded, PolicySet, QueueSet
from ganglion.model.fleet.node import Device, Node
from ganglion.model.kinds import NO_RULES, KindRules, Weighted, rules_of_kind
from ganglion.model.policy import Policy
from ganglion.model.queue import Preemption, Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Constraints, Gang, Kind
from tests.engine.build import GIB, gang, node, started, state_of, submit, where

MEMORY = (Weighted("memory"),)
SERVICE, TRAIN, WORKSPACE = Kind.SERVICE, Kind.TRAIN, Kind.WORKSPACE


def sized(name: str, memory_gib: int) -> Node:
    """A node with one GPU of this memory."""
    bare = node(name, gpus=0)
    return replace(bare, devices=(Device("GPU", memory_gib * GIB, 0, 0),))


def replica(name: str, index: int = 0, **more: Any) -> Gang:
    return gang(name, id=f"{name}/{index}", index=index, kind=SERVICE, **more)


RULES = st.builds(
    KindRules,
    priority=st.none() | st.integers(0, 100),
    preemptible=st.none() | st.booleans(),
    isolation=st.sampled_from(["", "none", "kind"]),
    spread=st.none() | st.booleans(),
    protected_ms=st.none() | st.integers(0, 9),
    scores=st.sampled_from([(), MEMORY]),
)


@given(st.none() | RULES, st.none() | RULES)
def test_a_queue_says_what_it_says_and_the_policy_the_rest(
    own: KindRules | None, usual: KindRules | None
) -> None:
    found = rules_of_kind(SERVICE, {SERVICE: own} if own else {}, {SERVICE: usual} if usual else {})
    for name in KindRules.__struct_fields__:
        first = getattr(own or NO_RULES, name)
        left_out = first in (None, "", ())
        assert getattr(found, name) == (getattr(usual or NO_RULES, name) if left_out else first)
    assert rules_of_kind(TRAIN, {SERVICE: KindRules()}, {}) == NO_RULES


def test_pods_of_a_kind_go_where_its_scores_say_and_all_others_where_the_policy_says() -> None:
    nodes = (sized("big", 80), sized("small", 24))
    share = PodRequest(gpu=GpuRequest(1, share_mib=8 * GIB))
    one = PodRequest(gpu=GpuRequest(1))
    rules = {SERVICE: KindRules(scores=MEMORY)}
    policy = Policy(kinds=rules, scores=(Weighted("spread"),))
    state = state_of(*nodes, policy=policy)
    plan = submit(state, replica("api", request=share), gang("sft", request=one))
    assert (where(plan, "api"), where(plan, "sft")) == (["small"], ["big"])


def test_a_replica_joins_the_device_with_least_memory_left() -> None:
    state = state_of(
        sized("a", 80), sized("b", 80), policy=Policy(kinds={SERVICE: KindRules(scores=MEMORY)})
    )
    share = PodRequest(gpu=GpuRequest(1, share_mib=20 * GIB))
    first = where(submit(state, replica("one", request=share)), "one")
    assert where(submit(state, replica("two", request=share), now=2), "two") == first


def test_a_gang_that_waits_is_placed_by_the_rules_set_last() -> None:
    nodes = (sized("big", 80), sized("small", 24))
    one = PodRequest(gpu=GpuRequest(1))
    for event in (
        PolicySet(2, Policy(kinds={TRAIN: KindRules(scores=MEMORY)})),
        QueueSet(2, Queue("team", kinds={TRAIN: KindRules(scores=MEMORY)})),
    ):
        state = state_of(policy=Policy(scores=(Weighted("spread"),)))
        submit(state, gang("sft", request=one))
        plan = cycle(state, [event, *(NodeAdded(3, each) for each in nodes)], 3)
        assert where(plan, "sft") == ["small"]
        state.validate()


def test_a_queue_may_name_only_scores_that_are_loaded() -> None:
    queue = Queue("team", kinds={TRAIN: KindRules(scores=(Weighted("absent"),))})
    state = ClusterState()
    plan = cycle(state, [QueueSet(0, queue)], 0)
    assert [each.code for each in plan.rejected] == ["input.field"]
    assert "absent" in plan.rejected[0].message


def running(policy: Policy, queue: Queue, *gangs: Gang) -> ClusterState:
    state = state_of(node("n", gpus=2), queues=(queue,), policy=policy)
    submit(state, *gangs)
    for each in gangs:
        state.apply(GangStarted(2, each.id, 1))
    return state


@pytest.mark.parametrize("at_queue", [False, True])
def test_notebooks_yield_first_where_their_kind_has_the_lower_protection(at_queue: bool) -> None:
    rules = {WORKSPACE: KindRules(protected_ms=0)}
    general = Preemption(protected_ms=600_000)
    policy = Policy(preemption=general, kinds={} if at_queue else rules)
    queue = Queue("team", kinds=rules if at_queue else {})
    train, notebook = gang("sft", priority=10), gang("nb", priority=10, kind=WORKSPACE)
    state = running(policy, queue, train, notebook)
    assert protected_ms(state, train) == 600_000
    assert protected_ms(state, notebook) == 0
    plan = cycle(state, [GangSubmitted(3, gang("urgent", priority=90))], 3)
    assert [stop.gang for stop in plan.stops] == ["nb/0"]
    assert not plan.starts


def test_replicas_are_packed_where_their_kind_does_not_spread_and_trials_apart_where_it_does() -> (
    None
):
    racks = (node("a", rack="r1"), node("b", rack="r1"), node("c", rack="r2"))

    def nodes_of(kind: Kind, spread: bool | None) -> set[str]:
        state = state_of(*racks)
        gangs = [
            gang("w", id=f"w/{index}", index=index, kind=kind, spread=spread) for index in (0, 1)
        ]
        plan = submit(state, *gangs)
        assert len(started(plan)) == 2
        return {pod.node for start in plan.starts for pod in start.placement.pods}

    assert len(nodes_of(SERVICE, None)) == len(nodes_of(Kind.SWEEP, True)) == 2
    assert len(nodes_of(SERVICE, False)) == len(nodes_of(Kind.SWEEP, None)) == 1


def test_isolation_by_kind_keeps_training_off_the_nodes_of_services() -> None:
    state = state_of(node("a"), node("b"))
    apart = Constraints(isolation="kind")
    services = [replica(f"api{n}", constraints=apart) for n in range(2)]
    trains = [gang(f"sft{n}") for n in range(3)]
    plan = submit(state, *services, *trains)
    homes = {
        kind: {p.node for s in plan.starts if s.gang.kind is kind for p in s.placement.pods}
        for kind in (SERVICE, TRAIN)
    }
    assert len(plan.starts) == 5
    assert not homes[SERVICE] & homes[TRAIN]
    state.validate()
