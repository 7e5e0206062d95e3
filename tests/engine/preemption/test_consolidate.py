"""Consolidation: who is moved for whom, and that nothing is lost by it."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event, GangEnded, GangStarted, GangStopping, Outcome
from ganglion.model.fleet.levels import Level
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Policy, Repack
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.resources import Amount, GpuRequest, PodRequest
from ganglion.model.workload import Gang, Topology
from tests.effort import examples
from tests.engine.build import end, gang, node, started, state_of, submit, where

HOUR = 3_600_000
NOBODY = Preemption(preempt=Victims.NEVER, reclaim=Victims.NEVER)
POLICY = Policy(preemption=NOBODY)


def holed(*fillers: Gang, policy: Policy = POLICY, gpus: int = 2, nodes: int = 2) -> ClusterState:
    """Nodes on which every filler runs beside a hole of its size: the plugs between have ended."""
    state = state_of(*(node(f"n{i}", gpus) for i in range(nodes)), policy=policy)
    for number, filler in enumerate(fillers):
        plug = replace(filler, id=f"plug{number}/0", workload=f"plug{number}")
        assert len(submit(state, filler, plug, now=1).starts) == 2
    run_all(state, 2)
    end(state, *(f"plug{number}" for number in range(len(fillers))), now=3)
    return state


def test_gangs_that_are_weighed_for_moves_count_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def used(weighed: int) -> int:
        monkeypatch.setattr("ganglion.engine.preemption.consolidate.WEIGHED", weighed)
        state = holed(gang("a"), gang("b"))
        assert len(submit(state, gang("big", gpus=2), now=10).stops) == 1
        return state.agenda.effort.used

    assert used(1) - used(3) == 2, "the two gangs that run"


def run_all(state: ClusterState, now: int) -> None:
    cycle(
        state,
        [
            GangStarted(now, gang, each.attempt)
            for gang, each in state.gangs.records.items()
            if each.phase is Phase.STARTING
        ],
        now,
    )


def carry_out(state: ClusterState, plan: Plan, now: int) -> Plan:
    """Gangs with the order to stop leave and wait again."""
    return cycle(
        state,
        [GangEnded(now, s.gang, s.attempt, Outcome.PREEMPTED, requeue=True) for s in plan.stops],
        now,
    )


def test_a_running_gang_is_moved_so_that_a_waiting_one_fits() -> None:
    state = holed(gang("a"), gang("b"))
    plan = submit(state, gang("big", gpus=2), now=10)
    assert [str(stop.cause) for stop in plan.stops] == ["moved for big/0"]
    moved = plan.stops[0].gang
    assert state.gangs.record(moved).promise
    after = carry_out(state, plan, 11)
    assert sorted(started(after)) == sorted([moved.split("/")[0], "big"])
    assert all(each.phase in (Phase.STARTING, Phase.RUNNING) for each in live(state))
    state.validate()


def home(record: GangRecord) -> str:
    assert record.placement
    return record.placement.pods[0].node


def live(state: ClusterState) -> list[GangRecord]:
    return [each for each in state.gangs.records.values() if each.phase is not Phase.ENDED]


def test_a_gang_that_may_not_be_stopped_is_never_moved() -> None:
    state = holed(gang("a", preemptible=False), gang("b", preemptible=False))
    plan = submit(state, gang("big", gpus=2), now=10)
    assert not plan.stops
    assert state.gangs.record("big/0").phase is Phase.PENDING


def test_nobody_is_moved_when_the_policy_says_so() -> None:
    policy = replace(POLICY, repack=Repack(consolidate=False))
    state = holed(gang("a"), gang("b"), policy=policy)
    assert not submit(state, gang("big", gpus=2), now=10).stops


def test_nobody_is_moved_when_that_costs_more_than_it_gains() -> None:
    state = holed(gang("a"), gang("b"))
    late = 3 * HOUR
    assert not submit(state, gang("big", gpus=2), now=late).stops, "three hours would be lost"


def test_nobody_is_moved_when_too_little_is_free_in_all() -> None:
    state = holed(gang("a"), gang("b"))
    assert not submit(state, gang("big", gpus=3), gang("wide", pods=3, gpus=1), now=10).stops


def test_a_gang_out_of_quota_moves_nobody() -> None:
    state = state_of(
        node("n0", 2),
        node("n1", 2),
        queues=(Queue("team", limit={"*": Amount(gpu_milli=3000)}),),
        policy=POLICY,
    )
    for name in ("a", "b"):
        submit(state, gang(name, request=PodRequest(cpu_milli=96_000, gpu=GpuRequest(1))))
    run_all(state, 2)
    assert not submit(state, gang("big", gpus=2), now=10).stops


def test_no_more_gangs_are_moved_than_the_policy_allows() -> None:
    eight = [gang(f"g{i}") for i in range(8)]
    for moves, stopped in ((1, 0), (16, 2)):
        policy = replace(POLICY, repack=Repack(moves=moves))
        state = holed(*eight, policy=policy, gpus=4, nodes=4)
        plan = submit(state, gang("big", gpus=4), now=10)
        assert len(plan.stops) == stopped


def test_the_gang_that_loses_least_is_moved() -> None:
    state = holed(gang("old"), gang("young"))
    record = state.gangs.record("old/0")
    record.started = 1
    young = state.gangs.record("young/0")
    young.started = 9_000
    plan = submit(state, gang("big", gpus=2), now=10_000)
    assert [stop.gang for stop in plan.stops] == ["young/0"]


def test_shares_of_devices_are_packed_to_free_a_whole_one() -> None:
    half = PodRequest(gpu=GpuRequest(1, milli=500))
    state = state_of(node("n0", 2), policy=POLICY)
    first = [gang(f"h{i}", request=half) for i in range(4)]
    plan = submit(state, *first)
    run_all(state, 2)
    on = {s.gang.workload: s.placement.pods[0].devices for s in plan.starts}
    keep = [name for name in on if on[name] == (0,)][:1] + [n for n in on if on[n] == (1,)][:1]
    end(state, *(name for name in on if name not in keep), now=3)
    plan = submit(state, gang("whole"), now=10)
    assert len(plan.stops) == 1
    assert started(carry_out(state, plan, 11)).count("whole") == 1


def test_a_gang_that_must_share_a_rack_gets_one() -> None:
    nodes = [node(f"n{i}", 2, rack=f"r{i // 2}") for i in range(4)]
    state = state_of(*nodes, policy=POLICY)
    fillers = [gang(f"f{i}", gpus=2) for i in range(4)]
    submit(state, *fillers)
    run_all(state, 2)
    by_node = {home(each): each.gang.workload for each in live(state)}
    end(state, by_node["n0"], by_node["n2"], now=3)
    asker = gang("wide", pods=2, gpus=2, topology=Topology(required=Level.RACK))
    plan = submit(state, asker, now=10)
    assert len(plan.stops) == 1
    after = carry_out(state, plan, 11)
    racks = {int(name[1:]) // 2 for name in where(after, "wide")}
    assert len(racks) == 1


def test_an_elastic_gang_is_moved_at_the_size_it_has() -> None:
    stretchy = gang("e", pods=2, pod={"min_count": 1})
    state = state_of(node("n0", 4), node("n1", 4), policy=POLICY)
    submit(state, stretchy, gang("f", gpus=2), gang("g", gpus=2), gang("h", gpus=2))
    run_all(state, 2)
    shared = home(state.gangs.record("e/0"))
    others = [
        each.gang.workload
        for each in live(state)
        if each.gang.workload != "e" and home(each) == shared
    ]
    away = [each for each in ("f", "g", "h") if each not in others]
    end(state, *others, away[0], now=3)
    plan = submit(state, gang("big", gpus=4), now=10)
    assert len(plan.stops) == 1
    carry_out(state, plan, 11)
    placement = state.gangs.record("e/0").placement
    assert placement
    assert len(placement.pods) == 2


def test_a_gang_just_moved_stays_where_it_is() -> None:
    state = holed(gang("a"), gang("b"))
    plan = submit(state, gang("big", gpus=2), now=10)
    carry_out(state, plan, 11)
    run_all(state, 12)
    moved = plan.stops[0].gang
    assert state.gangs.record(moved).moved_at == 10
    end(state, "big", now=20)
    stay = "a/0" if moved == "b/0" else "b/0"
    cycle(
        state,
        [GangStopping(21, stay, state.gangs.record(stay).attempt, Cause(CauseKind.CANCELLED))],
        21,
    )
    again = submit(state, gang("c"), gang("d", gpus=2), now=30)
    assert moved not in [stop.gang for stop in again.stops]


@settings(deadline=None, max_examples=examples(30, 1_200))
@given(st.integers(0, 2**32 - 1))
def test_no_moved_gang_is_ever_lost(seed: int) -> None:
    """Random small clusters: moved gangs run again in the end, no other gang is touched."""
    rng = Random(seed)
    state = state_of(*(node(f"n{i}", 4) for i in range(rng.randint(2, 5))), policy=POLICY)
    for now in range(1, 40):
        events: list[Event] = []
        for each in live(state):
            if each.phase is Phase.STARTING:
                events.append(GangStarted(now, each.gang.id, each.attempt))
            elif each.phase is Phase.RUNNING and rng.random() < 0.2:
                events.append(GangEnded(now, each.gang.id, each.attempt, Outcome.SUCCEEDED))
        cycle(state, events, now)
        fresh = gang(
            f"g{now}",
            pods=rng.choice((1, 1, 2)),
            gpus=rng.choice((1, 1, 2, 4)),
            preemptible=rng.random() < 0.8,
            submitted=now,
        )
        plan = submit(state, fresh, now=now)
        for stop in plan.stops:
            record = state.gangs.record(stop.gang)
            assert record.gang.preemptible
            assert record.promise is not None
            assert stop.cause.kind is CauseKind.MOVED
        after = carry_out(state, plan, now)
        assert {stop.gang for stop in plan.stops} <= {s.gang.id for s in after.starts}
        state.validate()


def test_some_stop_and_others_move_where_neither_alone_is_enough() -> None:
    queues = (
        Queue("red", quota={"*": Amount(gpu_milli=2000)}, over_quota_weight=0),
        Queue("blue", quota={"*": Amount(gpu_milli=6000)}),
    )
    state = state_of(node("n0", 4), node("n1", 4), queues=queues, policy=Policy())
    submit(state, gang("r", gpus=2, queue="red"), gang("s", gpus=2, queue="red"))
    submit(state, gang("b", queue="blue", preemptible=False))
    run_all(state, 2)
    assert (
        home(state.gangs.record("r/0"))
        == home(state.gangs.record("s/0"))
        != home(state.gangs.record("b/0"))
    )
    plan = submit(state, gang("want", gpus=4, queue="blue"), now=10)
    causes = {str(stop.cause).split()[0] for stop in plan.stops}
    assert causes == {"reclaimed", "moved"}, "red keeps the 2 GPUs that it deserves"
    after = carry_out(state, plan, 11)
    assert "want" in started(after)
    assert state.queues.shares.usage["red"]["*"].gpu_milli == 2000
    state.validate()
