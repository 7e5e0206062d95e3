"""Which of several nodes a pod prefers, as the default scheduler compares them.

Each sort of preference gives the nodes that are compared up to 100 points, the best of them all
100 or what it deserves, and counts as much as the default scheduler has it by default.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident, SpreadRule
from ganglion.worlds.kubernetes.feasibility.node_preferences import MOST, Static, Taste, points
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.spread import counting

BY_PODS, BY_SPREADING = 2, 2
"""How much pods nearby and spreading count; these are the default scheduler's weights."""

_FINE = 10**12
_LN_2 = 693_147_180_560


class NodeStanding(Struct, frozen=True):
    """A node as a pod sees it.

    Attributes:
        static: for what it is.
        near: weights of pods in its domains that the pod wants or avoids, or that do so.
        counts: by soft constraint, pods like it in the domain; None = the node is not compared.
    """

    static: Static
    near: int
    counts: tuple[int, ...] | None


class _Pull(Struct, frozen=True):
    """What pods by domain of one label weigh.

    Attributes:
        values: name of a node -> its domain.
        weights: domain -> weight; domains without any pod are left out.
        best: the most that any node may weigh.
    """

    values: Mapping[str, str]
    weights: Mapping[str, int]
    best: int


class Preferences:
    """Puts nodes in the order in which a pod prefers them at this moment.

    Args:
        needs: of the pod.
        taste: what nodes it prefers for what they are.
        crowd: who is on the nodes; what changes afterwards is not seen.
        fleet: the nodes.
    """

    def __init__(self, needs: Needs, taste: Taste, crowd: PodIndex, fleet: Fleet) -> None:
        self._needs, self._fleet = needs, fleet
        self._static = fleet.ranks(taste)
        self._pulls = list(_pulls(needs, crowd, fleet))
        self._spreads = [_count(each, crowd, fleet) for each in needs.soft]
        self._ideal = self._best()

    def order(self, nodes: Iterable[str]) -> Iterator[str]:
        """Nodes, the preferred first; equals stay in their order.

        Those that no node of the fleet can surpass come as soon as they are met.
        """
        rest: list[tuple[str, NodeStanding]] = []
        for node in nodes:
            standing = self.standing(node)
            if standing == self._ideal:
                yield node
            else:
                rest.append((node, standing))
        worth = self.points(rest)
        yield from (rest[at][0] for at in sorted(range(len(rest)), key=lambda at: -worth[at]))

    def standing(self, node: str) -> NodeStanding:
        """A node as the pod sees it now."""
        near = 0
        for pull in self._pulls:
            value = pull.values.get(node)
            if value is not None:
                near += pull.weights.get(value, 0)
        counts: tuple[int, ...] | None = ()
        if self._spreads:
            labels = self._fleet.views[node].labels
            keys = [each.among.key for each in self._needs.soft]
            counts = None
            if all(key in labels for key in keys):
                pairs = zip(keys, self._spreads, strict=True)
                counts = tuple(each.get(labels[key], 0) for key, each in pairs)
        return NodeStanding(self._static.get(node, (0, 0)), near, counts)

    def points(self, nodes: Sequence[tuple[str, NodeStanding]]) -> list[int]:
        """What these nodes are worth compared with each other."""
        standings = [standing for _, standing in nodes]
        static = points([each.static for each in standings])
        near = _by_pods([each.near for each in standings])
        even = _by_spreading(self._crowding(nodes)) if self._spreads else [0] * len(nodes)
        return [sum(each) for each in zip(static, near, even, strict=True)]

    def _crowding(self, nodes: Sequence[tuple[str, NodeStanding]]) -> list[int | None]:
        """How many pods like it each node has around it; None = the node is not compared."""
        counted = [(node, each.counts) for node, each in nodes if each.counts is not None]
        views = self._fleet.views
        rules = self._needs.soft
        weights = [
            logarithm(len({views[node].labels[rule.among.key] for node, _ in counted}) + 2)
            for rule in rules
        ]
        slack = sum(rule.max_skew - 1 for rule in rules) * _FINE
        return [
            None if each.counts is None else _rounded(slack + _sum(each.counts, weights))
            for _, each in nodes
        ]

    def _best(self) -> NodeStanding:
        """A standing that no node can surpass, whatever nodes are compared."""
        weights = [weight for weight, _ in self._static.values()]
        worse = [worse for _, worse in self._static.values()]
        static = (max(weights, default=0), min(worse, default=0))
        near = sum(pull.best for pull in self._pulls)
        fewest = (
            _fewest(counts, self._fleet, rule.among.key)
            for rule, counts in zip(self._needs.soft, self._spreads, strict=True)
        )
        return NodeStanding(static, near, tuple(fewest))


def _pulls(needs: Needs, crowd: PodIndex, fleet: Fleet) -> Iterator[_Pull]:
    """What pods weigh that this one wants near or avoids, and those that do so with it."""
    for wish in needs.wishes:
        values = fleet.values_of(wish.key)
        counts = crowd.tallies.domains((wish.pattern,), wish.key, values)
        yield _pull(wish.key, wish.weight, counts, fleet)
    if crowd.wishes.is_needed():
        one = Resident("", "", needs, dict(needs.labels))
        for wish, where in crowd.wishes.against(one):
            yield _pull(wish.key, wish.weight, fleet.domains(where, wish.key), fleet)


def _pull(key: str, weight: int, counts: Mapping[str, int], fleet: Fleet) -> _Pull:
    weights = {value: weight * count for value, count in counts.items()}
    best = max(weights.values(), default=0) if weight > 0 else weight * _fewest(counts, fleet, key)
    return _Pull(fleet.values_of(key), weights, best)


def _fewest(counts: Mapping[str, int], fleet: Fleet, key: str) -> int:
    """The fewest pods that any node has in its domain."""
    is_everywhere = len(counts) == len(fleet.by_value(key)) and not fleet.lacking(key)
    return min(counts.values(), default=0) if is_everywhere else 0


def _count(rule: SpreadRule, crowd: PodIndex, fleet: Fleet) -> Mapping[str, int]:
    """Domain -> pods like it; domains without any are left out."""
    return crowd.tallies.domains((rule.pattern,), rule.among, counting(rule.among, fleet))


def _by_pods(near: Sequence[int]) -> list[int]:
    if not near:
        return []
    low, width = min(near), max(near) - min(near)
    # Divided first, as the default scheduler does: the nearest whole number below may differ.
    return [BY_PODS * int(MOST * ((each - low) / width)) if width else 0 for each in near]


def _by_spreading(crowding: Sequence[int | None]) -> list[int]:
    known = [each for each in crowding if each is not None]
    low, high = min(known, default=0), max(known, default=0)
    return [
        0 if each is None else BY_SPREADING * (MOST * (high + low - each) // high if high else MOST)
        for each in crowding
    ]


def _sum(counts: Sequence[int], weights: Sequence[int]) -> int:
    return sum(count * weight for count, weight in zip(counts, weights, strict=True))


def logarithm(number: int) -> int:
    """The natural logarithm of a number from 1 on, in trillionths; exact but for the last digits.

    In integers, so that equal clusters are ranked equally on every machine: of the number as
    2^k x m, where m is from 1 to 2, the logarithm of m is a series in (m - 1) / (m + 1).
    """
    doublings = number.bit_length() - 1
    above, below = number - (1 << doublings), number + (1 << doublings)
    total, power, order = doublings * _LN_2, _FINE * above // below, 1
    while power:
        total += 2 * power // order
        power, order = power * above * above // (below * below), order + 2
    return total


def _rounded(fine: int) -> int:
    return (fine + _FINE // 2) // _FINE
