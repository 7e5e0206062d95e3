"""What a cycle decides about places that others still have to leave."""

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangEnded, GangStopping, Outcome
from ganglion.model.plan import Phase
from tests.engine.build import gang, node, state_of, submit


def leaving(*names: str) -> ClusterState:
    """Nodes of which the first is left by a gang that holds all of it."""
    state = state_of(*(node(name) for name in names))
    submit(state, gang("old", gpus=8))
    record = state.gangs.record("old/0")
    assert record.placement
    assert [pod.node for pod in record.placement.pods] == [names[0]]
    cycle(state, [GangStopping(2, "old/0", 1, Cause(CauseKind.CANCELLED))], 2)
    return state


def test_a_gang_starts_on_free_nodes_before_it_waits_for_others_to_leave() -> None:
    state = leaving("a", "b")
    submit(state, gang("new", gpus=8), now=3)
    record = state.gangs.record("new/0")
    assert record.phase is Phase.STARTING
    assert record.placement
    assert [pod.node for pod in record.placement.pods] == ["b"]
    state.validate()


def test_a_gang_that_fits_nowhere_else_is_promised_what_is_left() -> None:
    state = leaving("a")
    submit(state, gang("new", gpus=8), now=3)
    record = state.gangs.record("new/0")
    assert record.phase is Phase.RESERVED
    cycle(state, [GangEnded(4, "old/0", 1, Outcome.CANCELLED)], 4)
    assert record.phase is Phase.STARTING
    state.validate()
