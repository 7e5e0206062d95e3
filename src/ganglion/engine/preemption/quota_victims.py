"""Gangs that leave so that another one passes no limit and no quota, wherever they run.

A bound of a queue, of a user in a queue, or of the fleet (what others keep back) is passed by an
amount of one resource. The gangs whose use counts under that bound are the candidates; the
cheapest set that frees this amount is taken (a covering knapsack, as for the devices of a node).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import gcd

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption.knapsack import Item, cheapest
from ganglion.engine.preemption_rules.growth import BY_RIGHT, Growth
from ganglion.engine.queues.limits import Passed
from ganglion.engine.search.quota import asked, passed
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement
from ganglion.model.queue import ANY_FLAVOR

STEPS = 512
"""Parts into which an amount is divided at most for the knapsack."""

Flavors = tuple[str, ...]
"""Flavors whose bounds must hold, `*` = of all flavors together."""

GROWN: Flavors = (ANY_FLAVOR,)
"""The way of a gang that no bound closes, whose trade would have made its queue grow too far."""


def closed(state: ClusterState, asker: GangRecord) -> list[Flavors]:
    """Ways to open flavors to a gang that a bound closes; a way without flavors opens none.

    Returns:
        The flavors whose bounds must hold, for each way; the first way that is enough is the
        least. One empty way where no bound closes anything.
    """
    if not state.queues.shares.is_governed(asker.gang.queue, asker.gang.preemptible):
        return [()]
    wanted = asked(asker)
    whole = (ANY_FLAVOR,) if passed(state, asker, ANY_FLAVOR, wanted) else ()
    usable = state.fleet.totals.flavors_for(asker.shapes)
    shut = [each for each in usable if passed(state, asker, each, wanted)]
    ways = [(*whole, each) for each in shut]
    return ways if ways and len(shut) == len(usable) else [whole, *ways]


class Relief:
    """Has gangs leave until another one is within the means of all queues above it.

    Args:
        state: the queues and what they use.
        asker: a gang that found no place.
        units: what may be taken as a whole set.
        allowed: whether a unit may be taken as usage stands.
    """

    def __init__(
        self,
        state: ClusterState,
        asker: GangRecord,
        units: Iterable[VictimUnit],
        allowed: Callable[[VictimUnit], bool],
    ) -> None:
        self._state, self._asker, self._allowed = state, asker, allowed
        self._left = {each.key: each for each in units if each.is_there}

    def take(
        self, flavors: Flavors, tentative: Tentative, growth: Growth
    ) -> list[VictimUnit] | None:
        """Take the cheapest units until the bounds of some flavors hold.

        Args:
            flavors: the flavors.
            tentative: takes them.
            growth: knows what a queue may not use more by stopping others.

        Returns:
            Those taken; None where no units are enough.
        """
        taken: list[VictimUnit] = []
        state, asker, wanted = self._state, self._asker, asked(self._asker)
        before = growth.use_of(asker)

        def bound(flavor: str) -> Passed | None:
            found = passed(state, asker, flavor, wanted)
            if found or any(unit.cause not in BY_RIGHT for unit in taken):
                return found
            return growth.beyond(asker, before, flavor, wanted)

        for flavor in flavors:
            while lack := bound(flavor):
                chosen = self._choose(lack)
                if not chosen:
                    return None
                for unit in chosen:
                    taken += self._leave(unit, tentative)
                    if not bound(flavor):
                        break
        return taken

    def _leave(self, unit: VictimUnit, tentative: Tentative) -> Iterator[VictimUnit]:
        """Take a unit after all that goes before it, as far as that is allowed."""
        units = self._with_surplus(unit)
        for each in units:
            self._left.pop(each.key, None)
        for each in units:
            if not self._allowed(each):
                return
            tentative.take(each)
            yield each

    def _with_surplus(self, unit: VictimUnit) -> list[VictimUnit]:
        if not unit.whole:
            return [unit]
        gang = unit.record.gang.id
        left = self._left.values()
        return [*(u for u in left if not u.whole and u.record.gang.id == gang), unit]

    def _choose(self, bound: Passed) -> list[VictimUnit]:
        """The cheapest units that free what is missing; empty = all are not enough."""
        amounts = {key: self._frees(unit, bound) for key, unit in self._left.items()}
        able = [unit for key, unit in self._left.items() if amounts[key]]
        ready = [unit for unit in able if self._allowed(unit)]
        for units in (ready, able) if len(ready) < len(able) else (able,):
            chosen = _cover(units, [amounts[unit.key] for unit in units], bound.short)
            if chosen:
                # Own gangs first: what leaves the own queue makes room in its share for claims.
                return sorted(chosen, key=lambda unit: unit.cause is not CauseKind.PREEMPTED)
        return []

    def _frees(self, unit: VictimUnit, bound: Passed) -> int:
        """How much less would be in use under a bound without a unit."""
        state, gang = self._state, unit.record.gang
        if bound.fixed or (bound.user is not None and gang.user != bound.user):
            return 0
        if bound.queue and bound.queue not in state.queues.shares.path(gang.queue):
            return 0
        used = state.holdings.usage_of(unit.record, Placement(unit.pods, Level.FLEET))
        return sum(
            getattr(usage, bound.kind)
            for flavor, usage in used.items()
            if bound.flavor in (ANY_FLAVOR, flavor)
        )


def _cover(units: Sequence[VictimUnit], amounts: Sequence[int], short: int) -> list[VictimUnit]:
    """The cheapest of some units that free `short` together; empty = all are not enough."""
    if sum(amounts) < short:
        return []
    classes = {grade: at for at, grade in enumerate(sorted({each.hurts for each in units}))}
    step = max(gcd(short, *amounts), -(-short // STEPS))
    need = -(-short // step)
    order = sorted(range(len(units)), key=lambda i: (classes[units[i].hurts], units[i].price))
    seen: dict[tuple[int, int], int] = {}
    kept = []
    for i in order:
        # Of equals in class and amount no more are needed than are enough by themselves.
        alike = (classes[units[i].hurts], amounts[i])
        seen[alike] = seen.get(alike, 0) + 1
        if (seen[alike] - 1) * amounts[i] < short:
            kept.append(i)
    items = [Item(classes[units[i].hurts], units[i].price, amounts[i] // step) for i in kept]
    chosen = cheapest(items, need)
    # Rounded down, all may seem not to be enough; units not needed are spared afterwards.
    return [units[i] for i in (kept if chosen is None else (kept[at] for at in chosen))]
