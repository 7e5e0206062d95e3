"""The processes by which nodes and devices fail and come back."""

from collections.abc import Callable, Iterable

from ganglion.model.events import DeviceHealth, NodeAdded, NodeLost
from ganglion.model.fleet.node import Node
from ganglion.worlds.simulated.faults.rates import Dice
from ganglion.worlds.simulated.faults.reports import Reports
from ganglion.worlds.simulated.heap import Heap
from ganglion.worlds.simulated.watcher import Watcher

NODE_DOWN, NODE_UP, DEVICE_DOWN, DEVICE_UP = 10, 11, 12, 13

FAULT = "a simulated fault"

Kill = Callable[[str, int | None], None]
"""Ends the attempts on a node, or only those on one of its devices."""


class Breakage:
    """Nodes and devices: which are up, and which fail next.

    A node that comes back has all its devices usable. Failures to come do not keep a run
    going; repairs under way do, since a gang may wait for them.

    Args:
        nodes: the cluster as it should be.
        heap: where things to come are planned.
        dice: when they happen.
        reports: how they reach the engine.
        watcher: who else does.
        kill: ends attempts.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        heap: Heap,
        dice: Dice,
        reports: Reports,
        watcher: Watcher,
        kill: Kill,
    ) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._heap, self._dice, self._reports = heap, dice, reports
        self._watcher, self._kill = watcher, kill
        self._down: set[str] = set()
        self._sick: set[tuple[str, int]] = set()
        self._losses: dict[str, int] = {}

    @property
    def whole(self) -> bool:
        """Whether every node is there and every device usable."""
        return not self._down and not self._sick

    def has(self, nodes: Iterable[str]) -> bool:
        """Whether all of these nodes are there."""
        return all(name in self._nodes and name not in self._down for name in nodes)

    def begin(self) -> None:
        """Plan the first failure of each node and of its devices."""
        for node in self._nodes.values():
            self._plan_loss(node.name)
            self._plan_failure(node)

    def node_down(self, name: str) -> None:
        """A node is lost with everything on it."""
        heap, node = self._heap, self._nodes[name]
        self._down.add(name)
        self._losses[name] = self._losses.get(name, 0) + 1
        self._sick = {device for device in self._sick if device[0] != name}
        self._reports.fact(NodeLost(heap.now, name))
        self._kill(name, None)
        self._watcher.node_down(node, heap.now)
        heap.push(heap.now + self._dice.node_down_ms(), NODE_UP, name)

    def node_up(self, name: str) -> None:
        """A lost node is back."""
        node = self._nodes[name]
        self._down.discard(name)
        self._reports.fact(NodeAdded(self._heap.now, node))
        self._watcher.node_up(node, self._heap.now)
        self._plan_loss(name)

    def device_down(self, name: str) -> None:
        """One of a node's devices fails, unless the node is away or the device failed before."""
        heap, node = self._heap, self._nodes[name]
        index = self._dice.device(len(node.devices))
        self._plan_failure(node)
        if name in self._down or (name, index) in self._sick:
            return
        self._sick.add((name, index))
        self._reports.fact(DeviceHealth(heap.now, name, index, healthy=False, cause=FAULT))
        self._kill(name, index)
        self._watcher.device(node, index, False, heap.now)
        repaired = heap.now + self._dice.device_down_ms()
        heap.push(repaired, DEVICE_UP, (name, index, self._losses.get(name, 0)))

    def device_up(self, which: tuple[str, int, int]) -> None:
        """A failed device is usable again, unless its node was replaced meanwhile."""
        name, index, losses = which
        if losses != self._losses.get(name, 0):
            return
        self._sick.discard((name, index))
        self._reports.fact(DeviceHealth(self._heap.now, name, index, healthy=True))
        self._watcher.device(self._nodes[name], index, True, self._heap.now)

    # --- what happens by no dice ------------------------------------------------------------

    def joins(self, node: Node) -> None:
        """A node joins, comes back or is described anew; with other devices it loses its pods."""
        known = self._nodes.get(node.name)
        there = known is not None and node.name not in self._down
        if there and known and known.devices != node.devices:
            self.leaves(node.name)
            there = False
        self._nodes[node.name] = node
        self._reports.fact(NodeAdded(self._heap.now, node))
        if not there:
            self._down.discard(node.name)
            self._watcher.node_up(node, self._heap.now)

    def leaves(self, name: str) -> None:
        """A node is lost with everything on it, until it joins again."""
        node = self._nodes.get(name)
        if node is None or name in self._down:
            return
        self._down.add(name)
        self._sick = {device for device in self._sick if device[0] != name}
        self._reports.fact(NodeLost(self._heap.now, name))
        self._kill(name, None)
        self._watcher.node_down(node, self._heap.now)

    def device_is(self, fact: DeviceHealth) -> None:
        """A device of a node that is there fails, or is usable again."""
        node, device = self._nodes.get(fact.node), (fact.node, fact.device)
        if node is None or fact.node in self._down or fact.device >= len(node.devices):
            return
        if fact.healthy == (device not in self._sick):
            return
        self._reports.fact(fact)
        if fact.healthy:
            self._sick.discard(device)
        else:
            self._sick.add(device)
            self._kill(*device)
        self._watcher.device(node, fact.device, fact.healthy, self._heap.now)

    def _plan_loss(self, name: str) -> None:
        if self._dice.faults.node_mtbf_ms:
            at = self._heap.now + self._dice.node_up_ms(name)
            self._heap.push(at, NODE_DOWN, name, background=True)

    def _plan_failure(self, node: Node) -> None:
        if self._dice.faults.device_mtbf_ms and node.devices:
            at = self._heap.now + self._dice.device_up_ms(node.name, len(node.devices))
            self._heap.push(at, DEVICE_DOWN, node.name, background=True)
