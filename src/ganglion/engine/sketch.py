"""The tree as it would be at another time, and back to what it is."""

from collections.abc import Iterable, Mapping

from ganglion.engine.condition import Condition
from ganglion.engine.holdings import Holdings
from ganglion.engine.record import GangRecord
from ganglion.engine.shapes import Shape
from ganglion.model.placement import PodPlacement

NOBODY = "-"
"""Tenancy of a node on which two tenants would meet: nobody may join either."""


class Sketch:
    """Lets pods leave and come in the tree alone, then puts every node back exactly.

    Unlike a `Tentative` it may let pods come where others still are, as plans for different
    times overlap; such a node then shows less room than nothing, and takes nobody.

    Args:
        state: as it was, once `restore` has been called.
    """

    def __init__(self, state: Holdings) -> None:
        self._state, self._tree = state, state.tree
        self._before: dict[int, tuple[int, int]] = {}
        self._shut: dict[int, None] = {}

    def leave(self, record: GangRecord, pods: Iterable[PodPlacement]) -> None:
        """Pods of a gang leave."""
        tree, shapes = self._tree, shapes_by_set(record)
        for pod in pods:
            rank = self._note(pod.node)
            sight = tree.table.sight(shapes[pod.pod_set])
            tree.leave(rank, sight, pod.devices, pod.milli)

    def come(self, record: GangRecord, pods: Iterable[PodPlacement]) -> None:
        """Pods of a gang come, whether there is room or not."""
        tree, shapes = self._tree, shapes_by_set(record)
        for pod in self.known(pods):
            rank = self._note(pod.node)
            shape = shapes[pod.pod_set]
            tenancy = tree.table.known[tree.conditions[rank]].tenancy
            tree.join(rank, tree.table.sight(shape), pod.devices, pod.milli)
            if tenancy not in ("", shape.tenancy):
                self._set(rank, tenancy=NOBODY)

    def known(self, pods: Iterable[PodPlacement]) -> list[PodPlacement]:
        """Those pods whose nodes are still there."""
        return [pod for pod in pods if pod.node in self._tree.index]

    def shut(self, ranks: Mapping[int, None]) -> None:
        """Exactly these nodes take nobody, beside those that do not anyway."""
        for rank in [each for each in self._shut if each not in ranks]:
            del self._shut[rank]
            self._set(rank, open=True)
        for rank in ranks:
            if self._condition(rank).open:
                self._note(self._tree.names[rank])
                self._shut[rank] = None
                self._set(rank, open=False)

    def restore(self) -> None:
        """Put every node back."""
        for rank, (condition, pods) in self._before.items():
            self._tree.pods[rank] = pods
            self._tree.move(rank, condition)
        self._before, self._shut = {}, {}

    def _note(self, node: str) -> int:
        rank = self._tree.index[node]
        if rank not in self._before:
            self._before[rank] = (self._tree.conditions[rank], self._tree.pods[rank])
        return rank

    def _condition(self, rank: int) -> Condition:
        return self._tree.table.known[self._tree.conditions[rank]]

    def _set(self, rank: int, **changes: object) -> None:
        table = self._tree.table
        changed = self._condition(rank)._replace(**changes)  # type: ignore[arg-type]
        self._tree.move(rank, table.intern(changed))


def shapes_by_set(record: GangRecord) -> dict[str, Shape]:
    """The shape of each pod set by its name."""
    return {s.name: shape for s, shape in zip(record.gang.pod_sets, record.shapes, strict=True)}
