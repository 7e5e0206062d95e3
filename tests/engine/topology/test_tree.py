"""The fleet's devices are counted by type while nodes change."""

from ganglion.engine.cycle import cycle
from ganglion.model import events as ev
from tests.engine.build import node, state_of


def test_devices_by_type_follow_nodes_that_get_others() -> None:
    state = state_of(node("a"), node("b"), node("c"))
    assert state.fleet.table.supply == {"H100": 24}
    cycle(state, [ev.NodeAdded(2, node("b", 4, "A100"))], 2)
    assert state.fleet.table.supply == {"H100": 16, "A100": 4}
    cycle(state, [ev.DeviceHealth(3, "a", 0, False), ev.NodeAdded(3, node("b"))], 3)
    assert state.fleet.table.supply == {"H100": 24}
    state.validate()
