"""Node conditions: every distinct state a node can be in, met once and remembered.

Nodes of one class with the same resources free are interchangeable, so whatever is costly
(may this pod run here, on which devices, how good is it, what is left) is answered once per
(shape, condition) and looked up ever after. A fleet of thousands of nodes is in a few dozen
conditions, which is what makes a placement cost microseconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

import numpy as np

from ganglion.engine.plugins.protocols import (
    Ints,
    NodeClass,
    Plugins,
    Preferring,
    Rank,
    Rows,
    Typical,
)
from ganglion.engine.topology.devices import room
from ganglion.engine.topology.node_state import (
    Extras,
    NodeState,
    ShapeView,
    changed,
    may_join,
    room_by_extras,
    trimmed,
)
from ganglion.engine.topology.pod_shape import Shape, View, look, rank_of
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.model.resources import WHOLE, PodRequest


class NodeStateTable:
    """The table of conditions and of what every shape sees in them.

    Attributes:
        plugins: Filter plugins, whose answers are cached here, and Score plugins.
        typical, supply: what scores are measured against.
        yardstick: grows whenever that changes, and with it all scores.
        classes, known: node classes and conditions by number.
        whole: devices that are wholly free, by condition.
        columns: the conditions as arrays.
    """

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self.typical: Typical = ()
        self.supply: dict[str, int] = {}
        self.yardstick = 0
        self.classes: list[NodeClass] = []
        self.known: list[NodeState] = []
        self.whole: list[int] = []
        self._class_ids: dict[NodeClass, int] = {}
        self._ids: dict[NodeState, int] = {}
        self._sights: dict[Shape, ShapeView] = {}
        self.columns = Columns()
        self._forked = False
        self._preferring: tuple[tuple[int, Preferring], ...] = tuple(
            (at, each) for at, each in enumerate(plugins.filters) if isinstance(each, Preferring)
        )[:1]

    def fork(self) -> "NodeStateTable":
        """A table that shares everything with this one until it forgets or is measured anew.

        Both may add to what they share: a condition has one number in both.
        """
        found = copy(self)
        found._forked = True
        return found

    @property
    def size(self) -> int:
        """Conditions and shapes remembered."""
        return len(self.known) + len(self._sights)

    def forget(self, live: Iterable[int]) -> dict[int, int]:
        """Forget all conditions but the live ones, and every shape.

        Returns:
            Old number -> new number of the live ones. A caller that holds a `ShapeView` or any
            other number must drop it.
        """
        kept = {each: self.known[each] for each in sorted(set(live))}
        self.known, self.whole, self._ids, self._sights = [], [], {}, {}
        self.columns = Columns()
        return {each: self.intern(condition) for each, condition in kept.items()}

    def class_id(self, node_class: NodeClass) -> int:
        """Number of a node class, given on first sight."""
        found = self._class_ids.get(node_class)
        if found is None:
            found = self._class_ids[node_class] = len(self.classes)
            self.classes.append(node_class)
        return found

    def intern(self, condition: NodeState) -> int:
        """Number of a condition, given on first sight."""
        found = self._ids.get(condition)
        if found is None:
            found = self._ids[condition] = len(self.known)
            self.known.append(condition)
            self.whole.append(condition.gpu.count(WHOLE))
            self.columns.write(found, condition)
        return found

    def bare(self, class_id: int) -> int:
        """The condition of an empty, open node of a class with all devices well."""
        node = self.classes[class_id]
        gpu = (WHOLE,) * len(node.devices)
        cpu, memory, slots = node.cpu_milli, node.memory_mib, node.max_pods
        return self.intern(NodeState(class_id, True, "", cpu, memory, slots, (), gpu, node.extras))

    def sight(self, shape: Shape) -> ShapeView:
        """The cache of a shape."""
        found = self._sights.get(shape)
        if found is None:
            found = self._sights[shape] = ShapeView(shape)
        return found

    def measure_by(self, typical: Typical, supply: dict[str, int]) -> None:
        """Score against this workload and these devices by type from now on."""
        if typical == self.typical and supply == self.supply:
            return
        self.typical, self.supply = typical, supply
        self.yardstick += 1
        if self._forked:
            self._sights = {}
        for sight in self._sights.values():
            sight.scores.clear()
            sight.devices.clear()

    def view(self, sight: ShapeView, class_id: int) -> View:
        """What a shape can use of a node class."""
        views = sight.views
        while len(views) <= class_id:
            views.append(look(sight.shape, self.classes[len(views)], self.plugins.filters))
        return views[class_id]

    def preferring(self, shape: Shape) -> Preferring | None:
        """The plugin by which pods of a shape prefer some nodes to others; None = they do not."""
        for at, plugin in self._preferring:
            if plugin.prefers(shape.keys[at]):
                return plugin
        return None

    def ranks(self, sight: ShapeView) -> Sequence[Rank]:
        """The ranks of the nodes that a shape may use, by what its pods prefer."""
        for at in range(sight.ranked, len(self.classes)):
            if not self.view(sight, at).obstacle:
                rank = rank_of(sight.shape, self.classes[at], self.plugins.filters)
                sight.ranks[rank] = None
        sight.ranked = len(self.classes)
        return tuple(sight.ranks)

    def room(self, sight: ShapeView, condition_id: int) -> int:
        """How many pods of the shape fit on a node in this condition."""
        found = sight.rooms.get(condition_id)
        if found is None:
            found = sight.rooms[condition_id] = self._room(sight, self.known[condition_id])
        return found

    def rooms(self, sight: ShapeView, conditions: Iterable[int]) -> dict[int, int]:
        """The same for many conditions."""
        known, whole, least, room = sight.rooms, self.whole, sight.least, self.room
        return {
            each: 0 if whole[each] < least else known[each] if each in known else room(sight, each)
            for each in conditions
        }

    def obstacle(self, sight: ShapeView, condition_id: int) -> str:
        """The first thing that keeps one pod off a node in this condition; empty = nothing."""
        condition = self.known[condition_id]
        if not condition.open:
            return "draining"
        view = self.view(sight, condition.node_class)
        if view.obstacle:
            return view.obstacle
        if not may_join(sight.shape, condition):
            return "isolated"
        return self._shortage(sight, condition, view)

    def joined(
        self, condition_id: int, sight: ShapeView, devices: tuple[int, ...], milli: int
    ) -> int:
        """The condition when one more pod of the shape has come."""
        key = (condition_id, devices, milli)
        found = sight.joined.get(key)
        if found is None:
            after = changed(self.known[condition_id], sight.shape, devices, milli, 1)
            found = sight.joined[key] = self.intern(after)
        return found

    def left(
        self, condition_id: int, sight: ShapeView, devices: tuple[int, ...], milli: int, empty: bool
    ) -> int:
        """The condition when a pod of the shape has gone; `empty` when it was the last one."""
        key = (condition_id, devices, milli, empty)
        found = sight.left.get(key)
        if found is None:
            after = changed(self.known[condition_id], sight.shape, devices, milli, -1)
            after = trimmed(after, len(self.classes[after.node_class].devices))
            found = self.intern(after._replace(tenancy="") if empty else after)
            sight.left[key] = found
        return found

    def _room(self, sight: ShapeView, condition: NodeState) -> int:
        if sight.least and condition.gpu.count(WHOLE) < sight.least:
            return 0  # so are most nodes of a busy fleet
        shape = sight.shape
        view = self.view(sight, condition.node_class)
        if not condition.open or view.obstacle or not may_join(shape, condition):
            return 0
        request = shape.request
        most = condition.slots
        if request.cpu_milli:
            most = min(most, condition.cpu // request.cpu_milli)
        if request.memory_mib:
            most = min(most, condition.memory // request.memory_mib)
        if request.extras:
            most = room_by_extras(condition.extras, request.extras, most)
        if request.gpu.count and most > 0:
            most = min(most, self._gpu_room(sight, condition, view))
        return max(most, 0)

    def _gpu_room(self, sight: ShapeView, condition: NodeState, view: View) -> int:
        return room(
            self.classes[condition.node_class].devices,
            condition.usable,
            view.devices,
            view.milli,
            sight.shape.request.gpu.count,
            sight.shape.request.together,
        )

    def _shortage(self, sight: ShapeView, condition: NodeState, view: View) -> str:
        request = sight.shape.request
        if request.gpu.count and not self._gpu_room(sight, condition, view):
            return "too few free GPUs"
        if request.cpu_milli > condition.cpu:
            return "too little free CPU"
        if request.memory_mib > condition.memory:
            return "too little free memory"
        for each in request.extras:
            if not room_by_extras(condition.extras, (each,), 1):
                return f"too little free {each[0]}"
        return "" if condition.slots > 0 else "no free pod slot"


def class_of(node: Node) -> NodeClass:
    """The class of a node: all of it but its name, its place and what is in use."""
    return NodeClass(
        node.cpu_milli,
        node.memory_mib,
        node.max_pods,
        tuple((each.type, each.memory_mib, each.numa, each.island) for each in node.devices),
        tuple(sorted(node.labels.items())),
        node.kind,
        node.domains.get(Level.REGION, ""),
        node.cpu_kind,
        extras_of(node),
    )


def extras_of(node: Node) -> Extras:
    """What a node has of resources that are only counted."""
    return tuple(sorted((name, amount) for name, amount in node.extras.items() if amount))


class Columns:
    """One row per condition, by its number.

    Attributes:
        fixed: int64[N, 3]: class, CPU and memory free.
        gpu: int64[N, D]: thousandths free of each device that may be given out.
    """

    def __init__(self) -> None:
        self.fixed: Ints = np.zeros((64, 3), dtype=np.int64)
        self.gpu: Ints = np.zeros((64, 8), dtype=np.int64)

    def write(self, row: int, condition: NodeState) -> None:
        """Set the row of a condition."""
        width = max(self.gpu.shape[1], len(condition.gpu))
        if row >= len(self.gpu) or width > self.gpu.shape[1]:
            self.fixed = _grown(self.fixed, row, 3)
            self.gpu = _grown(self.gpu, row, width)
        self.fixed[row] = (condition.node_class, condition.cpu, condition.memory)
        self.gpu[row] = 0  # a condition that was forgotten may have had more devices
        self.gpu[row, : len(condition.gpu)] = condition.usable

    def rows(
        self,
        of: Ints,
        after: Ints,
        request: PodRequest,
        *,
        node: Ints,
        device: Ints,
        classes: Sequence[NodeClass],
        supply: Mapping[str, int],
    ) -> Rows:
        """The rows for conditions `of`, int64[R], whose devices are `after`, int64[R, D]."""
        fixed = self.fixed[of]
        cpu, memory = fixed[:, 1], fixed[:, 2]
        return Rows(
            classes,
            fixed[:, 0],
            node,
            cpu,
            memory,
            self.gpu[of],
            cpu - request.cpu_milli,
            memory - request.memory_mib,
            after,
            device,
            supply,
        )


def _grown(table: Ints, row: int, width: int) -> Ints:
    height = max(len(table), 2 * row, 64)
    larger = np.zeros((height, width), dtype=np.int64)
    larger[: table.shape[0], : table.shape[1]] = table
    return larger
