"""What queues deserve, and what others may reclaim from them."""

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.fleet.node import Device, Node
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.server.views.cluster import queue_page
from tests.lifecycle.test_waits import gang


def standing(state: ClusterState) -> dict[str, tuple[int, int, int]]:
    return {
        each.name: (each.gpu_used_milli, each.deserved_gpu_milli, each.reclaimable_gpu_milli)
        for each in queue_page(state).items
    }


def test_what_is_used_beyond_quota_is_at_risk_once_another_queue_deserves_it() -> None:
    state, quota = ClusterState(), {"H100": Amount(4_000)}
    node = Node("n", 64_000, 1 << 20, (Device("H100"),) * 8)
    found: list[ev.Event] = [
        ev.NodeAdded(0, node),
        *(ev.QueueSet(0, Queue(name, quota=quota)) for name in ("red", "blue")),
        *(ev.GangSubmitted(0, gang(f"r{n}", 2, queue="red")) for n in range(3)),
    ]
    for event in found:
        state.apply(event)
    cycle(state, (), 1_000)
    assert standing(state) == {"red": (6_000, 6_000, 0), "blue": (0, 0, 0)}
    state.apply(ev.GangSubmitted(2_000, gang("b", 4, queue="blue")))
    state.deserved.refresh(2_000)
    assert standing(state) == {"red": (6_000, 4_000, 2_000), "blue": (0, 4_000, 0)}
