"""How much one cycle, or one trial, looks at before the rest is left.

Work is counted, not timed: the same events give the same plan on every machine. A cycle that
is out of work begins nothing more. It leaves the gangs it has not looked at in their lanes,
marked as postponed, and asks to be called again. A sweep is a number of cycles in which every
gang is searched for in full once: what was cut goes first, so that no gang is cut for ever. A
trial has an allowance for all of its cycles; a trial that needs more has no result.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from ganglion.engine.gangs.pending import PendingClass
from ganglion.model.plan import Plan, Wait
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang

PER_CYCLE = 20_000
"""Work of one cycle, in nodes priced: about 0.7 s of one core at 2.5 GHz in bursts of unequal
gangs. Deciding about less takes as long as before; the default is not reached by day."""

UNBOUNDED = 1 << 60
"""Work that no search uses up."""

SEARCH = 1
"""Work of a search for a place; a gang that starts costs no more than that."""

LOOK = 7
"""Work of a search with tentative changes, beyond that of the search itself."""

GANG = 6
"""The same for a search that finds no place, with the diagnosis of why."""

NODES_PER_WORK = 64
"""Nodes per unit of work that such a search costs more, unless a sum over the fleet suffices."""

POSTPONED = "postponed"
"""Key in the evidence of gangs that were not searched for in full in the last cycle."""


class Exhausted(BaseException):
    """A trial has used up its allowance; the copy of the state that it ran on is of no use.

    It is no error of a gang or an event, so what isolates those must let it pass.
    """


class Effort:
    """Counts work, and knows what is left of a cycle, a sweep and a trial.

    No step (a search for one gang, a slice of growth, a node to empty) begins once the work of
    the cycle is used up: the work of a cycle exceeds the bound by one step at most. Where
    nothing was left over, growth and emptying may still do one step each, so that they go on.

    Attributes:
        per_cycle: work after which a cycle begins nothing more.
        used: work counted in the present cycle.
        allowance: work after which `Exhausted` is raised; None = there is no end.
        cut: whether the present cycle has left gangs to the next one.
        sweep: number of the present sweep; grows with every cycle that leaves nothing over.
        missed_moves: gangs of the sweep for which no moves make room.
        changed: whether anything has changed in the sweep for heads of queues.
        kept: gang -> quota that is kept for it until the sweep is over.
        freed: the state's counter when heads of queues were last looked at in the sweep.
    """

    def __init__(self, per_cycle: int = PER_CYCLE) -> None:
        self.per_cycle, self.used = per_cycle, 0
        self.allowance: int | None = None
        self.cut = False
        self.sweep = self._repeated = 0
        self._open_sweep()

    def begin(self) -> None:
        """A cycle begins."""
        self.used = self._repeated = 0
        if not self.cut:
            self.sweep += 1
            self._open_sweep()
        self.cut = False

    def _open_sweep(self) -> None:
        self.missed_moves, self.changed = 0, False
        self.kept: dict[str, tuple[Gang, dict[tuple[str, str], int]]] = {}
        self.freed: int | None = None

    @property
    def is_spent(self) -> bool:
        """Whether no further step may begin in this cycle."""
        return self.used >= self.per_cycle

    @property
    def is_half_spent(self) -> bool:
        """Whether half of the work of this cycle is done."""
        return 2 * self.used >= self.per_cycle

    @property
    def may_repeat(self) -> bool:
        """Whether what was searched in this sweep may be looked at again: half of the work."""
        return self._repeated < self.per_cycle // 2

    def may_step(self, *, first: bool) -> bool:
        """Whether a stage after the turns may do one more step, or its first."""
        return not self.is_spent or (first and not self.cut)

    def spend(self, work: int) -> None:
        """Count work. Raises Exhausted beyond the allowance."""
        self.used += work
        if self.allowance is not None:
            self.allowance -= work
            if self.allowance < 0:
                raise Exhausted

    def spend_in_vain(self, nodes: int) -> None:
        """Count that a search found no place among that many nodes, and why."""
        self.spend(GANG + nodes // NODES_PER_WORK)

    def repeated(self, work: int) -> None:
        """Note that `work` of the work was for a gang that was searched for in this sweep."""
        self._repeated += work

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Let a question be answered without a bound, and without a trace in what cycles do."""
        before = self.per_cycle, self.used, self.missed_moves
        self.per_cycle, self.missed_moves = UNBOUNDED, 0
        try:
            yield
        finally:
            self.per_cycle, self.used, self.missed_moves = before


def postpone(lane: PendingClass, plan: Plan) -> None:
    """A lane is not searched for in full in this cycle; say so once."""
    reason, key = _postponed(lane.reason), lane.head()
    if reason != lane.reason and key:
        plan.waits.append(Wait(lane.queue, key[-1], len(lane), reason))
        lane.reason = reason


def _postponed(reason: Reason | None) -> Reason:
    """The reason of a gang that the cycle did not get to: the one it had, marked as old."""
    if reason is None:
        return Reason(
            Token.ORDER,
            "its turn in the search for places is in the next cycle",
            evidence={POSTPONED: 1},
        )
    if POSTPONED in reason.evidence:
        return reason
    return replace(reason, evidence=reason.evidence | {POSTPONED: 1})
