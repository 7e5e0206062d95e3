"""Whom Kueue's rules let a gang have stopped.

Within the queue: the gangs that its rule names. Across queues: only where use goes beyond what is
owned, at every queue between the victim and the one both have in common, and only as long as
it does. A gang whose own subtree owns what it asks for takes it back whatever the victims'
priority; otherwise its queue's rules decide, and whether it may borrow itself meanwhile.

Source: the semantics of Kueue's preemption, as documented there.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.cohort import Borrowing, Cell, Cells, cells_of
from ganglion.engine.store.queue_rules import protected_ms, rules_for
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import may_stop
from ganglion.model.causes import CauseKind
from ganglion.model.queue import ANY_FLAVOR, Victims


class Variant(IntEnum):
    """On which ground a candidate may be taken."""

    WITHIN = 0
    HIERARCHY = 1
    WITHOUT_BORROWING = 2
    WHILE_BORROWING = 3


CAUSES: Mapping[Variant, CauseKind] = {
    Variant.WITHIN: CauseKind.PREEMPTED,
    Variant.HIERARCHY: CauseKind.RECLAIMED,
    Variant.WITHOUT_BORROWING: CauseKind.RECLAIMED,
    Variant.WHILE_BORROWING: CauseKind.RECLAIMED_BORROWING,
}


class Candidate(NamedTuple):
    """A gang that may be taken.

    Attributes:
        record: the gang.
        variant: on which ground.
        common: the lowest queue above both it and the asker; empty within one queue.
    """

    record: GangRecord
    variant: Variant
    common: str


class Asker(NamedTuple):
    """Who asks for what.

    Attributes:
        record: the gang.
        wants: what it would use.
        needs: cells of which it does not get enough without stopping others.
        now: the time in ms.
    """

    record: GangRecord
    wants: Cells
    needs: frozenset[Cell]
    now: int

    @property
    def queue(self) -> str:
        """Its queue."""
        return self.record.gang.queue


Taken = tuple[GangRecord, CauseKind]


def uses(record: GangRecord, cells: frozenset[Cell]) -> bool:
    """Whether a gang holds any of the cells."""
    return any(cell in cells or (ANY_FLAVOR, cell[1]) in cells for cell in cells_of(record.charged))


def may_take(asker: GangRecord, victim: GangRecord, rule: Victims) -> bool:
    """Whether a rule lets one gang have another one stopped."""
    ours, theirs = asker.gang, victim.gang
    if rule is Victims.NEVER:
        return False
    if rule is Victims.ANY or theirs.priority < ours.priority:
        return True
    newer = theirs.priority == ours.priority and theirs.submitted > ours.submitted
    return rule is Victims.LOWER_OR_NEWER and newer


def takeable(state: Store, asker: Asker) -> dict[str, list[GangRecord]]:
    """Gangs that hold quota and could be stopped at all, by queue."""
    found: dict[str, list[GangRecord]] = {}
    waited = asker.now - asker.record.gang.submitted
    if not state.config.policy.evict.enabled or waited < rules_for(state, asker.queue).delay_ms:
        return found
    for record in state.holdings.settled():
        if record.charged and _is_open(state, record, asker):
            found.setdefault(record.gang.queue, []).append(record)
    return found


def _is_open(state: Store, record: GangRecord, asker: Asker) -> bool:
    """Whether nothing but the rules of queues speaks against stopping a gang."""
    gang, now = record.gang, asker.now
    if not gang.preemptible or record.placed_at == now or not state.gangs.floors.spares(record):
        return False
    if now - (record.started or record.placed_at) < protected_ms(state, gang):
        return False
    return may_stop(state, record, asker.record.gang, now)


def turn(record: GangRecord) -> tuple[int, int, str]:
    """The order in which candidates are taken: low priority first, then started late."""
    return record.gang.priority, -record.placed_at, record.gang.id


class Candidates:
    """All candidates for one asker, as things stood when it asked."""

    def __init__(self, state: Store, borrowing: Borrowing, asker: Asker) -> None:
        self._borrowing, self._asker = borrowing, asker
        self._running = takeable(state, asker)
        self.rules = rules_for(state, asker.queue)
        self.hierarchy: list[Candidate] = []
        self.priority: list[Candidate] = []
        if borrowing.parent(asker.queue) and self.rules.reclaim is not Victims.NEVER:
            self._look_around()
        self.within = list(self._in(asker.queue, "", Variant.WITHIN))

    @property
    def may_borrow(self) -> bool:
        """Whether the asker's queue may have others stopped while it borrows."""
        return self.rules.borrowing is not Victims.NEVER

    def all(self) -> list[Candidate]:
        """Candidates in the order in which they are tried."""
        ordered = []
        for some in (self.hierarchy, self.priority, self.within):
            ordered += sorted(some, key=lambda each: turn(each.record))
        return ordered

    def is_valid(self, candidate: Candidate, borrow: bool) -> bool:
        """Whether a candidate may still be taken after those taken before it."""
        if not candidate.common:
            return True
        if borrow and candidate.variant is Variant.WITHOUT_BORROWING:
            return False
        queue = candidate.record.gang.queue
        path = (queue, *self._borrowing.above(queue))
        between = path[: path.index(candidate.common)]
        return all(self._exceeds(name) for name in between)

    def _look_around(self) -> None:
        asker, borrowing = self._asker, self._borrowing
        rest = dict(asker.wants)
        owns = self._owns(asker.queue, rest)
        below = asker.queue
        for name in borrowing.above(asker.queue):
            found = self.hierarchy if owns else self.priority
            variant = Variant.HIERARCHY if owns else None
            for queue in self._beyond(name, below):
                found.extend(self._in(queue, name, variant))
            owns = self._owns(name, rest) or owns
            below = name

    def _owns(self, queue: str, rest: Cells) -> bool:
        """Whether a subtree owns what is asked; takes off what is guaranteed to it."""
        enough = not any(self._borrowing.borrows(queue, cell, n) for cell, n in rest.items())
        for cell in rest:
            rest[cell] -= self._borrowing.local(queue, cell)
        return enough

    def _beyond(self, queue: str, without: str) -> Iterator[str]:
        """Leaves under a queue all of whose queues on the way down use more than they own."""
        for child in self._borrowing.children(queue):
            if child == without or not self._exceeds(child):
                continue
            if self._borrowing.children(child):
                yield from self._beyond(child, without)
            else:
                yield child

    def _exceeds(self, queue: str) -> bool:
        return any(self._borrowing.borrows(queue, cell) for cell in self._asker.needs)

    def _in(self, queue: str, common: str, variant: Variant | None) -> Iterator[Candidate]:
        rule = self.rules.reclaim if common else self.rules.preempt
        if rule is Victims.NEVER:
            return
        for record in self._running.get(queue, ()):
            if uses(record, self._asker.needs) and may_take(self._asker.record, record, rule):
                ground = self._by_priority(record) if variant is None else variant
                yield Candidate(record, ground, common)

    def _by_priority(self, record: GangRecord) -> Variant:
        priority, threshold = record.gang.priority, self.rules.threshold
        over = priority >= self._asker.record.gang.priority
        if not self.may_borrow or over or (threshold is not None and priority > threshold):
            return Variant.WITHOUT_BORROWING
        return Variant.WHILE_BORROWING


