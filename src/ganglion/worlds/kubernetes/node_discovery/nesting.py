"""Whether the domains of all nodes lie within each other, as a tree needs it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.model.fleet.levels import DEPTH, Level
from ganglion.model.fleet.node import Node

TRUST: tuple[Level, ...] = (
    Level.NVLINK,
    Level.REGION,
    Level.ZONE,
    Level.BLOCK,
    Level.RACK,
)
"""Levels in the order in which they are believed. NVLink domains come from the hardware; of
the others the wider is harder to get wrong."""

MOST_NAMES = 6
"""Nodes named in one message about a domain."""

Domains = dict[str, str]
"""Node -> its domain at one level."""


class NestingFaults(Struct, frozen=True):
    """What does not fit together.

    Attributes:
        dropped: node -> the levels that are left out for it.
        troubles: what contradicts itself, with the nodes; sorted.
    """

    dropped: dict[str, frozenset[Level]] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()

    def settled(self, node: Node) -> Node:
        """The node without the levels that are in doubt."""
        gone = self.dropped.get(node.name)
        if not gone:
            return node
        kept = {level: name for level, name in node.domains.items() if level not in gone}
        return replace(node, domains=kept)


def check_levels(nodes: Iterable[Node]) -> NestingFaults:
    """Find domains that lie in two others, as a rack under two blocks.

    Of two levels that contradict each other the less believed one is left out, for the nodes of
    the domain in question only: a placement within it would rest on a guess. What the others say
    stays in use. Nodes without a label contradict none, nor do nodes of different clusters,
    which may well lie in one zone.
    """
    dropped: defaultdict[str, set[Level]] = defaultdict(set)
    troubles: list[str] = []
    by_level = _by_level(nodes)
    for rank, level in enumerate(TRUST):
        for other in TRUST[:rank]:
            wide, narrow = sorted((level, other), key=DEPTH.__getitem__)
            for name, parts in _contested(by_level[narrow], by_level[wide]).items():
                troubles.append(_trouble(narrow, name, wide, parts, level))
                for node in (node for part in parts.values() for node in part):
                    dropped[node].add(level)
        for node, levels in dropped.items():
            if level in levels:
                by_level[level].pop(node, None)
    frozen = {node: frozenset(levels) for node, levels in dropped.items()}
    return NestingFaults(frozen, tuple(sorted(troubles)))


def _by_level(nodes: Iterable[Node]) -> dict[Level, Domains]:
    found: dict[Level, Domains] = {level: {} for level in TRUST}
    for node in nodes:
        cluster = node.domains.get(Level.CLUSTER, "")
        for level, name in node.domains.items():
            if level in found:
                found[level][node.name] = f"{cluster}/{name}" if cluster else name
    return found


def _contested(narrow: Domains, wide: Domains) -> dict[str, dict[str, list[str]]]:
    """Narrow domains that lie in more than one wide one, with the nodes in each."""
    parts: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for node, name in narrow.items():
        if node in wide:
            parts[name][wide[node]].append(node)
    return {name: dict(each) for name, each in sorted(parts.items()) if len(each) > 1}


def _trouble(
    narrow: Level, name: str, wide: Level, parts: Mapping[str, list[str]], left_out: Level
) -> str:
    sizes = sorted(parts.items(), key=lambda part: (len(part[1]), part[0]))
    where = " and ".join(f"{wide} {each} ({_names(nodes)})" for each, nodes in sizes)
    return f"{narrow} {name} lies in {where}: {left_out} is left out for these nodes"


def _names(nodes: list[str]) -> str:
    shown = sorted(nodes)[:MOST_NAMES]
    more = len(nodes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
