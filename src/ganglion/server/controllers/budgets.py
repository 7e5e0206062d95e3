"""Notifies of budgets that are nearly spent, and suspends what runs once they are."""

from collections.abc import Iterator

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.budgets import BudgetView
from ganglion.lifecycle.budgets import (
    ALARMS,
    LOOK_MS,
    BudgetedGang,
    decide,
    running_below,
    spent_since,
    subject_of,
)
from ganglion.lifecycle.clusters import cluster_of
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event
from ganglion.model.plan import Phase
from ganglion.server.commands.live import halt
from ganglion.server.controllers.alarms import settle
from ganglion.server.state.transaction import Transaction

PAUSE_MS = 1_000
"""Least time between two looks."""


class BudgetsController:
    """See `ganglion.server.controllers.controller.Controller`.

    What was notified, and since when a budget is spent, are alarms of the ledger: it remembers
    nothing itself.
    """

    name = "budgets"

    def __init__(self) -> None:
        self._looked = 0

    def note(self, event: Event) -> None:
        """It follows no events."""

    def forget(self) -> None:
        """Look at once."""
        self._looked = 0

    def memory(self) -> object:
        """It has none."""
        return None

    def recall(self, memory: object) -> None:
        """It has none."""

    def tend(self, draft: Transaction) -> int | None:
        """Raise alarms, take them back, and suspend what is due."""
        budgets = draft.state.queues.budgets
        alarmed = dict.fromkeys(
            subject
            for subject, alarm in draft.book.alarms
            if alarm.startswith(ALARMS) and not cluster_of(subject)
        )
        if not budgets.accounts and not alarmed:
            return None
        if self._looked <= draft.now < self._looked + PAUSE_MS:
            return self._looked + PAUSE_MS
        self._looked = draft.now
        wanted: dict[str, dict[str, str]] = {subject: {} for subject in alarmed}
        dues = [self._look(draft, view, wanted) for view in budgets.views(draft.now)]
        for subject, alarms in wanted.items():
            settle(draft, subject, alarms, ALARMS)
        return min(dues, default=None)

    def _look(self, draft: Transaction, view: BudgetView, wanted: dict[str, dict[str, str]]) -> int:
        """Look at one budget, and add to the alarms that are wanted; returns when to look next."""
        now, queue = draft.now, view.budget.queue
        running = list(_below(draft, queue))
        verdict = decide(view, spent_since(draft.book.alarms, queue), now, running)
        wanted.setdefault(subject_of(queue), {}).update(verdict.alarms)
        for workload, (alarm, said) in verdict.warnings.items():
            wanted.setdefault(workload, {}).setdefault(alarm, said)
        for record in verdict.suspends:
            if record.phase is not Phase.STOPPING:  # two budgets above it are spent
                halt(draft, record, Cause(CauseKind.BUDGET_SPENT, name=queue))
        times: list[int] = [view.end, *([now + LOOK_MS] if running else ())]
        times += [verdict.due] if verdict.due is not None else []
        soonest = min(times)
        return max(soonest, now + PAUSE_MS)


def _below(draft: Transaction, queue: str) -> Iterator[BudgetedGang]:
    """Gangs that hold a place which costs something, below a queue."""

    def floor_of(record: GangRecord) -> int | None:
        scaling = draft.book.entries[record.gang.workload].workload.scaling
        return scaling.floor if scaling else None

    held = draft.state.queues.budgets.held
    return running_below(draft.state.gangs.records, held, queue, floor_of)
