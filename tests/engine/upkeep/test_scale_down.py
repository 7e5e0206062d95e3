"""Which replicas go first when a service needs fewer, and which are woken first."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.upkeep.scale_down import to_release, to_wake
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.workload import Checkpoint, Gang, Kind
from tests.engine import random_fleets as make
from tests.engine.build import gang, node, state_of, submit
from tests.engine.test_machine import node_states


def replica(index: int, gpus: int = 1, **more: object) -> Gang:
    base = gang("chat", gpus=gpus, kind=Kind.SERVICE, **more)
    return replace(base, id=f"chat/{index}", index=index, submitted=index)


def running(*seats: tuple[str, int], nodes: tuple[Node, ...], gpus: int = 1) -> ClusterState:
    """Replicas that run, each on a node with its devices from one on."""
    state = state_of(*nodes)
    for index, (name, device) in enumerate(seats):
        state.apply(ev.GangSubmitted(1, replica(index, gpus)))
        devices = tuple(range(device, device + gpus))
        place = Placement((PodPlacement("main", 0, name, devices, 1000),))
        state.apply(ev.GangPlaced(1, f"chat/{index}", 1, place))
        state.apply(ev.GangStarted(2, f"chat/{index}", 1))
    return state


def release(state: ClusterState, count: int) -> list[int]:
    gangs = [gang for gang in state.gangs.records if gang.startswith("chat/")]
    return [int(gang.partition("/")[2]) for gang in to_release(state, gangs, count)]


def test_those_that_wait_go_first_and_the_latest_of_them() -> None:
    state = running(("n0", 0), nodes=(node("n0", 1),))
    submit(state, *(replica(index) for index in (1, 2)), now=3)
    assert release(state, 3) == [2, 1, 0]
    assert release(state, 1) == [2]


def test_those_that_start_go_before_those_that_run() -> None:
    state = running(("n0", 0), ("n0", 1), nodes=(node("n0", 4), node("n1", 4)))
    submit(state, replica(2), now=3)
    assert release(state, 1) == [2]


def test_whoever_is_leaving_or_unknown_is_passed_over() -> None:
    state = running(("n0", 0), ("n0", 1), nodes=(node("n0", 4),))
    cycle(state, [ev.GangStopping(3, "chat/0", 1, Cause(CauseKind.CANCELLED))], 3)
    assert to_release(state, ["chat/0", "nobody/0", "chat/1", "chat/1"], 5) == ["chat/1"]


def test_the_one_goes_whose_place_lets_somebody_start() -> None:
    state = running(("n0", 0), ("n1", 0), nodes=(node("n0", 1), node("n1", 4)))
    submit(state, gang("fill", gpus=1, preemptible=False), now=3)
    assert release(state, 1) == [1], "it leaves most GPUs free together"
    submit(state, gang("big", gpus=3, preemptible=False), now=4)
    assert state.gangs.record("big/0").phase is Phase.PENDING
    assert release(state, 1) == [1]
    whole = running(("n0", 0), ("n1", 0), nodes=(node("n0", 1), node("n1", 4)))
    submit(whole, gang("fill", gpus=3, preemptible=False), now=3)
    submit(whole, gang("one", gpus=1, cpu=90_000, preemptible=False), now=4)
    assert release(whole, 1) == [0], "the node is empty then"


def test_nobody_who_is_the_last_in_a_rack_goes_while_another_rack_has_two() -> None:
    nodes = (node("n0", 4, rack="r0"), node("n1", 4, rack="r0"), node("n2", 4, rack="r1"))
    state = running(("n0", 0), ("n0", 1), ("n1", 0), ("n2", 0), nodes=nodes)
    first = release(state, 4)
    assert first[-1] == 3 or first[-2] == 3
    assert 3 not in first[:2]


def test_nodes_come_free_as_a_whole() -> None:
    nodes = (node("n0", 4), node("n1", 4))
    state = running(("n0", 0), ("n0", 1), ("n0", 2), ("n1", 0), nodes=nodes)
    assert sorted(release(state, 2)) != [0, 1], "not two of the node that stays in use"


def test_whoever_is_on_a_cordoned_node_goes_first() -> None:
    nodes = (node("n0", 4, rack="r0"), node("n1", 4, rack="r1"))
    state = running(("n0", 0), ("n0", 1), ("n1", 0), nodes=nodes)
    cycle(state, [ev.NodeCordoned(3, "n1", "maintenance")], 3)
    assert release(state, 1) == [2]


@pytest.mark.parametrize("seed", range(30))
def test_looking_changes_nothing_and_the_answer_does_not_depend_on_the_order(seed: int) -> None:
    rng = Random(seed)
    state = ClusterState()
    cycle(state, [ev.QueueSet(0, each) for each in make.queue_tree(rng)], 0)
    cycle(state, [ev.NodeAdded(0, make.node(rng, f"n{i}")) for i in range(6)], 0)
    for number in range(6):
        gangs = make.service(rng, number, number)
        cycle(state, [ev.GangSubmitted(number + 1, each) for each in gangs], number + 1)
    state.validate()
    before = (
        node_states(state),
        {name: dict(used) for name, used in state.queues.shares.usage.items()},
    )
    floors = dict(state.gangs.floors.settled)
    gangs = sorted(state.gangs.records)
    chosen = to_release(state, gangs, 8)
    assert to_release(state, gangs[::-1], 8) == chosen
    woken = to_wake(state, gangs, 8)
    assert to_wake(state, gangs[::-1], 8) == woken
    assert all(state.gangs.records[each].gang.recall_ms for each in woken)
    assert len(set(chosen)) == len(chosen) == min(8, len(gangs))
    assert to_release(state, gangs, 5) == chosen[:5]
    after = (
        node_states(state),
        {name: dict(used) for name, used in state.queues.shares.usage.items()},
    )
    assert before == after and floors == state.gangs.floors.settled
    state.validate()


def test_whose_place_is_not_lent_is_woken_first() -> None:
    state = state_of(node("n0"), node("n1"), node("n2"))
    sleepers = [replica(index, 8, recall_ms=60_000) for index in range(4)]
    submit(state, *sleepers)
    places = {name: state.timeline.kept.get(name) for name in (each.id for each in sleepers)}
    assert sum(each is not None for each in places.values()) == 3
    submit(state, gang("saves", gpus=8, checkpoint=Checkpoint(grace_ms=10_000)), now=2)
    placement = state.gangs.record("saves/0").placement
    assert placement
    (lent,) = (
        n for n, k in places.items() if k and k.placement.pods[0].node == placement.pods[0].node
    )
    (none,) = (name for name, kept in places.items() if kept is None)
    order = to_wake(state, [each.id for each in sleepers], 4)
    assert order[2:] == [lent, none]
