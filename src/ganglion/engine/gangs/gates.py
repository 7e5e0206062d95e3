"""What keeps a gang from being looked at: holds, dependencies, back-off, sweep width, sleep."""

from copy import copy

from msgspec import Struct

from ganglion.engine.gangs.record import GangRecord
from ganglion.model.causes import Cause, sentence
from ganglion.model.events import Outcome
from ganglion.model.plan import Phase
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.resources import decimal
from ganglion.model.workload import Gang

RECALL = "recall_ms"
"""Evidence by which the wait of a gang that sleeps is known."""

REMEMBERED = 1_024
"""Workloads that are over whose outcome is remembered, for gangs yet to be submitted."""


class GangCounts(Struct):
    """Gangs of one workload: all, those that hold resources, and how the ended ones ended."""

    total: int = 0
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class Gates:
    """Counts per workload, and who waits for which workload.

    Workloads whose gangs are forgotten and that no gang names are forgotten too, all but the last.
    """

    def __init__(self) -> None:
        self._over: dict[str, None] = {}
        self._tallies: dict[str, GangCounts] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._gangs: dict[str, dict[str, None]] = {}

    def add(self, gang: Gang) -> None:
        """A gang was submitted."""
        self._tally(gang.workload).total += 1
        self._over.pop(gang.workload, None)
        self._gangs.setdefault(gang.workload, {})[gang.id] = None
        for workload in (*gang.after, *gang.after_any):
            self._dependents.setdefault(workload, {})[gang.id] = None
            self._over.pop(workload, None)

    def started(self, gang: Gang) -> None:
        """A gang took resources."""
        self._tally(gang.workload).active += 1

    def stopped(self, gang: Gang) -> None:
        """A gang gave its resources back."""
        self._tally(gang.workload).active -= 1

    def ended(self, gang: Gang, outcome: Outcome) -> tuple[str, ...]:
        """A gang ended for good; returns its workload if that decides a dependency."""
        tally = self._tally(gang.workload)
        if outcome in (Outcome.SUCCEEDED, Outcome.STOPPED_EARLY):
            tally.succeeded += 1
        else:
            tally.failed += 1
        over = tally.failed or tally.succeeded == tally.total
        return (gang.workload,) if over else ()

    def forget(self, gang: Gang) -> None:
        """The record of an ended gang was dropped; what it decided stays decided."""
        _leave(self._gangs, gang.workload, gang.id)
        for workload in (*gang.after, *gang.after_any):
            _leave(self._dependents, workload, gang.id)
        for workload in (gang.workload, *gang.after, *gang.after_any):
            if workload not in self._gangs and workload not in self._dependents:
                self._over[workload] = None
        while len(self._over) > REMEMBERED:
            oldest = next(iter(self._over))
            del self._over[oldest]
            self._tallies.pop(oldest, None)

    def siblings(self, workload: str) -> tuple[str, ...]:
        """Ids of the gangs of a workload whose records are kept."""
        return tuple(self._gangs.get(workload, ()))

    def active(self, workload: str) -> int:
        """Gangs of a workload that hold resources."""
        return self._tally(workload).active

    def dependents(self, workload: str) -> tuple[str, ...]:
        """Gangs that wait for a workload."""
        return tuple(self._dependents.get(workload, ()))

    def image(self, workload: str) -> GangCounts | None:
        """The counts of a workload as they are now; None = it is unknown."""
        tally = self._tallies.get(workload)
        return tally and copy(tally)

    def restore(self, workload: str, tally: GangCounts | None) -> None:
        """The counts of a workload are those of an earlier image."""
        if tally is None:
            self._tallies.pop(workload, None)
        else:
            self._tallies[workload] = tally

    def reason(
        self, gang: Gang, not_before: int, held_for: Cause | None = None, fault: str = ""
    ) -> Reason | None:
        """Why a gang may not be looked at; None = it may."""
        if fault:
            return _set_apart(fault)
        if gang.held:
            why = sentence(held_for) or "it is on hold; release it"
            return Reason(Token.HELD, why, remedy=Remedy.CHANGE)
        for workload in gang.after:
            reason = self._dependency(workload)
            if reason:
                return reason
        for workload in gang.after_any:
            if self._lives(workload):
                return _after(workload)
        if not_before:
            return Reason(
                Token.POLICY, "it backs off before the next attempt", evidence={"until": not_before}
            )
        return None

    def crowded(self, gang: Gang) -> Reason | None:
        """Why a gang of a sweep must wait for its siblings; None = it need not."""
        if not gang.parallel or self.active(gang.workload) < gang.parallel:
            return None
        return Reason(
            Token.POLICY,
            f"{self.active(gang.workload)} of at most {gang.parallel} trials of"
            f" {gang.workload} run at once",
            evidence={"active": self.active(gang.workload), "parallel": gang.parallel},
        )

    def _dependency(self, workload: str) -> Reason | None:
        tally = self._tallies.get(workload, GangCounts())
        if tally.failed:
            return Reason(
                Token.DEPENDENCY,
                f"{workload} did not succeed, and this was to run after it",
                never=True,
                remedy=Remedy.CHANGE,
            )
        if tally.total and tally.succeeded == tally.total:
            return None
        return _after(workload)

    def _lives(self, workload: str) -> bool:
        tally = self._tallies.get(workload, GangCounts())
        return tally.succeeded + tally.failed < tally.total

    def _tally(self, workload: str) -> GangCounts:
        return self._tallies.setdefault(workload, GangCounts())


def _leave(groups: dict[str, dict[str, None]], workload: str, gang: str) -> None:
    group = groups.get(workload, {})
    group.pop(gang, None)
    if not group:
        groups.pop(workload, None)


def _set_apart(fault: str) -> Reason:
    return Reason(
        Token.HELD,
        f"it is set apart, as the scheduler failed over it ({fault}); hold and release it to have"
        " it tried again",
        evidence={"defects": 1},
        remedy=Remedy.ADMIN,
    )


def _after(workload: str) -> Reason:
    return Reason(Token.DEPENDENCY, f"it runs after {workload}, which has not ended yet")


def asleep(gang: Gang) -> Reason | None:
    """Why a gang that sleeps is not started; None = it does not sleep."""
    if not gang.recall_ms:
        return None
    return Reason(
        Token.HELD,
        f"it sleeps; its place is lent to gangs that leave within {decimal(gang.recall_ms)} s",
        evidence={RECALL: gang.recall_ms},
        remedy=Remedy.CHANGE,
    )


def sleeps(record: GangRecord) -> bool:
    """Whether nothing keeps a gang from starting but that it sleeps."""
    reason = record.reason
    return record.phase is Phase.PENDING and reason is not None and RECALL in reason.evidence
