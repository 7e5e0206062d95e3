"""The tree as it would be at another time, and back to what it is."""

from collections.abc import Iterable, Mapping
from typing import Self

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.engine.topology.node_state import NodeState, changed
from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.placement import PodPlacement

NOBODY = "-"
"""Tenancy of a node on which two tenants would meet: no pod may join either."""


class Sketch:
    """Lets pods leave and come in the tree alone, then puts every node back exactly.

    Unlike a `Tentative` it may let pods come where others still are, as plans for different
    times overlap; such a node then shows less room than nothing, and accepts no pods.

    Args:
        state: as it was, once `restore` has been called.
    """

    def __init__(self, state: Store) -> None:
        self._state, self._tree = state, state.fleet.tree
        self._before: dict[int, tuple[int, int]] = {}
        self._shut: dict[int, None] = {}
        self._overfull: dict[int, NodeState] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def leave(self, record: GangRecord, pods: Iterable[PodPlacement]) -> None:
        """Pods of a gang leave."""
        tree, shapes = self._tree, shapes_by_set(record)
        for pod in pods:
            rank, shape = self._note(pod.node), shapes[pod.pod_set]
            if rank not in self._overfull:
                tree.leave(rank, tree.table.sight(shape), pod.devices, pod.milli)
                continue
            tree.pods[rank] -= 1
            after = changed(self._overfull[rank], shape, pod.devices, pod.milli, -1)
            self._put(rank, after if tree.pods[rank] else after._replace(tenancy=""))

    def come(self, record: GangRecord, pods: Iterable[PodPlacement]) -> None:
        """Pods of a gang come, whether there is room or not."""
        tree, shapes = self._tree, shapes_by_set(record)
        for pod in self.known(pods):
            rank, shape = self._note(pod.node), shapes[pod.pod_set]
            before = self._condition(rank)
            after = changed(before, shape, pod.devices, pod.milli, 1)
            if before.tenancy not in ("", shape.tenancy):
                after = after._replace(tenancy=NOBODY)
            tree.pods[rank] += 1
            self._put(rank, after)

    def known(self, pods: Iterable[PodPlacement]) -> list[PodPlacement]:
        """Those pods whose nodes are still there."""
        return [pod for pod in pods if pod.node in self._tree.index]

    def shut(self, ranks: Mapping[int, None]) -> None:
        """Exactly these nodes accept no pods, beside those that do not anyway."""
        for rank in [each for each in self._shut if each not in ranks]:
            del self._shut[rank]
            self._put(rank, self._condition(rank)._replace(open=True))
        for rank in ranks:
            if self._condition(rank).open:
                self._note(self._tree.names[rank])
                self._shut[rank] = None
                self._put(rank, self._condition(rank)._replace(open=False))

    def restore(self) -> None:
        """Put every node back."""
        for rank, (condition, pods) in self._before.items():
            self._tree.pods[rank] = pods
            self._tree.move(rank, condition)
        self._before, self._shut, self._overfull = {}, {}, {}

    def _note(self, node: str) -> int:
        rank = self._tree.index[node]
        if rank not in self._before:
            self._before[rank] = (self._tree.conditions[rank], self._tree.pods[rank])
        return rank

    def _condition(self, rank: int) -> NodeState:
        known = self._overfull.get(rank)
        return known or self._tree.table.known[self._tree.conditions[rank]]

    def _put(self, rank: int, condition: NodeState) -> None:
        """The tree never shows less than nothing; what is owed is remembered here."""
        shown = _not_negative(condition)
        if shown == condition:
            self._overfull.pop(rank, None)
        else:
            self._overfull[rank] = condition
        self._tree.move(rank, self._tree.table.intern(shown))


def _not_negative(condition: NodeState) -> NodeState:
    lowest = min(condition.cpu, condition.memory, condition.slots, *condition.gpu)
    if lowest >= 0:
        return condition
    return condition._replace(
        cpu=max(condition.cpu, 0),
        memory=max(condition.memory, 0),
        slots=max(condition.slots, 0),
        gpu=tuple(max(free, 0) for free in condition.gpu),
    )


def shapes_by_set(record: GangRecord) -> dict[str, Shape]:
    """The shape of each pod set by its name."""
    return {s.name: shape for s, shape in zip(record.gang.pod_sets, record.shapes, strict=True)}
