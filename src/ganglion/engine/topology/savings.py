"""What gangs save on nodes that hold what their pods load, in seconds."""

from collections.abc import Mapping
from typing import NamedTuple

from ganglion.engine.topology.tree import Tree

MOST = 1024
"""Savings that are kept between two changes of nodes."""

Seconds = Mapping[int, int]


class Savings(NamedTuple):
    """What one gang saves.

    Attributes:
        nodes: by rank; the most first, then the lowest rank. Others save less than a second.
        domains: what the nodes of a domain save together.
    """

    nodes: Seconds
    domains: Seconds


NONE = Savings({}, {})


class SavingsByItems:
    """Savings by what is loaded, as long as no node is described anew.

    Args:
        tree: the nodes.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._seen = (-1, -1)
        self._holders: dict[str, dict[int, int]] = {}
        self._kept: dict[tuple[tuple[str, ...], int], Savings] = {}

    def of(self, items: tuple[str, ...], mib_per_s: int) -> Savings:
        """What nodes save whose pods load these items.

        Args:
            items: digests of models, names of images.
            mib_per_s: how fast nodes fetch; 0 = nothing is saved.
        """
        if not mib_per_s:
            return NONE
        self._sync()
        key = (items, mib_per_s)
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= MOST:
                self._kept.clear()
            found = self._kept[key] = self._find(items, mib_per_s)
        return found

    def _sync(self) -> None:
        seen = (self._tree.epoch, self._tree.descriptions)
        if self._seen == seen:
            return
        self._seen, self._holders, self._kept = seen, {}, {}
        for rank, node in enumerate(self._tree.nodes):
            for item, mib in node.holds.items():
                self._holders.setdefault(item, {})[rank] = mib

    def _find(self, items: tuple[str, ...], mib_per_s: int) -> Savings:
        held, domains = dict[int, int](), dict[int, int]()
        for item in items:
            for rank, mib in self._holders.get(item, {}).items():
                held[rank] = held.get(rank, 0) + mib
        seconds = ((rank, mib // mib_per_s) for rank, mib in held.items() if mib >= mib_per_s)
        nodes = dict(sorted(seconds, key=lambda each: (-each[1], each[0])))
        for rank, saved in nodes.items():
            for domain in self._tree.ancestors(rank):
                domains[domain] = domains.get(domain, 0) + saved
        return Savings(nodes, domains) if nodes else NONE
