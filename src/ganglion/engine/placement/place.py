"""Where: the lowest domain that holds the whole gang, then nodes, then devices.

Levels are tried from the narrowest that may do to the widest that is allowed; within a
level the tightest domain first. A trial takes its shares from the tree for real and gives
them back if it fails, so that pod sets see each other.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple, Protocol

from ganglion.engine.placement.pack import Trial, common
from ganglion.engine.placement.pod_by_pod import PodByPodSearch
from ganglion.engine.placement.preferences import steps
from ganglion.engine.placement.single_pod import PlacedPod, places_of_pod
from ganglion.engine.plugins.protocols import PodFilter
from ganglion.engine.topology.capacity_index import Fits, PlaceRules
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.pod_shape import Shape, excluding, of_type, times
from ganglion.engine.topology.savings import NONE, Savings
from ganglion.model.fleet.levels import DEPTH, INSIDE_NODE, Level
from ganglion.model.placement import Placement
from ganglion.model.workload import Gang, PodSet, Slice, Topology


class Demand:
    """A gang that looks for a place.

    Args:
        gang: the gang.
        shapes: shape of each pod set.
        without: flavors that are out of quota.
        siblings: ranks of nodes on which its siblings run.
        small: whether an elastic gang gets no more than its least.
        savings: what nodes save it.

    Attributes:
        bound: whether pods must share a domain.
    """

    def __init__(
        self,
        gang: Gang,
        shapes: Sequence[Shape],
        without: tuple[str, ...] = (),
        siblings: frozenset[int] = frozenset(),
        *,
        small: bool = False,
        savings: Savings = NONE,
    ) -> None:
        self.gang = gang
        self.shapes = [excluding(each, without) for each in shapes] if without else shapes
        self.siblings, self.small, self.savings = siblings, small, savings
        self.sets = gang.pod_sets
        self.bound = bool(gang.topology.required or any(s.topology.required for s in self.sets))
        self.single = len(self.sets) == 1 and self.sets[0].count == 1

    def counts(self, part: int, parts: int) -> list[int]:
        """Pods per set when elastic sets are `part`/`parts` of the way from least to most."""
        return [_whole_slices(s, s.least + (s.count - s.least) * part // parts) for s in self.sets]


def _whole_slices(pod_set: PodSet, count: int) -> int:
    """The largest number up to `count` that the set's slices divide, but no less than its least."""
    size = pod_set.slices[0].size if pod_set.slices else 1
    return max(count - count % size, pod_set.least)


class PlacementCheck(Protocol):
    """Says whether a placement that was found may be used."""

    def allow(self, placement: Placement) -> bool:
        """Whether it may."""


def place(
    indexes: Indexes,
    demand: Demand,
    tries: int,
    turn: int,
    judge: PlacementCheck | None = None,
    filtering: PodFilter | None = None,
) -> Placement | None:
    """Find a place for a whole gang; the tree is left as it was.

    Args:
        indexes: the tree with its indexes.
        demand: the gang.
        tries: most domains tried per level.
        turn: number of this decision, for scores that may not be cached.
        judge: whom to ask about each placement found; None = anything goes.
        filtering: rules among pods that decide which nodes are open to them; None = none do.

    Returns:
        The placement, or None when no place was found.
    """
    if demand.single:
        siblings = demand.siblings if demand.gang.spreads else frozenset()
        pod = PlacedPod(demand.sets[0].name, demand.shapes[0], siblings, demand.savings)
        singles = places_of_pod(indexes, pod, turn, filtering)
        if judge is None:
            return next(singles, None)
        return next(filter(judge.allow, singles), None)
    is_ordered = filtering is not None and filtering.prefers
    kept = () if is_ordered else steps(indexes, demand.shapes)
    for preferred in (*kept, None):
        for shapes in _uniform(indexes, preferred or demand.shapes):
            search = _Search(indexes, demand, shapes, tries, judge, filtering)
            found = _place_elastic(search, is_whole=preferred is not None)
            if found:
                return found
    return None


class _Search(NamedTuple):
    """What stays the same while a gang's size and level are varied."""

    indexes: Indexes
    demand: Demand
    shapes: Sequence[Shape]
    tries: int
    judge: PlacementCheck | None
    filtering: PodFilter | None


