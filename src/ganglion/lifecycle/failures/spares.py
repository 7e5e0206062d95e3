"""Nodes that are kept free so that a gang that loses one finds another at once.

A spare is an empty, healthy node that takes nothing new. When a node is lost or shut, one
spare is given free for it, in the same rack if there is one there; when the fleet is whole
again, an empty node takes its place.

Source: spare hosts of large training systems, as in Jiang et al., "MegaScale", NSDI 2024.
"""

from collections.abc import Sequence

from msgspec import Struct


class Host(Struct, frozen=True):
    """A node as far as spares are concerned.

    Attributes:
        name: its name.
        kind: only nodes of one kind stand in for each other.
        place: names of the domains around it, the widest first.
        empty: whether nothing runs there.
        spare: whether it is kept free at present.
        missing: whether it is lost or shut, and so needs a spare to replace it.
    """

    name: str
    kind: str
    place: tuple[str, ...] = ()
    empty: bool = False
    spare: bool = False
    missing: bool = False


class SpareChange(Struct, frozen=True):
    """What is to become of spares: names of nodes to keep free, and to give free."""

    keep: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


def plan(hosts: Sequence[Host], wanted: int) -> SpareChange:
    """Bring the number of spares to what is wanted, less one for each node that is missing.

    Args:
        hosts: all nodes.
        wanted: spares of each kind when no node is missing.
    """
    keep: list[str] = []
    free: list[str] = []
    for kind in dict.fromkeys(host.kind for host in hosts):
        ours = [host for host in hosts if host.kind == kind]
        gone = [host for host in ours if host.missing]
        have = [host for host in ours if host.spare and not host.missing]
        target = max(min(wanted, len(ours) - 1) - len(gone), 0)
        if len(have) > target:
            free += _nearest(have, gone, len(have) - target)
        else:
            keep += _best(ours, have, target - len(have))
    return SpareChange(tuple(keep), tuple(free))


def _nearest(have: Sequence[Host], gone: Sequence[Host], count: int) -> list[str]:
    """Spares to give free: first those that share most domains with a node that is missing."""
    ranked = sorted(
        have, key=lambda host: (-max((_shared(host, each) for each in gone), default=0), host.name)
    )
    return [host.name for host in ranked[:count]]


def _best(ours: Sequence[Host], have: Sequence[Host], count: int) -> list[str]:
    """Nodes to keep free: empty ones, spread over the domains."""
    found, taken = list[str](), list(have)
    left = [host for host in ours if host.empty and not host.spare and not host.missing]
    while left and len(found) < count:
        chosen = min(left, key=lambda host: (sum(_shared(host, each) for each in taken), host.name))
        left.remove(chosen)
        taken.append(chosen)
        found.append(chosen.name)
    return found


def _shared(one: Host, other: Host) -> int:
    """How many domains two nodes share."""
    return sum(a == b for a, b in zip(one.place, other.place, strict=False))
