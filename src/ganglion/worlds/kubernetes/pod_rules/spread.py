"""Even spreading over domains."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.clauses import meets
from ganglion.worlds.kubernetes.feasibility.needs import Among, Resident, SpreadRule, meant
from ganglion.worlds.kubernetes.feasibility.taints import tolerated
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet, RuleNode
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.barrier import Barrier


class DomainPods(Struct, frozen=True):
    """Pods by domain.

    Attributes:
        counts: value of the label -> pods; domains without any are left out.
        least: what the fewest count as.
        nodes: the nodes that count, with their domains.
    """

    counts: Mapping[str, int]
    least: int
    nodes: dict[str, str]


def standing(spread: SpreadRule, crowd: PodIndex, fleet: Fleet) -> DomainPods:
    """How the pods of a constraint are spread now."""
    nodes = counting(spread.among, fleet)
    domains = fleet.remembered(("domains", spread.among), lambda: len(set(nodes.values())))
    counts = crowd.tallies.domains((spread.pattern,), spread.among, nodes)
    few = len(counts) < domains or domains < spread.min_domains
    return DomainPods(counts, 0 if few else min(counts.values(), default=0), nodes)


def crowded(one: Resident, crowd: PodIndex, fleet: Fleet) -> Iterator[Barrier]:
    """The domains where one more pod would make the spread too uneven."""
    for spread in one.needs.spreads:
        now = standing(spread, crowd, fleet)
        room = now.least + spread.max_skew - int(meant((spread.pattern,), one, crowd.namespaces))
        full = [value for value, count in now.counts.items() if count > room]
        yield Barrier(
            spread.among.key, frozenset(full), "has too many pods like it already", lacking=True
        )


class Balance:
    """Spreading of pods that are all in place; each question costs a look-up."""

    def __init__(self, crowd: PodIndex, fleet: Fleet) -> None:
        self._crowd = crowd
        self._fleet = fleet
        self._standings: dict[SpreadRule, DomainPods] = {}

    def uneven(self, one: Resident) -> str:
        """Why a pod may not be where it is; empty = it may."""
        for spread in one.needs.spreads:
            key = spread.among.key
            value = self._fleet.value(one.node, key)
            if value is None:
                return f"no label {key}"
            now = self._standing(spread)
            uncounted = one.node not in now.nodes and meant(
                (spread.pattern,), one, self._crowd.namespaces
            )
            if now.counts.get(value, 0) + int(uncounted) - now.least > spread.max_skew:
                return f"{key} {value} would have too many pods like it"
        return ""

    def _standing(self, spread: SpreadRule) -> DomainPods:
        if spread not in self._standings:
            self._standings[spread] = standing(spread, self._crowd, self._fleet)
        return self._standings[spread]


def counting(among: Among, fleet: Fleet) -> dict[str, str]:
    """Name of each node that counts -> its domain; the same object while nodes stay."""
    return fleet.remembered(among, lambda: _counting(among, fleet))


def _counting(among: Among, fleet: Fleet) -> dict[str, str]:
    return {
        name: view.labels[among.key] for name, view in fleet.views.items() if _counts(among, view)
    }


def _counts(among: Among, view: RuleNode) -> bool:
    return (
        all(key in view.labels for key in among.keys)
        and meets(among.clauses, view.labels)
        and (
            among.tolerations is None
            or all(tolerated(among.tolerations, taint) for taint in view.taints)
        )
    )
