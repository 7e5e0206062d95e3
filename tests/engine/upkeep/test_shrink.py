"""Gangs of which another number of pods is wanted."""

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.errors import GanglionError
from ganglion.model.fleet.levels import Level
from ganglion.model.policy import Policy
from ganglion.model.workload import Slice
from tests.engine.build import gang, node, started, state_of, submit


def resize(state: ClusterState, count: int, now: int = 50) -> list[str]:
    """Nodes of the gang after a cycle that learns of the new number."""
    plan = cycle(state, [ev.GangUpdated(now, "w/0", counts={"main": count})], now)
    assert plan.rejected == []
    state.validate()
    placement = state.gangs.record("w/0").placement
    return [pod.node for pod in placement.pods] if placement else []


def running(state: ClusterState) -> ClusterState:
    state.apply(ev.GangStarted(2, "w/0", 1))
    return state


def test_a_running_gang_keeps_its_first_pods_when_fewer_are_wanted() -> None:
    state = state_of(node("n1", 3), node("n2", 3))
    submit(state, gang("w", 5))
    running(state)
    assert state.gangs.record("w/0").placement
    before = [pod.node for pod in state.gangs.record("w/0").placement.pods]  # type: ignore[union-attr]

    assert resize(state, 2) == before[:2]
    assert len(state.gangs.record("w/0").leaving) == 3


def test_a_running_gang_keeps_its_pods_and_grows_when_more_are_wanted() -> None:
    state = state_of(node("n1", 2), node("n2", 2))
    submit(state, gang("w", 2))
    running(state)

    assert sorted(resize(state, 4)) == ["n1", "n1", "n2", "n2"]


def test_without_growth_by_policy_it_stays_as_it_is() -> None:
    state = state_of(node("n1", 2), node("n2", 2), policy=Policy(elastic=False))
    submit(state, gang("w", 2))
    running(state)

    assert len(resize(state, 4)) == 2


def test_a_waiting_gang_is_looked_at_in_its_new_size() -> None:
    state = state_of(node("n1", 2))
    assert started(submit(state, gang("w", 3))) == []

    assert resize(state, 2) == ["n1", "n1"]


@pytest.mark.parametrize("counts", [{"main": 0}, {"main": 3}, {"other": 2}])
def test_numbers_that_make_no_sense_change_nothing(counts: dict[str, int]) -> None:
    state = state_of(node("n1", 8))
    submit(state, gang("w", 4, pod={"slices": (Slice(2, Level.NODE),)}))

    with pytest.raises(GanglionError):
        state.apply(ev.GangUpdated(5, "w/0", counts=counts))
    state.validate()
