"""Levels of attained service, by which equals share time.

A level says how much service it is expected to take per completion from here on: the Gittins
index of a gang that has had some service, over the services of gangs that have ended. A gang
yields only to gangs at lower levels: two lower where they are learnt, as an index from a few
hundred runs is not exact, and stops for a small difference gain nothing. So short gangs pass long
ones where run times have heavy tails, and gangs of one known length finish one after the other in
place of sharing. Where nothing is learnt yet, or the queue fixes its quantum, levels are powers
of the service.

Sources: Gittins (1979); Aalto, Ayesta and Righter (2009); Tiresias' discretised Gittins index
and least attained service (NSDI'19).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from ganglion.engine.gangs.preemption_cost import attained
from ganglion.engine.gangs.record import GangRecord
from ganglion.model.resources import WHOLE

FACTOR = 4
"""Service of one level over that of the one below, where levels are not learnt."""

PRIOR_MS = 8 * 3_600_000
"""The first quantum where nothing is learnt: most training jobs end within 8 GPU-hours."""

SLICES = 16
"""Every attempt may run for one part in this number of a fixed quantum."""

RESTARTS = 32
"""Where levels are learnt, every attempt may run for this multiple of `evict.restart_ms`:
restarts then cost about 3 % of the GPU time."""

PART = 8
"""An attempt runs on until it has brought this part (one in `PART`) of the service before it."""

APART = 2
"""How many learnt levels a gang is above those that it yields to: four times the index."""

FEWEST = 4
"""Ended gangs with more service that are needed to expect anything from them."""

MOST = 1 << 62
"""Beyond every service."""


class Levels(Struct, frozen=True):
    """A step function from attained service to levels.

    Attributes:
        bounds: services at which a step begins, ascending, the first is 0; in thousandths of
            GPUs x ms.
        levels: the level of each step; a gang without service is at level 0.
        slice_ms: run time for which an attempt keeps its place.
        apart: a gang yields to those that are lower by this number of levels.
    """

    bounds: tuple[int, ...]
    levels: tuple[int, ...]
    slice_ms: int
    apart: int = 1

    def of(self, service: int) -> int:
        """The level of a service."""
        return self.levels[bisect_right(self.bounds, service) - 1]

    def level(self, record: GangRecord, now: int) -> int:
        """The level that a gang has reached."""
        return self.of(attained(record, now))


def fixed(quantum_ms: int) -> Levels:
    """Levels of a given first quantum, in ms of one GPU."""
    bounds, bound = [0], quantum_ms * WHOLE
    while bound < MOST:
        bounds.append(bound)
        bound *= FACTOR
    return Levels(tuple(bounds), tuple(range(len(bounds))), quantum_ms // SLICES)


def prior(restart_ms: int) -> Levels:
    """Levels where nothing is learnt."""
    usual = fixed(PRIOR_MS)
    return Levels(usual.bounds, usual.levels, RESTARTS * restart_ms)


def learnt(services: Sequence[int], restart_ms: int) -> Levels:
    """Levels from the services of gangs that have ended.

    Args:
        services: more than `FEWEST` of them, ascending, in thousandths of GPUs x ms.
        restart_ms: what a restart costs; one slice of it is the unit of service.
    """
    slice_ms = RESTARTS * restart_ms
    unit = max(slice_ms * WHOLE, 1)
    bounds, levels = [0], [0]
    last = services[-FEWEST]
    for at, index in _indexes(services):
        if at >= last:
            break
        if not _is_near(index, levels[-1], unit) or not at:
            _step(bounds, levels, at, (index // unit).bit_length())
    # Beyond what is known it is expected to take as much again as it took.
    level = (last // unit).bit_length()
    _step(bounds, levels, last, level)
    while (bound := unit << level) < MOST:
        level += 1
        _step(bounds, levels, bound, level)
    fresh = levels[0]
    return Levels(tuple(bounds), tuple(each - fresh for each in levels), slice_ms, APART)


def _step(bounds: list[int], levels: list[int], at: int, level: int) -> None:
    """Let a step begin; equal neighbours are one."""
    if at == bounds[-1]:
        levels[-1] = level
    elif level != levels[-1]:
        bounds.append(at)
        levels.append(level)


def _is_near(index: int, level: int, unit: int) -> bool:
    """Whether an index is close to a level, so that another level would only cause stops."""
    upper = unit << level
    lower = upper // 2 if level else 0
    return 3 * lower <= 4 * index and 2 * index < 3 * upper


def _indexes(services: Sequence[int]) -> list[tuple[int, int]]:
    """(service, Gittins index right after it), ascending, from no service on.

    With G(k) the service that all gangs have taken when each is given up at the k-th smallest
    service, the index after the k-th is the least slope from (k, G(k)) to a later point: the
    next edge of the lower convex hull of the points from k on, found from the right in one pass.
    """
    count, total = len(services), 0
    spent = [0]
    for done, service in enumerate(services, 1):
        total += service
        spent.append(total + (count - done) * service)
    hull = [count]
    found: list[tuple[int, int]] = []
    for k in range(count - 1, -1, -1):
        while len(hull) > 1 and _slope_falls(spent, k, hull[-1], hull[-2]):
            hull.pop()
        service = services[k - 1] if k else 0
        if service < services[k]:
            found.append((service, (spent[hull[-1]] - spent[k]) // (hull[-1] - k)))
        hull.append(k)
    return found[::-1]


def _slope_falls(spent: Sequence[int], start: int, near: int, far: int) -> bool:
    """Whether the slope to the far point is at most that to the near one."""
    return (spent[far] - spent[start]) * (near - start) <= (spent[near] - spent[start]) * (
        far - start
    )


def insert(services: list[int], recent: list[int], more: Sequence[int], window: int) -> None:
    """Take new services in and forget the oldest beyond the window."""
    for service in more:
        recent.append(service)
        services.insert(bisect_left(services, service), service)
    for oldest in recent[:-window]:
        del services[bisect_left(services, oldest)]
    del recent[:-window]
