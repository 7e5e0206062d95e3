"""Placement as Kueue's topology-aware scheduling does it: tightest domain, level by level.

At the level that a pod set asks for the domain is taken that holds it with the fewest slices
to spare; when none does and the level is only preferred, the next wider one is looked at, and
at last several domains are filled, the largest first and the last one tightly. Below, as few
domains as possible are used in the same way. Pods without any wish fill the nearly full nodes
first. Pod sets are placed one after another; a leader goes with its workers.

Source: phase two of Kueue's topology-aware scheduling, as documented there.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ganglion.engine.placement.pack import Trial
from ganglion.engine.placement.place import Demand
from ganglion.engine.placement.tas_domains import (
    Layers,
    RequestPods,
    TasDomain,
    levels_of,
    spots_of,
)
from ganglion.engine.topology.capacity_index import PlaceRules
from ganglion.engine.topology.indexes import Indexes
from ganglion.model.fleet.levels import INSIDE_NODE, Level
from ganglion.model.placement import Placement
from ganglion.model.workload import PodSet, Topology

Share = tuple[TasDomain, int, int]
"""A spot, how much of the request it gets, and how many leaders."""

Holds = Callable[[TasDomain], int]
"""How much of a request a spot holds."""


class _Wish(NamedTuple):
    """What one request asks of the topology.

    Attributes:
        workers: how many.
        leaders: 1 with a leader, else 0.
        level: number of the level that is asked for.
        required: whether it must be that one.
        loose: nothing is asked for: nearly full nodes first.
        layers: slices.
        even: whether the pods are spread evenly.
    """

    workers: int
    leaders: int
    level: int
    required: bool
    loose: bool
    layers: Layers
    even: bool


def place_tightly(
    indexes: Indexes, demand: Demand, *, even: bool = False, within: tuple[str, ...] = ()
) -> Placement | None:
    """Find a place for a whole gang of fixed size; the tree is left as it was.

    Args:
        indexes: the tree with its indexes.
        demand: the gang.
        even: spread pods with a preferred level evenly over the domains they need.
        within: path of the domain that all pods must lie in, from the widest level on; empty =
            anywhere.
    """
    trial = Trial(indexes, demand.gang)
    trial.begin(len(demand.sets))
    ground = _Ground(indexes, levels_of(indexes), within)
    return trial.finish(
        all(_place(ground, demand, trial, sets, even) for sets in _requests(demand))
    )


def suits(demand: Demand) -> bool:
    """Whether a gang asks only for what this way of placing knows."""
    gang, sets = demand.gang, demand.sets
    topologies = [gang.topology, *(each.topology for each in sets)]
    levels = [level for each in topologies for level in (each.required, each.preferred)]
    levels += [layer.required or layer.preferred for each in sets for layer in each.slices]
    levels += [each.request.together for each in sets]
    apart = {each.forbidden for each in topologies} - {None, Level.NODE}
    elastic = any(each.least < each.count for each in sets)
    own = any(_asks(each.topology) for each in sets)
    whole = not _asks(gang.topology) or (not own and (len(sets) == 1 or _has_leader(sets)))
    return whole and not apart and not elastic and not any(lv in INSIDE_NODE for lv in levels)


def _asks(topology: Topology) -> bool:
    return bool(topology.required or topology.preferred)


def _has_leader(sets: Sequence[PodSet]) -> bool:
    return len(sets) == 2 and min(each.count for each in sets) == 1


def _requests(demand: Demand) -> list[tuple[int, ...]]:
    """Pod sets that are placed as one: workers first, then their leader."""
    gang, numbers = demand.gang, range(len(demand.sets))
    if _asks(gang.topology) and _has_leader(demand.sets):
        return [tuple(sorted(numbers, key=lambda i: (-demand.sets[i].count, i)))]
    return [(number,) for number in numbers]


class _Ground(NamedTuple):
    """Where pods may lie."""

    indexes: Indexes
    levels: list[Level]
    within: tuple[str, ...]


def _place(
    ground: _Ground, demand: Demand, trial: Trial, sets: tuple[int, ...], even: bool
) -> bool:
    workers, *leader = sets
    pod_set, shape = demand.sets[workers], demand.shapes[workers]
    topology = _topology(demand, pod_set)
    wish = _wish(pod_set, topology, ground.levels, leaders=len(leader), even=even)
    if wish is None:
        return False
    rules = PlaceRules((), pod_set.topology.forbidden or demand.gang.topology.forbidden)
    lead = demand.shapes[leader[0]] if leader else None
    crew = RequestPods(ground.indexes.fits(shape, rules), lead, wish.layers)
    shares = _shares(spots_of(ground.indexes, ground.levels, crew, ground.within), wish)
    if sum(pods for _, pods, _ in shares or ()) < wish.workers:
        return False
    for spot, pods, leaders in sorted(shares or (), key=lambda each: each[0].path):
        if leaders and not trial.fill(leader[0], demand.shapes[leader[0]], rules, spot.rank, 1):
            return False
        if not trial.fill(workers, shape, rules, spot.rank, pods):
            return False
    return True


def _topology(demand: Demand, pod_set: PodSet) -> Topology:
    whole = demand.gang.topology
    return whole if _asks(whole) else pod_set.topology


def _wish(
    pod_set: PodSet, topology: Topology, levels: Sequence[Level], *, leaders: int, even: bool
) -> _Wish | None:
    """What a request asks of the levels there are; None when one is missing."""
    layers = _layers(pod_set, levels)
    asked = topology.required or topology.preferred
    if asked is Level.FLEET:
        asked = None
    if layers is None or (asked and asked not in levels):
        return None
    loose = asked is None
    widest = 0 if pod_set.slices else len(levels) - 1
    level = widest if asked is None else levels.index(asked)
    required = bool(asked) and asked is topology.required
    return _Wish(pod_set.count, leaders, level, required, loose, layers, even and not loose)


def _layers(pod_set: PodSet, levels: Sequence[Level]) -> Layers | None:
    wanted = [(each.required or each.preferred, each.size) for each in pod_set.slices]
    found = [(levels.index(level), size) for level, size in wanted if level and level in levels]
    if len(found) < len(wanted) or pod_set.count % (found[0][1] if found else 1):
        return None
    if not found:
        return Layers(len(levels) - 1)
    inner: dict[int, int] = {}
    above = found[0][0]
    for level, size in found[1:]:
        inner |= dict.fromkeys(range(above + 1, level + 1), size)
        above = level
    return Layers(found[0][0], found[0][1], inner)


def _shares(spots: list[list[TasDomain]], wish: _Wish) -> list[Share] | None:
    """Pods and leaders by node; None when there is no place."""
    if not spots[wish.level]:
        return None
    if wish.even and not wish.required and not wish.leaders:
        return _evenly(spots, wish)
    level, chosen = _choose(spots, wish.level, wish)
    if not chosen:
        return None
    size = wish.layers.size
    shares = _deal(chosen, wish.workers // size, wish.leaders, _BY_SLICE, wish.loose)
    last = len(spots) - 1
    while level < min(last, wish.layers.level):
        below = [child for spot, _, _ in shares for child in spot.children]
        shares = _deal(
            _sorted(below, wish.loose), wish.workers // size, wish.leaders, _BY_SLICE, wish.loose
        )
        level += 1
    pods = [(spot, number * size, leaders) for spot, number, leaders in shares]
    return _down(pods, level, last, wish)


def _down(shares: list[Share], level: int, last: int, wish: _Wish) -> list[Share]:
    """From the level of slices to the nodes: what a domain got stays in it."""
    while level < last:
        unit = wish.layers.inner.get(level + 1, 1)
        holds = _in_units(unit)
        shares = [
            (child, number * unit, with_)
            for spot, pods, leaders in shares
            for child, number, with_ in _deal(
                _sorted(spot.children, wish.loose), pods // unit, leaders, holds, wish.loose
            )
        ]
        level += 1
    return [share for share in shares if share[1] or share[2]]


class _Holds(NamedTuple):
    """How much spots hold, without and with a leader beside."""

    alone: Holds
    beside: Holds


def _in_units(size: int) -> _Holds:
    return _Holds(lambda spot: spot.pods // size, lambda spot: spot.beside // size)


_BY_SLICE = _Holds(lambda spot: spot.slices, lambda spot: spot.slices_beside)


def _choose(spots: list[list[TasDomain]], level: int, wish: _Wish) -> tuple[int, list[TasDomain]]:
    """The level and the domains there that hold the request, the tightest one if one does."""
    need = wish.workers // wish.layers.size
    order = _led(spots[level], wish.loose)
    fitting = [spot for spot in order if spot.slices_beside >= need and spot.leader >= wish.leaders]
    if fitting:
        return level, [fitting[0] if wish.loose else _tightest(fitting, _BY_SLICE.beside)]
    if wish.required:
        return level, []
    if level > 0 and not wish.loose:
        return _choose(spots, level - 1, wish)
    return level, _several(order, need, wish)


def _several(order: list[TasDomain], need: int, wish: _Wish) -> list[TasDomain]:
    """Domains that hold the request together; the one with the leader first.

    The leader goes where most workers fit beside it or, when the rest then does not fit, where
    it takes least room from them.
    """
    if not wish.leaders:
        return [spot for spot, _, _ in _fill(order, need, wish)]
    led = [spot for spot in order if spot.leader]
    thrifty = sorted(led, key=lambda each: each.slices - each.slices_beside)
    for home in (*led[:1], *thrifty[:1]):
        others = [spot for spot in order if spot is not home]
        rest = need - home.slices_beside
        shares = _fill(others, rest, wish) if rest > 0 else []
        if shares or rest <= 0:
            return [home, *(spot for spot, _, _ in shares)]
    return []


def _fill(spots: Sequence[TasDomain], need: int, wish: _Wish) -> list[Share]:
    return _deal(_sorted(spots, wish.loose), need, 0, _BY_SLICE, wish.loose)


def _deal(
    order: Sequence[TasDomain], need: int, leaders: int, holds: _Holds, loose: bool
) -> list[Share]:
    """Fill spots in order, the last one tightly; empty when they do not hold it all."""
    shares: list[Share] = []
    for at, first in enumerate(order):
        spot, hold = first, holds.beside if leaders else holds.alone
        if not loose and hold(spot) >= need and spot.leader >= leaders:
            left = [each for each in order[at:] if each.leader >= leaders and hold(each) >= need]
            spot = _tightest(left, hold)
        given, led = min(hold(spot), need), min(spot.leader, leaders)
        shares.append((spot, given, led))
        need, leaders = need - given, leaders - led
        if not need and not leaders:
            return shares
    return []


def _tightest(spots: Sequence[TasDomain], hold: Holds) -> TasDomain:
    """The first of those that hold least."""
    return min(spots, key=hold)


def _sorted(spots: Sequence[TasDomain], loose: bool) -> list[TasDomain]:
    """The largest first, or nearly full ones first; among equals the one with less to spare."""
    sign = 1 if loose else -1
    return sorted(spots, key=lambda each: (sign * each.slices, each.pods, each.path))


def _led(spots: Sequence[TasDomain], loose: bool) -> list[TasDomain]:
    """The same for a request with a leader: where the leader can be comes first."""
    sign = 1 if loose else -1
    return sorted(
        spots,
        key=lambda each: (-each.leader, sign * each.slices_beside, each.beside, each.path),
    )


def _evenly(spots: list[list[TasDomain]], wish: _Wish) -> list[Share] | None:
    """Spread over as few parts of one domain as will do, as evenly as can be."""
    need, size = wish.workers // wish.layers.size, wish.layers.size
    for level in range(wish.level, -2, -1):
        if level < 0:
            homes: list[list[TasDomain]] = (
                [spots[0]] if sum(s.slices for s in spots[0]) >= need else []
            )
        else:
            inner = level < wish.layers.level
            homes = [s.children if inner else [s] for s in spots[level] if s.slices >= need]
        if homes:
            parts = max((_parts(home, need) for home in homes), key=lambda each: each[0])[1]
            below = min(level + 1, wish.layers.level)
            shares = [(spot, number * size, 0) for spot, number in _even(parts, need)]
            return _down(shares, below, len(spots) - 1, wish)
    return None


def _parts(home: Sequence[TasDomain], need: int) -> tuple[int, list[TasDomain]]:
    """The least that each of as few spots as possible gets, and those spots."""
    order = sorted(home, key=lambda each: (-each.slices, each.path))
    chosen: list[TasDomain] = []
    held = 0
    while held < need:
        chosen.append(order[len(chosen)])
        held += chosen[-1].slices
    return min(chosen[-1].slices, need // len(chosen)), chosen


def _even(spots: Sequence[TasDomain], need: int) -> list[tuple[TasDomain, int]]:
    """The smaller ones get what they hold at most, the others the same number, give or take 1."""
    shares = []
    for done, spot in enumerate(sorted(spots, key=lambda each: each.slices)):
        given = min(spot.slices, need // (len(spots) - done))
        shares.append((spot, given))
        need -= given
    return shares
