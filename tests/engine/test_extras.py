"""Resources that nodes only count, as network cards, are placed and fought for like GPUs."""

from random import Random

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.placement.place import Demand
from ganglion.engine.search.diagnose import diagnose
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.pod_shape import shapes_of
from ganglion.model.events import GangEnded, GangStarted, NodeAdded, Outcome
from ganglion.model.fleet.node import Node
from ganglion.model.plan import Phase
from ganglion.model.reasons import Token
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang
from tests.engine.build import gang, node, started, state_of, submit, where
from tests.engine.literal import fits_somewhere

NIC = "rdma/hca"
HOUR = 3_600_000


def asking(name: str, cards: int, *, pods: int = 1, gpus: int = 1, **more: object) -> Gang:
    request = PodRequest(gpu=GpuRequest(gpus), extras=((NIC, cards),))
    return gang(name, pods=pods, request=request, **more)


def carded(name: str, cards: int) -> Node:
    return node(name, extras={NIC: cards})


def test_pods_go_where_enough_is_left_and_what_ends_gives_it_back() -> None:
    state = state_of(carded("n0", 1), carded("n1", 4), node("n2"))
    plan = submit(state, asking("pair", 2, pods=2))
    assert where(plan, "pair") == ["n1", "n1"]
    waiting = submit(state, asking("late", 2), now=2)
    assert waiting.starts == []
    assert waiting.waits[0].reason.token is Token.CAPACITY
    assert NIC in waiting.waits[0].reason.message
    state.validate()
    ended = cycle(state, [GangEnded(3, "pair/0", 1, Outcome.SUCCEEDED)], 3)
    assert where(ended, "late") == ["n1"]
    state.validate()


def test_a_more_important_gang_takes_what_is_counted_from_another() -> None:
    state = state_of(carded("n0", 2), carded("n1", 2))
    plan = submit(state, asking("low", 2, priority=10), gang("plain", priority=10))
    cycle(state, [GangStarted(1, each.gang.id, each.attempt) for each in plan.starts], 1)

    plan = submit(state, asking("high", 2, pods=2, priority=80), now=HOUR)

    assert [each.gang for each in plan.stops] == ["low/0"], "GPUs are free: cards are short"
    assert state.gangs.records["high/0"].phase is Phase.RESERVED
    late = submit(state, asking("late", 1, priority=10), now=HOUR + 1)
    assert late.starts == [], "what is promised is not given out again"
    left = GangEnded(HOUR + 2, "low/0", 1, Outcome.PREEMPTED, requeue=True)
    assert started(cycle(state, [left], HOUR + 2)) == ["high"]
    state.validate()


def test_nobody_is_stopped_for_what_nobody_holds() -> None:
    state = state_of(carded("n0", 1))
    plan = submit(state, gang("plain", gpus=4, priority=10))
    cycle(state, [GangStarted(1, each.gang.id, each.attempt) for each in plan.starts], 1)
    plan = submit(state, asking("high", 2, priority=80), now=HOUR)
    assert plan.stops == []
    assert plan.waits[0].reason.never


def test_a_gang_that_asks_for_nothing_counted_is_told_why_without_a_look_at_every_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = state_of(*(node(f"n{i:03d}", gpus=1) for i in range(100)))
    submit(state, *(gang(f"g{i}", cpu=1 + i) for i in range(100)))
    looks: list[int] = []
    room = NodeStateTable.room

    def counted(self: NodeStateTable, sight: ShapeView, condition: int) -> int:
        looks.append(condition)
        return room(self, sight, condition)

    monkeypatch.setattr(NodeStateTable, "room", counted)
    late = gang("late")
    reason = diagnose(state, Demand(late, shapes_of(late, ())))
    assert reason.message == "needs 1 GPU on one node; no GPU that it may use is free"
    assert not looks, "every node is in a state of its own"


def test_a_node_that_loses_what_pods_hold_keeps_them_and_takes_no_more() -> None:
    state = state_of(carded("n0", 4))
    submit(state, asking("holds", 3))
    lost = cycle(state, [NodeAdded(2, carded("n0", 1))], 2)
    assert lost.stops == []
    state.validate()
    assert submit(state, asking("more", 1), now=3).starts == []
    assert started(submit(state, gang("plain"), now=4)) == ["plain"]
    cycle(state, [NodeAdded(5, carded("n0", 4))], 5)
    assert state.gangs.records["more/0"].phase is Phase.STARTING
    state.validate()


def test_on_random_fleets_what_is_counted_is_never_exceeded_and_whoever_fits_starts() -> None:
    for seed in range(40):
        rng = Random(seed)
        nodes = [carded(f"n{i}", rng.randrange(4)) for i in range(rng.randint(1, 4))]
        state = state_of(*nodes)
        running: list[str] = []
        for now in range(1, 25):
            if running and rng.random() < 0.4:
                done = running.pop(rng.randrange(len(running)))
                cycle(state, [GangEnded(now, done, 1, Outcome.SUCCEEDED)], now)
            cards, priority = rng.randrange(3), rng.choice((10, 50))
            more = {"gpus": rng.choice((0, 1, 4)), "priority": priority}
            one = asking(f"g{now}", cards, **more) if cards else gang(f"g{now}", **more)
            submit(state, one, now=now)
            state.validate()
            records = state.gangs.records.values()
            running = [each.gang.id for each in records if each.phase is Phase.STARTING]
            waiting = [each.gang for each in records if each.phase is Phase.PENDING]
            assert not any(fits_somewhere(state, each) for each in waiting)
