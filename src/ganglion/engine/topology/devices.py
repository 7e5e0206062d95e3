"""Which devices of a node a pod gets."""

from collections.abc import Iterable, Sequence

from ganglion.model.fleet.levels import Level
from ganglion.model.resources import WHOLE

Kinds = Sequence[tuple[str, int, int, int]]
"""Per device: type, memory in MiB, NUMA node, NVLink island."""


def pick(
    kinds: Kinds, free: Sequence[int], usable: Iterable[int], count: int, together: Level | None
) -> tuple[int, ...]:
    """Choose `count` wholly free devices, as close to each other as can be.

    The tightest group that holds them all wins: first an NVLink island within one NUMA node,
    then an island, then a NUMA node; only then are islands joined, largest first.

    Args:
        kinds: the node's devices.
        free: thousandths free of each device.
        usable: indexes that the pod may use.
        count: devices wanted, at least 1.
        together: level that must not be crossed; None = any.

    Returns:
        Ascending indexes; empty when it cannot be done.
    """
    whole = [index for index in usable if free[index] == WHOLE]
    if len(whole) < count:
        return ()
    for key in _groupings(together):
        best = _tightest(_grouped(kinds, whole, key), count)
        if best:
            return tuple(best[:count])
    return () if together else _joined(_grouped(kinds, whole, (3,)), count)


def room(
    kinds: Kinds,
    free: Sequence[int],
    usable: Iterable[int],
    milli: Sequence[int],
    count: int,
    together: Level | None,
) -> int:
    """How many pods of `count` devices (or of a share of one) the free devices can hold."""
    if min([milli[index] for index in usable], default=WHOLE) < WHOLE:
        return sum(free[index] // milli[index] for index in usable)
    whole = [index for index in usable if free[index] == WHOLE]
    if not together:
        return len(whole) // count
    return sum(len(group) // count for group in _grouped(kinds, whole, _groupings(together)[-1]))


def largest(kinds: Kinds, usable: Iterable[int], together: Level) -> int:
    """Devices in the largest group of a node that shares a level."""
    groups = _grouped(kinds, list(usable), _groupings(together)[-1])
    return max(map(len, groups), default=0)


def _groupings(together: Level | None) -> tuple[tuple[int, ...], ...]:
    if together is Level.ISLAND:
        return ((2, 3), (3,))
    if together is Level.NUMA:
        return ((2, 3), (2,))
    return ((2, 3), (3,), (2,))


def _grouped(kinds: Kinds, indexes: list[int], key: tuple[int, ...]) -> list[list[int]]:
    groups: dict[tuple[object, ...], list[int]] = {}
    for index in indexes:
        groups.setdefault(tuple(kinds[index][part] for part in key), []).append(index)
    return list(groups.values())


def _tightest(groups: list[list[int]], count: int) -> list[int] | None:
    fitting = [group for group in groups if len(group) >= count]
    return min(fitting, key=lambda group: (len(group), group[0])) if fitting else None


def _joined(groups: list[list[int]], count: int) -> tuple[int, ...]:
    taken: list[int] = []
    for group in sorted(groups, key=lambda group: (-len(group), group[0])):
        taken += group[: count - len(taken)]
    return tuple(sorted(taken))
