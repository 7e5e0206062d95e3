"""What runs once a budget is spent: it is warned, and gives its place back after the grace.

When that is follows from the rule of the local world, and a gang leaves in the way of one that is
preempted: by its owner's switch, or marked and evicted. Its pods are made anew and wait for the
budget.
"""

from collections.abc import Iterable, Iterator

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.budgets import BudgetView
from ganglion.lifecycle.budgets import (
    LOOK_MS,
    OLD_MS,
    BudgetedGang,
    BudgetVerdict,
    MoneyWord,
    decide,
    running_below,
)
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangStopping
from ganglion.model.plan import Stop
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.attempts.plan_to_orders import stop
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.reasons.noting import note


class SpentBudgets:
    """Looks at budgets once a minute, and whenever a gang is due.

    Attributes:
        due: when to look next, in ms; None = no budget is known.
        is_told: whether a server said anything of budgets, if only before a restart.
        news: queue -> what is new, since the turn before, about how much of its budget is spent.
    """

    def __init__(self) -> None:
        self.due: int | None = None
        self.is_told = False
        self.news: dict[str, list[str]] = {}
        self._crossed: dict[str, dict[str, str]] = {}
        self._since: dict[str, int] = {}
        self._heard = 0
        self._told: dict[tuple[str, str], str] = {}

    def hear(self, word: MoneyWord) -> None:
        """Take in what the server said last: since when people know that a budget is spent."""
        said, self._heard, self.due, self.is_told = word.said, word.at, 0, True
        self._since = {
            name.rpartition(CLUSTER_SIGN)[2]: word.at - (said.at - each.spent_at)
            for name, each in said.budgets.items()
            if each.spent_at and word.at
        }

    def look(self, scene: ControllerState, now: int) -> None:
        """Warn what runs below budgets that are nearly spent, and stop what is due."""
        self.news = {}
        if self.due is not None and now < self.due:
            return
        views = scene.state.queues.budgets.views(now)
        self.due = now + LOOK_MS if views else None
        crossed, self._crossed = self._crossed, {}
        known, self._told = self._told, {}
        for view in views:
            running = list(_below(scene, view.budget.queue))
            since = self._since.get(view.budget.queue)
            verdict = decide(view, since, now, running)
            self._crossed[view.budget.queue] = verdict.alarms
            before = crossed.get(view.budget.queue, {}).values()
            if new := [said for said in verdict.alarms.values() if said not in before]:
                self.news[view.budget.queue] = new
            self._warn(scene, verdict, running, known)
            if since is not None and now - self._heard < OLD_MS:
                self._stop(scene, view, verdict.suspends, now)
            times = (now + LOOK_MS, self.due, verdict.due, view.end)
            self.due = max(min(each for each in times if each is not None), now + 1)

    def _warn(
        self,
        scene: ControllerState,
        verdict: BudgetVerdict,
        running: Iterable[BudgetedGang],
        known: dict[tuple[str, str], str],
    ) -> None:
        """Say on what runs what becomes of it, once for each change."""
        first = {each.record.gang.workload: each.record.gang.id for each in reversed([*running])}
        for workload, (alarm, said) in verdict.warnings.items():
            if (
                self._told.setdefault((workload, alarm), said)
                == said
                != known.get((workload, alarm))
            ):
                note(scene, first[workload], names.BUDGET, "Warning", said, warning=True)

    def _stop(
        self, scene: ControllerState, view: BudgetView, due: Iterable[GangRecord], now: int
    ) -> None:
        cause = Cause(CauseKind.BUDGET_SPENT, name=view.budget.shown)
        for record in due:
            gang = record.gang.id
            if scene.evictions.spared.get(gang, 0) > now:
                continue  # a disruption budget keeps it where it is
            if scene.facts.apply(GangStopping(now, gang, record.attempt, cause)):
                stop(scene, Stop(gang, record.attempt, cause), now)


def _below(scene: ControllerState, queue: str) -> Iterator[BudgetedGang]:
    def floor_of(record: GangRecord) -> int | None:
        return record.gang.floor if record.gang.floor or _scales(scene, record) else None

    def is_once(record: GangRecord) -> bool:
        found = scene.gangs.founds.get(record.gang.id)
        if found is None or found.owner is not None:
            return False
        return not any(each.pod.metadata.owner_references for each in found.members)

    state = scene.state
    held = state.queues.budgets.held
    return running_below(state.gangs.records, held, queue, floor_of, is_once)


def _scales(scene: ControllerState, record: GangRecord) -> bool:
    """Whether the object that answers for a service says between what it scales."""
    found, site = scene.gangs.founds.get(record.gang.id), scene.site_of(record.gang.id)
    thing = site.owners.get(found.owner.uid) if found and found.owner else None
    return thing is not None and names.SCALE in thing.metadata.annotations
