"""A gang that is taken over with its place leaves the state as its two events would."""

from collections.abc import Sequence
from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.gangs.record import SETTLED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.errors import NotFound
from ganglion.model.placement import Placement
from ganglion.model.policy import Entitlement, Policy, UsageDecay
from tests.engine.state.test_rollback import seen
from tests.engine.test_machine import Engine, random_step

POLICIES = (
    Policy(),
    Policy(entitlement=Entitlement.KAI),
    Policy(repair=True),
    Policy(usage=UsageDecay(half_life_ms=3_600_000)),
)
BEFORE = (ev.QueueSet, ev.QueueRemoved, ev.NodeAdded, ev.NodeLost, ev.NodeCordoned)
"""What a scheduler that starts knows before it takes gangs over."""
Taken = tuple[ev.GangSubmitted, ev.GangPlaced]


def _state(policy: Policy, fleet: Sequence[ev.Event]) -> ClusterState:
    state = ClusterState(policy)
    for each in fleet:
        state.apply(each)
    return state


def _story(seed: int, policy: Policy) -> tuple[list[ev.Event], list[Taken], int]:
    """The fleet after some random steps, the gangs that sit on it, and the time."""
    rng = Random(seed)
    engine = Engine()
    engine.state, engine.twin = ClusterState(policy), ClusterState(policy)
    engine.begin(rng, rng.randint(1, 6))
    for _ in range(40):
        step, arguments = random_step(rng)
        getattr(engine, step)(rng=rng, **arguments)
    now = engine.now
    fleet = [each for each in engine.log if isinstance(each, BEFORE)]
    left = _state(policy, fleet).fleet.tree
    left.settle()
    gangs = [
        (
            ev.GangSubmitted(now, record.gang),
            ev.GangPlaced(now - 1, record.gang.id, 1, record.placement),
        )
        for record in engine.state.gangs.records.values()
        if record.phase in SETTLED
        and record.placement
        and all(pod.node in left.index for pod in record.placement.pods)
    ]
    return fleet, gangs, now


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
def test_it_is_as_if_both_events_came_one_after_the_other(policy: Policy) -> None:
    taken = 0
    for seed in range(12):
        fleet, gangs, now = _story(seed, policy)
        apart, at_once = _state(policy, fleet), _state(policy, fleet)
        for submitted, placed in gangs:
            apart.apply(submitted)
            apart.apply(placed)
            # Only what is taken over as it is may contradict what its gang would ask for now.
            apart.gangs.record(submitted.gang.id).relocated = True
            assert at_once.take_over(submitted, placed)
            assert not at_once.take_over(submitted, placed)
        at_once.validate()
        assert seen(at_once, now) == seen(apart, now)
        taken += len(gangs)
    assert taken > 6


def test_one_whose_node_is_unknown_leaves_everything_as_it_was() -> None:
    fleet, gangs, now = next(each for seed in range(12) if (each := _story(seed, Policy()))[1])
    state = _state(Policy(), fleet)
    submitted, placed = gangs[0]
    pods = tuple(replace(pod, node="nowhere") for pod in placed.placement.pods)
    before = seen(state, now)
    with pytest.raises(NotFound):
        state.take_over(submitted, replace(placed, placement=Placement(pods)))
    state.validate()
    assert seen(state, now) == before
