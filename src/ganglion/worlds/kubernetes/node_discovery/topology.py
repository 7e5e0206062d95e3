"""The domains that a node lies in."""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import ABOVE_NODE, Level
from ganglion.worlds.kubernetes.names import HOSTNAME
from ganglion.worlds.kubernetes.node_discovery.presets import (
    FABRICS,
    LINKS,
    LINKS_OF_ALL,
    LINKS_OF_RACKS,
    NOWHERE,
    PLACES,
    SUB_LINKS,
)

_UNNAMED_CLUSTER = "00000000-0000-0000-0000-000000000000"
"""Fabric that was never set up; every node without one reports it."""


class TopologySources(Struct, frozen=True):
    """Where the levels of the topology are read from.

    Attributes:
        keys: label key -> level. A level named here is read from these labels alone, in this
            order; the others are discovered.
        ignored: levels that are not used at all.
        relative: levels whose names only count within the level above, as `r1` in every block.
    """

    keys: dict[str, Level] = field(default_factory=dict)
    ignored: frozenset[Level] = frozenset()
    relative: frozenset[Level] = frozenset()


DISCOVERED = TopologySources()
"""Every level is discovered."""


def sources_from(
    keys: Mapping[str, str], ignored: Iterable[str] = (), relative: Iterable[str] = ()
) -> TopologySources:
    """Sources as settings give them.

    Args:
        keys: label key -> name of a level between `cluster` and `nvlink-domain`.
        ignored: names of levels that are not used.
        relative: names of levels whose domains are named anew in every domain above.

    Raises:
        FieldError: there is no such level above nodes.
    """
    return TopologySources(
        {key: _level(name) for key, name in keys.items()},
        frozenset(map(_level, ignored)),
        frozenset(map(_level, relative)),
    )


def domains_of(
    labels: Mapping[str, str],
    *,
    cluster: str = "",
    spans_nodes: bool = False,
    is_azure: bool = False,
    sources: TopologySources = DISCOVERED,
) -> dict[Level, str]:
    """The domains that a node lies in, by level; levels without a label are left out.

    Args:
        labels: of the node, and what drivers of dynamic resource allocation say about it.
        cluster: the cluster's name; empty = it is the only one.
        spans_nodes: whether the links of its devices reach across nodes.
        is_azure: whether Azure numbers its fault domains in the label for zones.
        sources: where to read levels from.
    """
    found = {Level.CLUSTER: cluster, Level.NVLINK: _link(labels, spans_nodes)}
    found |= {level: _first(labels, keys) for level, keys in PLACES.items()}
    if is_azure and found[Level.ZONE].isdigit():
        found[Level.ZONE] = ""
    found |= _fabric(labels)
    found |= _told(labels, sources)
    known = {
        level: found[level]
        for level in ABOVE_NODE
        if found.get(level) and level not in sources.ignored
    }
    return _qualified(known, sources.relative) if sources.relative else known


def level_of(
    key: str, nodes: Iterable[tuple[Mapping[str, str], Mapping[Level, str]]]
) -> Level | None:
    """The level of a label, for constraints that name a label.

    It is the one whose domains differ exactly where the label's do, so that a rule about the
    label holds when it holds of the level.

    Args:
        key: of the label.
        nodes: labels and domains of every node of the cluster.

    Returns:
        The widest such level; None when there is none, or no node has the label.
    """
    if key == HOSTNAME:
        return Level.NODE
    pairs = [(labels.get(key, ""), domains) for labels, domains in nodes]
    if not any(value for value, _ in pairs):
        return None
    named = (level for level in ABOVE_NODE if _is_same(pairs, level))
    return next(named, None) or next((lv for lv in ABOVE_NODE if _divides_alike(pairs, lv)), None)


_Pairs = list[tuple[str, Mapping[Level, str]]]


def _is_same(pairs: _Pairs, level: Level) -> bool:
    return all(value == domains.get(level, "") for value, domains in pairs)


def _divides_alike(pairs: _Pairs, level: Level) -> bool:
    """Whether each value goes with one domain, and each domain with one value."""
    found = {(value, domains.get(level, "")) for value, domains in pairs}
    values, domains = {value for value, _ in found}, {domain for _, domain in found}
    absent = all(bool(value) == bool(domain) for value, domain in found)
    return absent and len(found) == len(values) == len(domains)


def _level(name: str) -> Level:
    found = next((level for level in ABOVE_NODE if level == name), None)
    if found is None:
        known = ", ".join(ABOVE_NODE)
        raise FieldError(
            f"{name!r} is no level above nodes", key="topology", hint=f"one of {known}"
        )
    return found


def _told(labels: Mapping[str, str], sources: TopologySources) -> dict[Level, str]:
    """The levels that settings name, empty where their labels are absent."""
    return {
        level: _first(labels, [key for key, each in sources.keys.items() if each is level])
        for level in sources.keys.values()
    }


def _fabric(labels: Mapping[str, str]) -> dict[Level, str]:
    """Rack and block by one source: the first that knows the rack, else that knows anything."""
    known = [each for each in FABRICS if each.rack in labels or each.block in labels]
    found = [
        {
            Level.RACK: _within(labels, each.scope, each.rack),
            Level.BLOCK: _within(labels, each.scope, each.block),
        }
        for each in known
    ]
    exact = (each for each in found if each[Level.RACK])
    return next(exact, None) or next((each for each in found if any(each.values())), {})


def _link(labels: Mapping[str, str], spans_nodes: bool) -> str:
    found = _first(labels, LINKS) or _within(labels, *SUB_LINKS)
    return found or _first(labels, LINKS_OF_RACKS if spans_nodes else LINKS_OF_ALL)


def _within(labels: Mapping[str, str], scope: str, key: str) -> str:
    """A value that only counts within that of another label; alone where that one is absent."""
    found, around = _value(labels, key), _value(labels, scope)
    return f"{around}/{found}" if found and around else found


def _qualified(domains: dict[Level, str], relative: frozenset[Level]) -> dict[Level, str]:
    """The domains, with relative names behind that of the domain around them."""
    found: dict[Level, str] = {}
    around = ""
    for level, name in domains.items():
        found[level] = f"{around}/{name}" if around and level in relative else name
        around = found[level]
    return found


def _first(labels: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((found for key in keys if (found := _value(labels, key))), "")


def _value(labels: Mapping[str, str], key: str) -> str:
    found = labels.get(key, "")
    is_place = found.lower() not in NOWHERE and not found.startswith(_UNNAMED_CLUSTER)
    return found if is_place else ""
