"""No rule takes a workload below its floor for the sake of others."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.ordering.order import waiting_in_order
from ganglion.model import events as ev
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import (
    Entitlement,
    EvictionRules,
    Future,
    Order,
    Placing,
    Policy,
    Repack,
    VictimOrder,
)
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.resources import Amount
from ganglion.model.workload import Checkpoint, Gang, Kind
from tests.effort import sample
from tests.engine.build import gang, node
from tests.engine.guarded import Guarded

HOUR = 3_600_000
FREELY = Preemption(Victims.LOWER, Victims.ANY)
KUEUE = Policy(
    order=Order.FIFO,
    entitlement=Entitlement.QUOTA,
    placement=Placing.TIGHT,
    future=Future(reservations=0),
)
POLICIES = {
    "by price": Policy(),
    "newest first": Policy(evict=EvictionRules(victims=VictimOrder.NEWEST)),
    "price before class": Policy(evict=EvictionRules(victims=VictimOrder.PRICE_FIRST)),
    "as KAI": Policy(
        entitlement=Entitlement.KAI, evict=EvictionRules(victims=VictimOrder.NEWEST, move=False)
    ),
    "as Kueue": KUEUE,
    "as Kueue, heads only": replace(KUEUE, heads_only=True),
    "as Kueue, fair": replace(KUEUE, entitlement=Entitlement.DOMINANT),
    "nodes are emptied": Policy(repack=Repack(empty_nodes=True, horizon_ms=HOUR)),
}


def service(name: str, count: int, floor: int, gpus: int = 1, **more: object) -> list[Gang]:
    base = gang(name, gpus=gpus, kind=Kind.SERVICE, floor=floor, **more)
    return [replace(base, id=f"{name}/{index}", index=index) for index in range(count)]


def fleet(
    *nodes: Node, policy: Policy | None = None, queues: tuple[Queue, ...] = (Queue("team"),)
) -> Guarded:
    state = Guarded(policy or Policy())
    cycle(
        state,
        [*(ev.QueueSet(0, each) for each in queues), *(ev.NodeAdded(0, each) for each in nodes)],
        0,
    )
    return state


def run(state: Guarded, *gangs: Gang, now: int = 1) -> None:
    submit(state, *gangs, now=now)
    while state.next_wake() == now + 1:  # one head of each queue at a time
        now += 1
        cycle(state, [], now)
    begin(state, now)
    assert all(state.gangs.records[each.id].phase is Phase.RUNNING for each in gangs)


def begin(state: Guarded, now: int) -> None:
    starting = [each for each in state.gangs.records.values() if each.phase is Phase.STARTING]
    cycle(state, [ev.GangStarted(now, e.gang.id, e.attempt) for e in starting], now)


def submit(state: Guarded, *gangs: Gang, now: int) -> Plan:
    plan = cycle(state, [ev.GangSubmitted(now, each) for each in gangs], now)
    assert not plan.rejected
    state.validate()
    return plan


def leave(state: Guarded, now: int) -> Plan:
    gone = [each for each in state.gangs.records.values() if each.phase is Phase.STOPPING]
    ends = [
        ev.GangEnded(now, e.gang.id, e.attempt, ev.Outcome.PREEMPTED, requeue=True) for e in gone
    ]
    return cycle(state, ends, now)


@pytest.mark.parametrize("name", POLICIES)
def test_only_what_runs_above_the_floor_is_taken(name: str) -> None:
    quota = {"H100": Amount(gpu_milli=8000)}
    queue = Queue("team", quota=quota, preemption=FREELY)
    state = fleet(node("n0"), policy=POLICIES[name], queues=(queue,))
    run(state, *service("chat", 8, 5, priority=10))
    assert not submit(state, gang("four", gpus=4, priority=90), now=HOUR).stops
    cycle(state, [ev.GangEnded(HOUR, "four/0", 0, ev.Outcome.CANCELLED)], HOUR)
    assert len(submit(state, gang("three", gpus=3, priority=90), now=HOUR + 1).stops) == 3
    assert not submit(state, gang("one", priority=90), now=HOUR + 2).stops
    leave(state, HOUR + 3)
    begin(state, HOUR + 4)
    assert not cycle(state, [], HOUR + 5).stops
    state.validate()


def test_of_several_services_each_keeps_its_own_floor() -> None:
    state = fleet(node("n0"))
    run(state, *service("a", 4, 2, priority=10), *service("b", 4, 3, priority=10))
    plan = submit(state, gang("big", gpus=3, priority=90), now=HOUR)
    assert sorted(each.gang[0] for each in plan.stops) == ["a", "a", "b"]


def test_siblings_that_still_start_do_not_stand_in_for_those_that_run() -> None:
    state = fleet(node("n0"))
    first, *rest = service("chat", 8, 1, priority=10)
    run(state, first)
    submit(state, *rest, now=2)
    plan = submit(state, gang("big", gpus=7, priority=90), now=HOUR)
    assert len(plan.stops) == 7 and first.id not in [each.gang for each in plan.stops]


def test_who_waits_for_a_sibling_to_run_is_looked_at_again() -> None:
    state = fleet(node("n0"))
    run(state, *service("chat", 4, 4, gpus=2, priority=10))
    assert not submit(state, gang("big", gpus=2, priority=90), now=HOUR).stops
    lower = [ev.GangUpdated(HOUR, f"chat/{index}", floor=3) for index in range(4)]
    assert len(cycle(state, lower, HOUR).stops) == 1


def test_a_replica_is_not_moved_below_the_floor() -> None:
    for floor, moved in ((2, 0), (1, 1), (0, 1)):
        state = fleet(node("n0", 2), node("n1", 2), policy=Policy(preemption=Preemption()))
        plugs = [gang(f"plug{index}") for index in range(2)]
        run(state, *service("chat", 2, floor))
        run(state, *plugs, now=2)
        ends = [ev.GangEnded(3, f"{each.workload}/0", 1, ev.Outcome.SUCCEEDED) for each in plugs]
        cycle(state, ends, 3)
        assert len(submit(state, gang("big", gpus=2), now=10).stops) == moved, floor


def test_a_node_is_not_emptied_below_a_floor() -> None:
    for floor, moved in ((2, 0), (1, 1)):
        policy = Policy(repack=Repack(empty_nodes=True))
        state = fleet(node("n0", 4), node("n1", 4), policy=replace(policy, repack=Repack()))
        run(state, *service("chat", 2, floor))
        state.config.policy = policy
        assert len(cycle(state, [], 10).stops) == moved


def test_an_equal_that_had_its_turn_stays_where_the_floor_needs_it() -> None:
    for floor, yields in ((2, 0), (1, 1)):
        queue = Queue("team", timeshare_ms=HOUR)
        policy = Policy(future=Future(reservations=0), repack=Repack(consolidate=False))
        state = fleet(node("n0", 2), policy=policy, queues=(queue,))
        run(state, *service("chat", 2, floor, checkpoint=Checkpoint()))
        plan = submit(state, gang("late", checkpoint=Checkpoint()), now=HOUR + 1)
        assert [str(each.cause) for each in plan.stops] == ["yielded for late/0"] * yields


def test_what_is_missing_below_the_floor_goes_before_all_else_of_its_priority() -> None:
    for policy in (Policy(), KUEUE):
        quota = {"H100": Amount(gpu_milli=8000)}
        state = fleet(node("n0"), policy=policy, queues=(Queue("team", quota=quota),))
        run(state, gang("all", gpus=8, preemptible=False))
        submit(state, gang("urgent", priority=60), gang("first", submitted=1), now=2)
        submit(state, *service("chat", 6, 2, submitted=3), now=3)
        if policy is not KUEUE:
            order = [each.partition("/")[0] for each in waiting_in_order(state, 4)]
            assert order[:2] == ["urgent", "chat"] and order[-1] == "first"
        plan = cycle(state, [ev.GangEnded(4, "all/0", 1, ev.Outcome.SUCCEEDED)], 4)
        assert [start.gang.workload for start in plan.starts][:5] == [
            "urgent", "chat", "chat", "first", "chat",
        ]  # fmt: skip


@pytest.mark.parametrize("name", POLICIES)
def test_floors_hold_while_services_and_training_fight(name: str) -> None:
    stopped = 0
    for seed in sample(range(12), 3, turn=len(name)):
        rng = Random(seed)
        stopped += fight(rng, POLICIES[name])
    assert stopped > 2, "nobody was ever stopped: the test shows nothing"


def fight(rng: Random, policy: Policy) -> int:
    """Random histories on full nodes; returns how many replicas were stopped for others."""
    queues = tuple(
        Queue(each, "all", {"H100": Amount(gpu_milli=8000)}, preemption=FREELY) for each in "ab"
    )
    root = Queue("all", quota={"H100": Amount(gpu_milli=16_000)})
    state = fleet(node("n0"), node("n1"), policy=policy, queues=(root, *queues))
    stopped = 0
    for number in range(14):
        now = (number + 1) * HOUR
        gangs = someone(rng, number, now)
        for plan in (submit(state, *gangs, now=now), leave(state, now + 1), leave(state, now + 2)):
            stopped += sum(bool(state.gangs.records[each.gang].gang.floor) for each in plan.stops)
        begin(state, now + 3)
        running = [each for each in state.gangs.records.values() if each.phase is Phase.RUNNING]
        if running and rng.random() < 0.4:
            record = rng.choice(running)
            end = ev.GangEnded(now + 4, record.gang.id, record.attempt, ev.Outcome.SUCCEEDED)
            cycle(state, [end], now + 4)
        state.validate()
    return stopped


def someone(rng: Random, number: int, now: int) -> list[Gang]:
    queue, priority = rng.choice("ab"), rng.choice((10, 50, 90))
    if rng.random() < 0.5:
        count = rng.randint(2, 6)
        floor = rng.randint(1, count)
        return service(
            f"s{number}", count, floor, queue=queue, priority=min(priority, 50), submitted=now
        )
    gpus = rng.choice((1, 2, 4, 8))
    return [gang(f"t{number}", gpus=gpus, queue=queue, priority=priority, submitted=now)]
