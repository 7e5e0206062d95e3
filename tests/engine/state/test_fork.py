"""A copy of the state decides as the state would, and nothing that happens to it is seen there."""

import gc
from enum import Enum
from random import Random
from types import FunctionType, ModuleType

import pytest
from msgspec import Struct
from msgspec.structs import astuple

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.fork import fork
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.model import events as ev
from ganglion.model.policy import Entitlement, Policy
from tests.effort import sample
from tests.engine import random_fleets as make
from tests.engine.build import state_of

SHARED = (NodeStateTable, Plugins, ShapeView, Enum, ModuleType, type)
"""What both have: tables to which both add, and what never changes."""


def busy(seed: int, policy: Policy | None = None) -> ClusterState:
    """A small cluster with running, waiting and promised gangs."""
    rng = Random(seed)
    state = state_of(queues=(), policy=policy)
    cycle(state, [ev.QueueSet(0, queue) for queue in make.queue_tree(rng)], 0)
    cycle(state, [ev.NodeAdded(0, make.node(rng, f"n{i}")) for i in range(5)], 0)
    for now in range(1, 5):
        some = range(4 * now, 4 * now + 4)
        cycle(state, [ev.GangSubmitted(now, make.gang(rng, i, now)) for i in some], now)
    return state


def news(state: ClusterState, rng: Random) -> list[ev.Event]:
    """The end of some of what runs, and other gangs."""
    ended = [each for each in state.holdings.settled() if rng.random() < 0.5]
    done = [ev.GangEnded(6, each.gang.id, each.attempt, ev.Outcome.SUCCEEDED) for each in ended]
    return [*done, *(ev.GangSubmitted(6, make.gang(rng, i, 6)) for i in range(100, 106))]


@pytest.mark.parametrize("entitlement", list(Entitlement))
def test_a_copy_decides_as_the_state_does(entitlement: Entitlement) -> None:
    for seed in sample(range(12), 3):
        state = busy(seed, Policy(entitlement=entitlement))
        copy = fork(state)
        happened = news(state, Random(seed))

        tried = cycle(copy, happened, 6)
        copy.validate()
        state.validate()

        assert cycle(state, happened, 6) == tried


def test_a_copy_shares_nothing_that_changes() -> None:
    for seed in sample(range(6), 2):
        state = busy(seed)
        cycle(state, news(state, Random(seed)), 6)
        copy = fork(state)
        mine, others = reachable(copy), reachable(state)
        shared = [each for key, each in mine.items() if key in others]
        assert not shared, [(type(each), str(each)[:200]) for each in shared]


def test_what_a_copy_learns_of_node_conditions_is_not_taken_for_known() -> None:
    state = busy(1)
    copy = fork(state)
    pods = tuple((each.gang.pod_sets[0].request, 1) for each in state.gangs.records.values())
    cycle(copy, [ev.TypicalPods(6, pods)], 6)
    copy.fleet.tree.compact()

    assert state.fleet.table.yardstick != copy.fleet.table.yardstick
    state.validate()
    twin = busy(1)
    happened = news(state, Random(1))
    assert cycle(state, happened, 7) == cycle(twin, happened, 7)


def reachable(state: ClusterState) -> dict[int, object]:
    """What can change and is reached from a state, by identity."""
    found: dict[int, object] = {}
    todo: list[object] = [state]
    scores = tuple(type(score) for score, _ in state.config.plugins.scores)
    while todo:
        each = todo.pop()
        if (
            id(each) in found
            or isinstance(each, (*SHARED, *scores))
            or each is state.fleet.__dict__["_empty"]
        ):
            continue
        if isinstance(each, Struct) and each.__struct_config__.frozen and not _holds_record(each):
            continue
        if isinstance(each, FunctionType):
            todo += each.__closure__ or ()
            continue
        if isinstance(each, dict | list | set | Struct) or hasattr(each, "__dict__"):
            found[id(each)] = each
        todo += gc.get_referents(each)
    return found


def _holds_record(each: Struct) -> bool:
    return any(isinstance(field, GangRecord) for field in astuple(each))