def _uniform(indexes: Indexes, asked: Sequence[Shape]) -> Iterator[Sequence[Shape]]:
    """All GPU pods of a gang get one device type: the first in its list that has room."""
    present = indexes.device_types()
    allowed = [_types_for(shape, present) for shape in asked]
    for kind in max(allowed, key=len):
        yield [
            of_type(shape, kind if kind in types else types[0]) if len(types) > 1 else shape
            for shape, types in zip(asked, allowed, strict=True)
        ]
    if not any(allowed):
        yield asked


def _types_for(shape: Shape, present: Sequence[str]) -> list[str]:
    """Device types of the fleet that a GPU pod may use, the preferred first."""
    gpu = shape.request.gpu
    return [kind for kind in gpu.types or present if kind in present] if gpu.count else []


def _place_elastic(search: _Search, *, is_whole: bool = False) -> Placement | None:
    """The largest size that fits, by bisection between the least and the most pods.

    With `is_whole` all pods or none: a gang is not made smaller for what its pods prefer.
    """
    demand = search.demand
    parts = max(s.count - s.least for s in demand.sets)
    if not parts or (demand.small and not demand.bound):
        return _place_counts(search, demand.counts(0, 1))
    best = _place_counts(search, demand.counts(1, 1)) if is_whole else _largest(search, parts)
    return _first_pods(search, best) if best and demand.small else best


def _largest(search: _Search, parts: int) -> Placement | None:
    demand = search.demand
    best = _place_counts(search, demand.counts(parts, parts))
    if best:
        return best
    low, high = 0, parts
    best = _place_counts(search, demand.counts(0, parts))
    while best and high - low > 1:
        middle = (low + high) // 2
        found = _place_counts(search, demand.counts(middle, parts))
        if found:
            best, low = found, middle
        else:
            high = middle
    return best


def _first_pods(search: _Search, largest: Placement) -> Placement:
    """The least pods of a gang where the most of them would have room.

    A gang that must not leave its domain could not grow where it just fits.
    """
    least = {each.name: each.least for each in search.demand.sets}
    pods = tuple(pod for pod in largest.pods if pod.index < least[pod.pod_set])
    ranks = [search.indexes.tree.index[pod.node] for pod in pods]
    return Placement(pods, *common(search.indexes, ranks))


def _place_counts(search: _Search, counts: list[int]) -> Placement | None:
    demand, indexes = search.demand, search.indexes
    for soft in (True, False) if _has_wishes(demand.sets) else (False,):
        rules = [
            rules_of(demand.gang, each, soft, count)
            for each, count in zip(demand.sets, counts, strict=True)
        ]
        fits = [
            indexes.fits(unit_of(shape, rule), rule)
            for shape, rule in zip(search.shapes, rules, strict=True)
        ]
        if any(each.values[0] < count for each, count in zip(fits, counts, strict=True)):
            continue
        levels = levels_for(indexes, demand.gang)
        if search.filtering and search.filtering.prefers:
            levels = [min(levels, key=DEPTH.__getitem__)]
        for level in levels:
            found = _place_level(search, fits, counts, level)
            if found and (search.judge is None or search.judge.allow(found)):
                return found
    return None


def rules_of(gang: Gang, pod_set: PodSet, soft: bool, count: int) -> PlaceRules:
    """The rules for `count` pods of a set; with `soft`, wishes are taken as required.

    A level that one of several pod sets must not cross is a slice as large as the set.
    """
    slices = []
    topology = pod_set.topology
    whole = topology.required or (topology.preferred if soft else None)
    if whole and len(gang.pod_sets) > 1:
        slices.append((whole, count))
    for each in pod_set.slices:
        level = each.required or (each.preferred if soft else None)
        if level:
            slices.append((level, each.size))
    return PlaceRules(tuple(slices), topology.forbidden or gang.topology.forbidden)


