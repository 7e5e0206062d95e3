"""Which flavors a gang takes its quota from (Kueue: flavorFungibility).

For every pod set, and every group of resources that share flavors, the flavors of the queue
are tried in order. One fits, fits when others are stopped, or does not fit; the queue says
when the search may end, and what it prefers when it does not end early.

Source: the semantics of Kueue's flavor assignment, as documented there.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.classic_preemption import Asker
from ganglion.engine.kueue.minimal_victims import user_limit_passed, victims_for
from ganglion.engine.queues.cohort import KINDS, NOTHING, Borrowing, Cell, Cells
from ganglion.engine.store.queue_rules import rules_for
from ganglion.engine.store.store import Store
from ganglion.model.policy import Entitlement
from ganglion.model.queue import ANY_FLAVOR, Flavors, Victims


class Mode(IntEnum):
    """How a flavor would do, the worst first."""

    NO_FIT = 0
    NO_VICTIMS = 1
    """It would, if others were stopped; but none of them may be."""
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


class Quality(NamedTuple):
    """How well a flavor would do.

    Attributes:
        mode: whether it fits.
        level: how far up the tree the queue must borrow for it; 0 = not at all.
    """

    mode: Mode
    level: int


BEST, WORST = Quality(Mode.FIT, 0), Quality(Mode.NO_FIT, 1 << 30)


class Assignment(NamedTuple):
    """The flavors of a gang.

    Attributes:
        counts: pods per set.
        flavors: per pod set, the flavor of each kind of resource.
        wants: what the gang would use.
        needs: cells for which others must be stopped.
        quality: the worst of all.
        missing: the first cell that does not fit; None = all do, at least with victims.
    """

    counts: tuple[int, ...]
    flavors: tuple[dict[str, str], ...]
    wants: Cells
    needs: frozenset[Cell]
    quality: Quality
    missing: Cell | None = None


Eligible = Callable[[int, str], bool]
"""Whether pods of a set could run on nodes of a flavor at all."""


class Assigner:
    """Chooses flavors as things stand.

    Args:
        state: the fleet and the queues.
        borrowing: reads the queues.
        record: the gang.
        eligible: which flavors its pod sets may use.
        now: the time in ms.
        trades: whether others may be stopped for it.
    """

    def __init__(
        self,
        state: Store,
        borrowing: Borrowing,
        record: GangRecord,
        eligible: Eligible,
        now: int,
        *,
        trades: bool = True,
    ) -> None:
        self._now, self._trades = now, trades
        self._state, self._borrowing, self._record = state, borrowing, record
        self._eligible, self._queue = eligible, record.gang.queue
        self._rules = state.queues.by_name[self._queue].flavors or Flavors()
        self._groups = list(_groups(state, borrowing, self._queue))
        self._governed = _governed(state, borrowing, self._queue)

    def assign(self, counts: Sequence[int]) -> Assignment:
        """Flavors for that many pods of each set."""
        found = Assignment(tuple(counts), ({},) * len(counts), {}, frozenset(), BEST)
        for together in self._together():
            asked = self._asked(together, counts)
            for kind in asked:
                if kind in self._governed and not any(kind in group for group in self._groups):
                    return found._replace(quality=WORST, missing=("", kind))
            for group in self._groups:
                some = {kind: number for kind, number in asked.items() if kind in group}
                if some:
                    found = self._add(found, together, some, group)
                    if found.missing:
                        return found
        return found

    def _together(self) -> list[tuple[int, ...]]:
        """Pod sets that get their flavors together: those with one topology among them."""
        gang = self._record.gang
        each = tuple(range(len(gang.pod_sets)))
        if gang.topology.required or gang.topology.preferred:
            return [each]
        return [(index,) for index in each]

    def _asked(self, sets: tuple[int, ...], counts: Sequence[int]) -> dict[str, int]:
        total = dict.fromkeys(KINDS, 0)
        for index in sets:
            request = self._record.gang.pod_sets[index].request
            total["gpu_milli"] += request.gpu.count * request.gpu.milli * counts[index]
            total["cpu_milli"] += request.cpu_milli * counts[index]
            total["memory_mib"] += request.memory_mib * counts[index]
        return {kind: number for kind, number in total.items() if number}

    def _add(
        self, found: Assignment, sets: tuple[int, ...], asked: dict[str, int], group: "FlavorGroup"
    ) -> Assignment:
        """Choose a flavor for some pod sets and the resources of one group."""
        flavor, qualities = self._choose(found.wants, sets, asked, group)
        if not flavor:
            return found._replace(quality=WORST, missing=(group.flavors[0], next(iter(asked))))
        flavors = list(found.flavors)
        for index in sets:
            flavors[index] = flavors[index] | dict.fromkeys(asked, flavor)
        wants = dict(found.wants)
        for cell in qualities:
            wants[cell] = wants.get(cell, 0) + asked[cell[1]]
        needs = {cell for cell, each in qualities.items() if each.mode < Mode.FIT}
        return found._replace(
            flavors=tuple(flavors),
            wants=wants,
            needs=found.needs | needs,
            quality=Quality(
                min(found.quality.mode, *(each.mode for each in qualities.values())),
                max(found.quality.level, *(each.level for each in qualities.values())),
            ),
        )

    def _choose(
        self, before: Cells, sets: tuple[int, ...], asked: dict[str, int], group: "FlavorGroup"
    ) -> tuple[str, dict[Cell, Quality]]:
        best, chosen = WORST, ""
        qualities: dict[Cell, Quality] = {}
        for flavor in group.flavors:
            if not all(flavor == ANY_FLAVOR or self._eligible(i, flavor) for i in sets):
                continue
            each = {
                cell: self._quality(cell, before.get(cell, 0) + number)
                for kind, number in asked.items()
                for cell in self._cells(flavor, kind)
            }
            worst = BEST
            for quality in each.values():
                worst = quality if self._is_better(worst, quality) else worst
            enough = self._is_enough(worst)
            if enough or self._is_better(worst, best):
                best, chosen, qualities = worst, flavor, each
            if enough:
                break
        return chosen, qualities

    def _cells(self, flavor: str, kind: str) -> Iterator[Cell]:
        """Cells that a use of a flavor counts in."""
        yield flavor, kind
        every = ANY_FLAVOR, kind
        above = (self._queue, *self._borrowing.above(self._queue))
        if flavor != ANY_FLAVOR and any(self._borrowing.lists(name, every) for name in above):
            yield every

    def _is_enough(self, quality: Quality) -> bool:
        """Whether the search may end here."""
        if quality.mode <= Mode.NO_VICTIMS:
            return False
        if quality.mode < Mode.FIT and not self._rules.preempt_first:
            return False
        return quality.level == 0 or self._rules.borrow_first

    def _is_better(self, one: Quality, other: Quality) -> bool:
        if Mode.NO_FIT in (one.mode, other.mode):
            return one.mode > other.mode
        if Mode.NO_VICTIMS in (one.mode, other.mode) and one.mode is not other.mode:
            return other.mode is Mode.NO_VICTIMS
        if self._rules.prefer_preempting and one.level != other.level:
            return one.level < other.level
        if one.mode is not other.mode:
            return one.mode > other.mode
        return one.level < other.level

    def _quality(self, cell: Cell, amount: int) -> Quality:
        """How the queue could use that much of a cell."""
        borrowing, queue = self._borrowing, self._queue
        if amount > borrowing.potential(queue, cell) or self._is_barred(cell, amount):
            return WORST
        level, inner = borrowing.reach(queue, cell, amount)
        of_user = user_limit_passed(self._state, self._record, {cell: amount})
        is_there = amount <= borrowing.available(queue, cell)
        if is_there and not of_user:
            return Quality(Mode.FIT, level)
        if of_user and of_user.reason.never:
            return WORST
        if is_there or amount <= borrowing.owned(queue, cell) or inner or self._may_borrow():
            return self._with_victims(cell, amount)
        return WORST

    def _is_barred(self, cell: Cell, amount: int) -> bool:
        """Whether work that may not be preempted would borrow."""
        flavor, kind = cell
        gang, shares = self._record.gang, self._state.queues.shares
        if gang.preemptible:
            return False
        for name in (self._queue, *self._borrowing.above(self._queue)):
            quota = shares.queues[name].quota.get(flavor)
            owned = getattr(quota, kind) if quota else None
            fixed = getattr(shares.fixed[name].get(flavor, NOTHING), kind)
            if owned is not None and fixed + amount > owned:
                return True
        return False

    def _may_borrow(self) -> bool:
        """Whether others may be stopped while the queue borrows."""
        rules = rules_for(self._state, self._queue)
        fair = self._state.config.policy.entitlement is Entitlement.DOMINANT
        return rules.borrowing is not Victims.NEVER or (fair and rules.reclaim is not Victims.NEVER)

    def _with_victims(self, cell: Cell, amount: int) -> Quality:
        borrowing, queue = self._borrowing, self._queue
        if not self._trades:
            return Quality(Mode.NO_VICTIMS, borrowing.reach(queue, cell, amount)[0])
        asker = Asker(self._record, {cell: amount}, frozenset((cell,)), self._now)
        victims = [record for record, _ in victims_for(self._state, borrowing, asker, None)]
        for record in victims:
            self._state.queues.charge(record.gang, record.charged, -1)
        level, _ = borrowing.reach(queue, cell, amount)
        for record in victims:
            self._state.queues.charge(record.gang, record.charged, 1)
        if not victims:
            return Quality(Mode.NO_VICTIMS, level)
        own = any(record.gang.queue == queue for record in victims)
        return Quality(Mode.PREEMPT if own else Mode.RECLAIM, level)


class FlavorGroup(Struct, frozen=True):
    """Kinds of resources that share flavors.

    Attributes:
        kinds: the kinds.
        flavors: flavors in the order in which they are tried.
    """

    kinds: frozenset[str]
    flavors: tuple[str, ...]

    def __contains__(self, kind: object) -> bool:
        return kind in self.kinds


def _groups(state: Store, borrowing: Borrowing, queue: str) -> Iterator[FlavorGroup]:
    """Groups of a queue: kinds are together when one flavor has quota of both.

    Quota of all flavors together is a group only where there is no other; a tree without any
    quota is one group without bounds.
    """
    quota = state.queues.by_name[queue].quota
    rules = state.queues.by_name[queue].flavors or Flavors()
    first = [flavor for flavor in rules.order if flavor in quota]
    ordered = (*first, *sorted(set(quota).difference(first)))
    ordered = tuple(each for each in ordered if each != ANY_FLAVOR) or ordered
    if not _governed(state, borrowing, queue):
        yield FlavorGroup(frozenset(KINDS), (ANY_FLAVOR,))
        return
    kinds = {
        flavor: frozenset(k for k in KINDS if getattr(quota[flavor], k) is not None)
        for flavor in ordered
    }
    left = [kind for kind in KINDS if any(kind in each for each in kinds.values())]
    while left:
        group = frozenset((left[0],))
        for _ in KINDS:
            group = group.union(*(each for each in kinds.values() if each & group))
        yield FlavorGroup(group, tuple(flavor for flavor in ordered if kinds[flavor] & group))
        left = [kind for kind in left if kind not in group]


def _governed(state: Store, borrowing: Borrowing, queue: str) -> frozenset[str]:
    """Kinds that no queue gets without quota: GPUs, and what any queue of the tree lists.

    In a tree without any quota nothing is.
    """
    names, found = [borrowing.root(queue)], set[str]()
    while names:
        name = names.pop()
        names += borrowing.children(name)
        for amount in state.queues.by_name[name].quota.values():
            found |= {kind for kind in KINDS if getattr(amount, kind) is not None}
    return frozenset(found | {"gpu_milli"}) if found else frozenset()
