"""Gives every living pod its seat."""

from collections.abc import Callable, Iterable, Sequence

from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import Member
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    ANYWHERE,
    ClaimedSeat,
    SetShape,
    label_index,
)

Held = dict[str, tuple[str, int]]
"""UID of a pod -> set and index it sits at."""


class Seating:
    """One go at seating the pods of a gang.

    Args:
        shapes: the sets there are.
        seat_of: where a pod says it belongs.
        held: where living pods sat before; a pod that could sit anywhere stays there.
    """

    def __init__(
        self, shapes: Iterable[SetShape], seat_of: Callable[[Pod], ClaimedSeat], held: Held
    ) -> None:
        self._shapes = {each.name: each for each in shapes}
        self._seat_of = seat_of
        self._held = held
        self._taken: dict[tuple[str, int], Pod] = {}
        self._free = dict.fromkeys(self._shapes, 0)

    def seat(self, pods: Sequence[Pod]) -> tuple[tuple[Member, ...], tuple[Pod, ...]]:
        """Return members by set and index, and the pods that found no seat, by name."""
        wishes = sorted(((self._wish(pod), pod) for pod in pods), key=_first_come)
        wishes = self._pass(wishes, self._exact)
        wishes = self._pass(wishes, self._as_before)
        wishes = self._pass(wishes, self._natural)
        wishes = self._pass(wishes, self._anywhere)
        order = {name: place for place, name in enumerate(self._shapes)}
        seats = sorted(self._taken, key=lambda each: (order[each[0]], each[1]))
        members = tuple(Member(self._taken[each], *each) for each in seats)
        return members, tuple(sorted((pod for _, pod in wishes), key=lambda pod: pod.key))

    def _wish(self, pod: Pod) -> ClaimedSeat:
        named = pod.metadata.annotations.get(names.POD_SET, "")
        if named in self._shapes and (index := label_index(pod, names.INDEX)) != ANYWHERE:
            return ClaimedSeat(named, index)
        return self._seat_of(pod)

    def _pass(
        self,
        wishes: list[tuple[ClaimedSeat, Pod]],
        place: Callable[[ClaimedSeat, Pod, SetShape], int],
    ) -> list[tuple[ClaimedSeat, Pod]]:
        """Seat those that can be placed this way; returns the others."""
        left = []
        for wish, pod in wishes:
            shape = self._shapes.get(wish.pod_set)
            index = place(wish, pod, shape) if shape else ANYWHERE
            if shape is None or not 0 <= index < shape.seats or (shape.name, index) in self._taken:
                left.append((wish, pod))
            else:
                self._taken[shape.name, index] = pod
        return left

    def _exact(self, wish: ClaimedSeat, pod: Pod, shape: SetShape) -> int:
        return (
            _number(wish, shape)
            if shape.strict or names.INDEX in pod.metadata.annotations
            else ANYWHERE
        )

    def _as_before(self, wish: ClaimedSeat, pod: Pod, shape: SetShape) -> int:
        name, index = self._held.get(pod.metadata.uid, ("", ANYWHERE))
        return index if name == shape.name and _may_move(wish, shape) else ANYWHERE

    def _natural(self, wish: ClaimedSeat, _pod: Pod, shape: SetShape) -> int:
        return _number(wish, shape) if _may_move(wish, shape) else ANYWHERE

    def _anywhere(self, wish: ClaimedSeat, _pod: Pod, shape: SetShape) -> int:
        if not _may_move(wish, shape):
            return ANYWHERE
        while (shape.name, self._free[shape.name]) in self._taken:
            self._free[shape.name] += 1
        return self._free[shape.name]


def _may_move(wish: ClaimedSeat, shape: SetShape) -> bool:
    return not shape.strict or wish.index == ANYWHERE


def _number(wish: ClaimedSeat, shape: SetShape) -> int:
    if wish.index == ANYWHERE:
        return ANYWHERE
    return wish.block * shape.block + wish.index - shape.first


def _first_come(each: tuple[ClaimedSeat, Pod]) -> tuple[bool, int, int, str, str]:
    """A pod on a node keeps it; then by rank, age and name."""
    wish, pod = each
    meta = pod.metadata
    return (not pod.spec.node_name, wish.block, wish.index, meta.creation_timestamp, meta.name)
