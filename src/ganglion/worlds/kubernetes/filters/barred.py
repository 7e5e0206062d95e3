"""Which nodes other pods and what they hold close to a pod, at this moment."""

from collections.abc import Iterable
from hashlib import blake2b

from ganglion.worlds.kubernetes.filters.crowd import Crowd
from ganglion.worlds.kubernetes.filters.fleet import Fleet
from ganglion.worlds.kubernetes.filters.needs import Needs, Resident
from ganglion.worlds.kubernetes.filters.others import alone, kept_away
from ganglion.worlds.kubernetes.filters.spread import crowded


def barred(needs: Needs, crowd: Crowd, fleet: Fleet) -> dict[str, str]:
    """Nodes that are closed to a pod with these needs, each with one of the reasons."""
    one = Resident("", "", needs, dict(needs.labels))
    found: dict[str, str] = {}
    for each in (
        crowd.ports.clashes(needs.ports),
        crowd.counted.shortages(needs, fleet),
        crowd.mounted.troubles(needs, fleet),
        kept_away(one, crowd, fleet),
        alone(one, crowd, fleet),
        crowded(one, crowd, fleet),
    ):
        found |= _least(pair for pair in each if pair[0] not in found)
    return {node: why for node, why in found.items() if node in fleet.views}


def bar_id(nodes: Iterable[str]) -> str:
    """A short identifier of a set of nodes; empty for the empty set.

    Pods that are barred from the same nodes share it, whatever the reasons.
    """
    names = sorted(set(nodes))
    return blake2b("\n".join(names).encode(), digest_size=8).hexdigest() if names else ""


def _least(reasons: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One reason per node that does not depend on who came first."""
    found: dict[str, str] = {}
    for node, why in reasons:
        if node not in found or why < found[node]:
            found[node] = why
    return found
