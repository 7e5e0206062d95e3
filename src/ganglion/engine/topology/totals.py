"""Sums over the fleet, by condition rather than by node."""

from collections.abc import Mapping, Sequence

from ganglion.engine.topology.node_state import ShapeView, Visible
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.pod_shape import Shape
from ganglion.engine.topology.tree import Tree
from ganglion.model.fleet.node import milli_of, part_of
from ganglion.model.placement import Placement
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import WHOLE

SUMS = 64
"""Sums of what is visible that are kept up to date."""
SHAPES = 1_024
"""Gangs by their shapes of which the flavors are remembered, and shapes of which the parts are."""


class Totals:
    """What is free, by flavor and by what a shape may use."""

    def __init__(self, table: NodeStateTable, tree: Tree) -> None:
        self._table, self._tree = table, tree
        self._flavors: tuple[int, tuple[str, ...]] = (0, ())
        self._with: tuple[int, dict[tuple[str, ...], tuple[str, ...]]] = (0, {})
        self._usable: tuple[int, dict[tuple[Shape, ...], tuple[str, ...]]] = (0, {})
        self._version = (-1, -1)
        self._devices: dict[str, Visible] = {}
        self._sums: dict[Visible, _Sum] = {}
        self._present: dict[int, tuple[int, bool]] = {}

    def flavors(self) -> tuple[str, ...]:
        """All flavors met so far."""
        classes = self._table.classes
        if self._flavors[0] != len(classes):
            found = {name for each in classes for name in (each.flavor, each.cpu_flavor) if name}
            self._flavors = (len(classes), tuple(sorted(found)))
        return self._flavors[1]

    def charged(self, shape: Shape) -> frozenset[str]:
        """Flavors that pods of a shape may be charged in, for GPUs and for CPU and memory."""
        sight = self._table.sight(shape)
        return frozenset(
            name
            for index, node_class in enumerate(self._table.classes)
            if not self._table.view(sight, index).obstacle
            for name in (node_class.flavor, node_class.cpu_flavor)
            if name
        )

    def flavors_for(self, shapes: Sequence[Shape]) -> tuple[str, ...]:
        """Flavors that the GPU pods (or, without GPUs, all pods) may use."""
        key, classes = tuple(shapes), self._table.classes
        if self._usable[0] != len(classes) or len(self._usable[1]) >= SHAPES:
            self._usable = (len(classes), {})
        known = self._usable[1].get(key)
        if known is None:
            wanted = [each for each in shapes if each.request.gpu.count] or shapes
            found = {
                node_class.flavor
                for index, node_class in enumerate(classes)
                for shape in wanted
                if not self._table.view(self._table.sight(shape), index).obstacle
            }
            known = self._usable[1][key] = tuple(sorted(found))
        return known

    def capacity(self) -> dict[str, int]:
        """Thousandths of GPUs, free or not, of well devices on open nodes, by flavor and `*`."""
        known, classes = self._table.known, self._table.classes
        sums = {ANY_FLAVOR: 0}
        for each, count in self._tree.counts.items():
            condition = known[each]
            if condition.open:
                flavor = classes[condition.node_class].flavor
                milli = count * (len(condition.gpu) - len(condition.sick)) * WHOLE
                sums[flavor] = sums.get(flavor, 0) + milli
                sums[ANY_FLAVOR] += milli
        return sums

    def flavors_with(self, types: tuple[str, ...]) -> tuple[str, ...]:
        """Flavors whose nodes carry one of the GPU types; no types = any GPU."""
        classes = self._table.classes
        if self._with[0] != len(classes):
            self._with = (len(classes), {})
        known = self._with[1]
        if types not in known:
            found = {
                each.flavor
                for each in classes
                for device in each.devices
                if not types or device[0] in types
            }
            known[types] = tuple(sorted(found))
        return known[types]

    def free_gpu(self, flavor: str) -> int:
        """Thousandths of GPUs free on open nodes of a flavor; `*` = of all."""
        known = self._devices.get(flavor)
        classes = self._table.classes
        if known is None or len(known) != len(classes):
            known = self._devices[flavor] = tuple(
                tuple(range(len(each.devices))) if flavor in (ANY_FLAVOR, each.flavor) else ()
                for each in classes
            )
        return self._sum(known)

    def free_for(self, shapes: Sequence[Shape]) -> int:
        """Thousandths free of devices that the first GPU shape may use."""
        shape = next((each for each in shapes if each.request.gpu.count), None)
        if shape is None:
            return self.free_gpu(ANY_FLAVOR)
        return self._sum(self._visible(self._table.sight(shape)))

    def _sum(self, visible: Visible) -> int:
        """Thousandths free of some devices of every class, in all."""
        held = self._sums.get(visible)
        if held is None:
            if len(self._sums) == SUMS:
                self._sums.clear()
            held = self._sums[visible] = _Sum(self._tree, visible)
        return held.now()

    def present(self) -> Mapping[int, tuple[int, bool]]:
        """Per node class that occurs: how many nodes there are, whether any is open."""
        if self._version != self._tree.version:
            self._version, self._present = self._tree.version, {}
            for each, count in self._tree.counts.items():
                condition = self._table.known[each]
                before, is_open = self._present.get(condition.node_class, (0, False))
                self._present[condition.node_class] = (before + count, is_open or condition.open)
        return self._present

    def _visible(self, sight: ShapeView) -> Visible:
        """Devices that a shape may use, by node class: most shapes have these in common."""
        if len(sight.visible) != len(self._table.classes):
            views = [self._table.view(sight, each) for each in range(len(self._table.classes))]
            sight.visible = tuple(() if each.obstacle else each.devices for each in views)
        return sight.visible


