"""What the rules among pods of one kind mean for the engine's own search for a place."""

from collections.abc import Iterator, Mapping

from ganglion.model.fleet.levels import DEPTH, Level
from ganglion.model.workload import Topology
from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident, meant
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.pod_affinity import is_its_own_kind
from ganglion.worlds.kubernetes.pod_rules.spread import standing


def levels_of(
    needs: Needs, count: int, crowd: PodIndex, fleet: Fleet, levels: Mapping[str, Level]
) -> Topology:
    """The topology that `count` pods with these needs amount to.

    A hint: it lets the engine find places that pass `check` at the first try. Rules that no
    level expresses are left to `check`.

    Args:
        needs: what each of the pods needs.
        count: how many pods.
        crowd: the pods on the nodes.
        fleet: the nodes.
        levels: node label -> the level whose domains its values name, `node` for host names.
    """
    if count < 2:
        return Topology()
    one = Resident("", "", needs, dict(needs.labels))
    together = _together(one, crowd, levels)
    apart = set(_apart(one, crowd, fleet, levels))
    if _fills_a_node(needs, fleet):
        apart.add(Level.NODE)
    apart.update(_one_each(one, count, crowd, fleet, levels))
    return Topology(
        required=max(together, key=DEPTH.__getitem__, default=None),
        forbidden=min(apart, key=DEPTH.__getitem__, default=None),
    )


def _together(one: Resident, crowd: PodIndex, levels: Mapping[str, Level]) -> list[Level]:
    """Levels to share where the pods have to be near each other and none is there yet."""
    near = one.needs.near
    if not near or not is_its_own_kind(one, crowd):
        return []
    if crowd.tallies.where(tuple(term.pattern for term in near)):
        return []
    return [levels[term.key] for term in near if term.key in levels]


def _apart(
    one: Resident, crowd: PodIndex, fleet: Fleet, levels: Mapping[str, Level]
) -> Iterator[Level]:
    """Levels of which no domain may have two of the pods; nodes without a label may."""
    if one.needs.ports:
        yield Level.NODE
    for term in one.needs.apart:
        if term.key not in levels or fleet.lacking(term.key):
            continue
        if meant((term.pattern,), one, crowd.namespaces):
            yield levels[term.key]


def _fills_a_node(needs: Needs, fleet: Fleet) -> bool:
    """Whether no node has enough of some counted resource for two of the pods."""
    return any(
        all(view.extras.get(name, 0) < 2 * amount for view in fleet.views.values())
        for name, amount in needs.extras
    )


def _one_each(
    one: Resident, count: int, crowd: PodIndex, fleet: Fleet, levels: Mapping[str, Level]
) -> Iterator[Level]:
    """Levels over which the pods are spread so thinly that each has a domain to itself.

    With a skew of 1 a domain gets a second pod once all with the fewest have got one.
    """
    for spread in one.needs.spreads:
        level = levels.get(spread.among.key)
        if level is None or spread.max_skew != 1:
            continue
        if meant((spread.pattern,), one, crowd.namespaces):
            now = standing(spread, crowd, fleet)
            domains = dict.fromkeys(now.nodes.values())
            if sum(now.counts.get(each, 0) <= now.least for each in domains) >= count:
                yield level