def attempts(candidates: Candidates, borrowing: Borrowing, asker: Asker) -> tuple[bool, ...]:
    """Whether the asker may borrow, in each attempt to find enough victims."""
    others = candidates.hierarchy or candidates.priority
    under = all(
        borrowing.used(asker.queue, cell) < borrowing.owned(asker.queue, cell)
        for cell in asker.needs
    )
    if not others or not (candidates.may_borrow or under):
        return (True,)
    if not candidates.may_borrow and not candidates.hierarchy:
        return (False, True)
    return (True, False)


class VictimSearch(NamedTuple):
    """One way to look for victims.

    Attributes:
        victims: gangs in the order in which they are to be taken, each with the cause; what
            was taken so far is expected to have left its queue when the next one is asked for.
        may_borrow: whether the asker may borrow in the end.
    """

    victims: Iterator[Taken]
    may_borrow: bool


def by_priority(state: Store, borrowing: Borrowing, asker: Asker) -> Iterator[VictimSearch]:
    """Attempts of the rules without fair sharing."""
    candidates = Candidates(state, borrowing, asker)
    ordered = candidates.all()
    for borrow in attempts(candidates, borrowing, asker):
        victims = (
            (each.record, CAUSES[each.variant])
            for each in ordered
            if candidates.is_valid(each, borrow)
        )
        yield VictimSearch(victims, borrow)
