"""Emptying nodes when no gang waits."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import PER_CYCLE
from ganglion.engine.upkeep.defragment import TRIES
from ganglion.model.events import GangEnded, GangStarted, NodeAdded, Outcome
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Policy, Repack
from tests.effort import examples
from tests.engine.build import end, gang, node, state_of, submit

HOUR = 3_600_000
POLICY = Policy(repack=Repack(empty_nodes=True))


def spread(policy: Policy = POLICY, **more: Any) -> ClusterState:
    """Two nodes of 4 with one 1-GPU gang each, after what filled them has ended."""
    quiet = replace(policy, repack=replace(policy.repack, empty_nodes=False))
    state = state_of(node("n0", 4), node("n1", 4), policy=quiet)
    submit(state, gang("a", **more), gang("p", gpus=3))
    submit(state, gang("b", **more))
    begin(state, 1)
    end(state, "p")
    state.config.policy = policy
    return state


def busy(state: ClusterState) -> list[str]:
    pods = dict(zip(state.fleet.tree.names, state.fleet.tree.pods, strict=True))
    return [name for name, count in pods.items() if count]


def carry_out(state: ClusterState, plan: Plan, now: int) -> Plan:
    gone = Outcome.PREEMPTED
    return cycle(
        state, [GangEnded(now, s.gang, s.attempt, gone, requeue=True) for s in plan.stops], now
    )


def test_a_nearly_empty_node_is_emptied() -> None:
    state = spread()
    assert len(busy(state)) == 2
    plan = cycle(state, [], 10)
    assert len(plan.stops) == 1
    assert str(plan.stops[0].cause).startswith("moved to empty node n")
    assert [each.gang.id for each in carry_out(state, plan, 11).starts] == [plan.stops[0].gang]
    assert len(busy(state)) == 1
    assert not cycle(state, [], 12).decisions


def test_no_node_is_emptied_unless_the_policy_says_so() -> None:
    assert not cycle(spread(Policy()), [], 10).stops


def test_nobody_is_moved_who_may_not_be_stopped() -> None:
    assert not cycle(spread(preemptible=False), [], 10).stops


def test_nobody_is_moved_when_more_would_be_lost_than_comes_free() -> None:
    assert cycle(spread(), [], 2 * HOUR).stops, "2 of 1 GPU is less than 1 of 3"
    assert not cycle(spread(), [], 4 * HOUR).stops


def test_nobody_is_moved_while_others_wait_for_room() -> None:
    state = spread()
    assert not submit(state, gang("wide", pods=9), now=10).stops


@pytest.mark.parametrize("work", [1, PER_CYCLE])
def test_every_node_is_tried_although_a_cycle_tries_few(work: int) -> None:
    quiet = replace(POLICY, repack=replace(POLICY.repack, empty_nodes=False))
    stuck = TRIES + 2
    state = state_of(node("small", 3), policy=quiet)
    submit(state, gang("moves"))
    others = [NodeAdded(1, node(f"n{number}")) for number in range(stuck + 1)]
    cycle(state, others, 1)
    submit(state, *(gang(f"s{number}", gpus=5) for number in range(stuck)))
    begin(state, 2)
    state.config.policy, state.agenda.effort.per_cycle = POLICY, work

    plans = [cycle(state, [], 3)]
    while not plans[-1].stops and state.agenda.again_at is not None:
        plans.append(cycle(state, [], state.agenda.again_at))

    assert [stop.gang for stop in plans[-1].stops] == ["moves/0"]
    assert len(plans) == (2 if work == PER_CYCLE else stuck + 1)


@settings(deadline=None, max_examples=examples(30, nightly=1_200))
@given(st.integers(0, 2**32 - 1))
def test_empty_nodes_become_more_and_then_nothing_moves(seed: int) -> None:
    rng = Random(seed)
    quiet = replace(POLICY, repack=replace(POLICY.repack, empty_nodes=False))
    state = state_of(*(node(f"n{i}", 4) for i in range(6)), policy=quiet)
    fillers = [
        gang(f"g{i}", pods=rng.choice((1, 1, 2)), gpus=rng.choice((1, 2, 3)), preemptible=i % 5 > 0)
        for i in range(14)
    ]
    submit(state, *fillers)
    begin(state, 2)
    live = [
        each.gang.workload for each in state.gangs.records.values() if each.phase is Phase.RUNNING
    ]
    waiting = [each for each in state.gangs.records.values() if each.phase is Phase.PENDING]
    cancelled = [GangEnded(3, each.gang.id, 0, Outcome.CANCELLED) for each in waiting]
    cycle(state, cancelled, 3)
    end(state, *rng.sample(live, len(live) // 2), now=4)
    state.config.policy = POLICY
    free = 6 - len(busy(state))
    for now in range(5, 30):
        plan = cycle(state, [], now)
        if not plan.stops:
            break
        assert all(state.gangs.record(stop.gang).promise for stop in plan.stops)
        assert all(state.gangs.record(stop.gang).gang.preemptible for stop in plan.stops)
        carry_out(state, plan, now)
        begin(state, now)
        state.validate()
        assert 6 - len(busy(state)) > free
        free = 6 - len(busy(state))
    assert not cycle(state, [], 30).decisions


def begin(state: ClusterState, now: int) -> None:
    starting = [each for each in state.gangs.records.values() if each.phase is Phase.STARTING]
    cycle(state, [GangStarted(now, each.gang.id, each.attempt) for each in starting], now)