def levels_for(indexes: Indexes, gang: Gang) -> list[Level]:
    """Levels at which the gang may be brought together, in the order they are tried.

    Gangs come as close together as they can, but for those that spread; with a preferred level
    they do the same.
    """
    required = required_level(gang)
    present = [*INSIDE_NODE[1::-1], Level.NODE, *indexes.tree.levels()]
    allowed = [lv for lv in present if required is None or DEPTH[lv] >= DEPTH[required]]
    wishes = gang.topology.preferred or any(s.topology.preferred for s in gang.pod_sets)
    if gang.spreads and not wishes:
        return allowed[::-1]
    return allowed


def required_level(gang: Gang) -> Level | None:
    """The narrowest level that the gang as a whole must not cross."""
    levels = [gang.topology.required]
    if len(gang.pod_sets) == 1:
        levels.append(gang.pod_sets[0].topology.required)
    return max((lv for lv in levels if lv), key=lambda lv: DEPTH[lv], default=None)


def grows_outside_nodes(gang: Gang) -> bool:
    """Whether pods that come later can be brought together with those that are there.

    Within parts of a node they cannot: such a gang starts as large as it can, and stays so.
    """
    levels = [gang.topology.required, *(each.topology.required for each in gang.pod_sets)]
    return all(level not in INSIDE_NODE for level in levels)


def _has_wishes(sets: Sequence[PodSet]) -> bool:
    wishes: list[Slice | Topology] = [s.topology for s in sets]
    wishes += [each for s in sets for each in s.slices]
    return any(each.preferred and not each.required for each in wishes)


def unit_of(shape: Shape, rules: PlaceRules) -> Shape:
    """What is counted in domains: a pod, or a slice that must lie within a part of one node."""
    if not rules.inner:
        return shape
    level, size = rules.inner
    return times(shape, size, level)


def _place_level(
    search: _Search, fits: list[Fits], counts: list[int], level: Level
) -> Placement | None:
    if search.filtering:
        return _place_pods(search, search.filtering, fits, counts, level)
    trial = Trial(search.indexes, search.demand.gang, search.demand.savings)
    shapes = search.shapes
    if DEPTH[level] >= DEPTH[Level.NODE]:
        together = level if level is not Level.NODE else None
        return trial.on_one_node(shapes, [f.rules for f in fits], counts, together, search.tries)
    for domain in _domains(search, fits, counts, level):
        found = trial.in_domain(shapes, fits, counts, domain)
        if found:
            return found
    return None


def _domains(search: _Search, fits: list[Fits], counts: list[int], level: Level) -> Iterator[int]:
    """Domains that may hold a gang, the tightest first."""
    widest = max(range(len(fits)), key=lambda i: search.shapes[i].request.gpu.count * counts[i])
    found = fits[widest].domains(level, counts[widest])
    if search.demand.savings.domains:
        found = _warmest(search, found, fits[widest].values)
    for domain in islice(found, search.tries):
        if all(f.values[domain] >= n for f, n in zip(fits, counts, strict=True)):
            yield domain


def _warmest(search: _Search, domains: Iterator[int], values: Sequence[int]) -> Iterator[int]:
    """The same domains; of those that are equally tight, the ones first that save more."""
    saved = search.demand.savings.domains
    for _, equals in groupby(domains, key=values.__getitem__):
        yield from sorted(equals, key=lambda each: (-saved.get(each, 0), each))


def _place_pods(
    search: _Search, filtering: PodFilter, fits: list[Fits], counts: list[int], level: Level
) -> Placement | None:
    """The same pod by pod; gangs within a part of a node are left out."""
    indexes, gang, rules = search.indexes, search.demand.gang, [each.rules for each in fits]
    if DEPTH[level] > DEPTH[Level.NODE] or any(each.inner for each in rules):
        return None
    if level is Level.NODE:
        nodes = Trial(indexes, gang, search.demand.savings).nodes_for(search.shapes, counts)
        places: Iterator[frozenset[int] | None] = (
            frozenset((rank,)) for rank in islice(nodes, search.tries)
        )
    else:
        places = (
            frozenset(indexes.tree.ranks_in(domain)) if domain else None
            for domain in _domains(search, fits, counts, level)
        )
    for among in places:
        found = PodByPodSearch(
            indexes, gang, search.shapes, rules, counts, among, filtering, search.demand.savings
        ).search()
        if found:
            return found
    return None