class GpuParts:
    """What devices count as where usage is metered: parts of GPUs as their part of one.

    Args:
        table: node states.
        tree: the nodes, which say what their devices are parts of.
    """

    def __init__(self, table: NodeStateTable, tree: Tree) -> None:
        self._table, self._tree = table, tree
        self._seen = -1
        self._layouts: dict[tuple[int, tuple[int, ...]], None] = {}
        self._known: dict[Shape, dict[str, tuple[int, int]]] = {}

    def are_there(self) -> bool:
        """Whether some devices are parts of GPUs; else all that follows is known otherwise."""
        if self._seen != self._tree.descriptions:
            self._look()
        return bool(self._layouts)

    def held(self, placement: Placement) -> dict[str, int]:
        """Thousandths of GPUs that a placement holds, by flavor."""
        tree, milli = self._tree, dict[str, int]()
        for pod in placement.pods:
            rank = tree.index[pod.node]
            flavor, parts = tree.flavors[rank], tree.nodes[rank].parts
            milli[flavor] = milli.get(flavor, 0) + milli_of(pod, parts)
        return milli

    def of(self, shape: Shape) -> dict[str, tuple[int, int]]:
        """By flavor: the least and the most that a pod of a shape holds of each of its devices.

        Flavors are those of the nodes that there are.
        """
        if self._seen != self._tree.descriptions or len(self._known) >= SHAPES:
            self._look()
        known = self._known.get(shape)
        if known is None:
            known = self._known[shape] = {}
            for node_class, parts in self._layouts:
                view = self._table.view(self._table.sight(shape), node_class)
                held = [part_of(parts, i) * view.milli[i] // WHOLE for i in view.devices]
                if held and not view.obstacle:
                    flavor = self._table.classes[node_class].flavor
                    both = *known.get(flavor, ()), *held
                    known[flavor] = min(both), max(both)
        return known

    def _look(self) -> None:
        """Find out which parts nodes of each class have, where some have any."""
        tree = self._tree
        tree.settle()
        self._seen, self._known, self._layouts = tree.descriptions, {}, {}
        if any(node.parts for node in tree.nodes):
            classes = (self._table.known[each].node_class for each in tree.conditions)
            layouts = zip(classes, (node.parts for node in tree.nodes), strict=True)
            self._layouts = dict.fromkeys(layouts)


class _Sum:
    """Thousandths free of the devices that are visible, which follow the tree's log of changes.

    Args:
        tree: the nodes.
        visible: indexes of the devices, by node class.
    """

    def __init__(self, tree: Tree, visible: Visible) -> None:
        self._tree, self._visible = tree, visible
        self._epoch, self._cursor = -1, 0
        self._of: dict[int, int] = {}
        self._parts: list[int] = []
        self._total = 0

    def now(self) -> int:
        """The sum as things stand."""
        tree, parts, known = self._tree, self._parts, self._of
        changes = tree.changes
        if self._epoch != tree.epoch or len(changes) - self._cursor > len(tree.nodes):
            self._epoch = tree.epoch
            self._of = {each: self._free(each) for each in tree.counts}
            self._parts = [self._of[each] for each in tree.conditions]
            self._total = sum(self._parts)
        else:
            for rank in changes[self._cursor :]:
                condition = tree.conditions[rank]
                free = known.get(condition)
                if free is None:
                    free = known[condition] = self._free(condition)
                self._total += free - parts[rank]
                parts[rank] = free
        self._cursor = len(changes)
        return self._total

    def _free(self, condition_id: int) -> int:
        condition = self._tree.table.known[condition_id]
        devices = self._visible[condition.node_class]
        if not devices or not condition.open:
            return 0
        usable = condition.usable
        return sum([usable[index] for index in devices if usable[index] > 0])
