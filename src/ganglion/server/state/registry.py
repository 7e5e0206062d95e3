"""Which gangs belong to which workload, and what the engine does not keep about them.

Like the engine's state it changes by events only, so that a replay gives the same book.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from msgspec import Struct, field

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.records import Filed, Flaw
from ganglion.lifecycle.budget_requests import BudgetRequests
from ganglion.lifecycle.budgets import ClusterBudgets
from ganglion.lifecycle.clusters import ClusterBooks
from ganglion.lifecycle.failures.history import FailureHistory
from ganglion.lifecycle.losses import AttemptSpan
from ganglion.lifecycle.past.life import GangLife, LifeNews
from ganglion.lifecycle.reports.hearing import MISSING, OF_ATTEMPTS
from ganglion.lifecycle.resuming import remembered
from ganglion.lifecycle.waiting.sums import WaitSums
from ganglion.lifecycle.waiting.untold import UntoldReasons
from ganglion.metering.clusters import Closed, ClusterMeters
from ganglion.metering.intervals import SupplyInterval, UsageInterval
from ganglion.metering.lending import LendingMeter
from ganglion.metering.meter import Meter
from ganglion.model.errors import NotFound
from ganglion.model.events import (
    AlarmSet,
    CheckpointCommitted,
    Event,
    GangEnded,
    GangPlaced,
    GangResized,
    GangStarted,
    GangStopping,
    GangSubmitted,
    GangUpdated,
    IdleWarned,
    MetricReported,
    Outcome,
    PolicySet,
)
from ganglion.model.events.access import PodAccess, SessionStage
from ganglion.model.placement import Placement
from ganglion.model.plan import SavePoint
from ganglion.model.workload import Checkpoint, Workload
from ganglion.pricing.book import PriceBook
from ganglion.server.state.replicas import Replicas
from ganglion.server.state.rights import AccessRights
from ganglion.server.state.schedules import Schedules
from ganglion.server.state.spending import Spending
from ganglion.server.state.visits import Visits, remember

PARTS = (
    *("gangs", "trails", "policies", "alarms", "flaws", "schedules", "replicas", "spending"),
    *("_open", "_over"),
)
"""What a book consists of beside the live workloads."""
LATER = (
    *("sessions", "visits", "rights", "meter", "clusters", "cluster_meters", "prices"),
    *("budget_requests", "lending", "cluster_budgets"),
)
"""More of it, which the first version had not."""


class Trail(Struct):
    """What is worth knowing of a gang's attempts.

    Attributes:
        placement: where the last one ran.
        outcome: how the last one that ended did; None = none has.
        started: when the last one that ran had all its pods, in ms; 0 = never.
        history: how its attempts ended.
        restarts: attempts that ended and were followed by another wait.
        preemptions: attempts stopped for the sake of others.
        lost_gpu_ms: GPU time that these threw away.
        checkpoint: the gang's contract.
        span: the present attempt.
        warned: that it is suspended soon, unless it is used; None = it is not.
        metrics: what its programs reported last, by name.
        saved: its last checkpoints, newest first.
        life: what happened to it.
    """

    placement: Placement | None = None
    outcome: Outcome | None = None
    started: int = 0
    history: FailureHistory = field(default_factory=FailureHistory)
    restarts: int = 0
    preemptions: int = 0
    lost_gpu_ms: int = 0
    checkpoint: Checkpoint | None = None
    span: AttemptSpan = field(default_factory=AttemptSpan)
    warned: IdleWarned | None = None
    metrics: dict[str, MetricReported] = field(default_factory=dict)
    saved: tuple[SavePoint, ...] = ()
    life: GangLife = field(default_factory=GangLife)


class LiveWorkload(Struct):
    """A live workload."""

    id: str
    number: int
    at: int
    document: bytes
    workload: Workload


class Registry:
    """The live workloads.

    Attributes:
        entries: by id.
        gangs: workload id -> its gangs' ids, by index.
        trails: by gang id.
        policies: every version of the policy, oldest first.
        replicas: of services.
        spending: what workloads have used.
        schedules: what is submitted again and again.
        alarms: what needs a person, by (subject, alarm); those of workloads end with them.
        flaws: events of the ledger that could not be taken in, by number; rows of workloads, by
            their numbers below 0.
        sessions: those in pods that have begun and not ended, by their ids.
        visits: the last sessions in pods of live workloads, by their ids.
        rights: grants and tokens.
        meter: what attempts hold and what nodes have; see `Mind.note`.
        prices: every price that was set.
        budget_requests: for more than budgets allow.
        cluster_budgets: budgets that schedulers of clusters keep.
        rebuilt: workloads whose rows are to be written again.
        clusters: those whose schedulers deliver what they decide.
        waits: for what gangs have waited; the engine notifies it, see `Mind.of`.
        untold: reasons of waits that are not in the ledger yet.
        cluster_meters: what they have and hold.
        lending: what queues lent and borrowed; see `Mind.note`.
    """

    def __init__(self) -> None:
        self.entries: dict[str, LiveWorkload] = {}
        self.gangs: dict[str, list[str]] = {}
        self.trails: dict[str, Trail] = {}
        self.policies: list[PolicySet] = []
        self.alarms: dict[tuple[str, str], AlarmSet] = {}
        self.flaws: dict[int, Flaw] = {}
        self.rebuilt: list[LiveWorkload] = []
        self.sessions: dict[str, PodAccess] = {}
        self.visits: dict[str, Visits] = {}
        self._names: dict[str, dict[str, None]] = {}
        self.rights = AccessRights()
        self.meter, self.lending = Meter(), LendingMeter()
        self.prices = PriceBook()
        self.budget_requests = BudgetRequests()
        self.cluster_budgets = ClusterBudgets()
        self.schedules = Schedules()
        self.replicas = Replicas()
        self.spending = Spending()
        self.clusters = ClusterBooks()
        self.watch(WaitSums())
        self.cluster_meters = ClusterMeters()
        self._open: dict[str, int] = {}
        self._over: dict[str, int] = {}

    @classmethod
    def of(cls, parts: Mapping[str, Any]) -> Self:
        """A book of what `parts` gave; `load` brings the live workloads."""
        made = cls()
        for name in PARTS:
            setattr(made, name, parts[name.lstrip("_")])
        for name in LATER:
            setattr(made, name, parts.get(name, getattr(made, name)))
        return made

    def watch(self, waits: WaitSums) -> None:
        """Wait times are added up there from now on."""
        self.waits, self.untold = waits, UntoldReasons(waits.kind)

    def parts(self) -> dict[str, Any]:
        """All of it but the live workloads, by names that stay."""
        parts = {name.lstrip("_"): getattr(self, name) for name in (*PARTS, *LATER)}
        return parts | {"waits": self.waits.saved()}

    def enter(self, entry: LiveWorkload) -> None:
        """A workload was submitted, or changed."""
        self.entries[entry.id] = entry
        self._names.setdefault(entry.workload.name, {})[entry.id] = None

    def load(self, filed: Iterable[Filed]) -> None:
        """Take in the live workloads of a ledger, after its events."""
        for each in filed:
            self.enter(LiveWorkload(each.id, each.number, each.at, each.document, each.workload))

    def named(self, name: str) -> LiveWorkload | None:
        """The newest live workload of that name."""
        return next(reversed(self.all_named(name)), None)

    def all_named(self, name: str) -> list[LiveWorkload]:
        """The live workloads of that name, oldest first."""
        return [self.entries[each] for each in self._names.get(name, ())]

    def workloads(self) -> dict[str, Workload]:
        """Every live workload by id."""
        return {key: entry.workload for key, entry in self.entries.items()}

    def gang(self, workload: str, index: int) -> str:
        """Id of a gang of a live workload.

        Raises:
            NotFound: it has none of that number, or has forgotten it.
        """
        found = f"{workload}/{index}"
        if found not in self.trails:
            gangs = self.gangs[workload]
            last = gangs[-1].rpartition("/")[2]
            raise NotFound(f"{workload} has no gang {index}", f"it has {len(gangs)}, up to {last}")
        return found

    def is_news(self, report: MetricReported | AlarmSet) -> bool:
        """Whether a report says more than what is known; after a restart worlds repeat some."""
        if isinstance(report, AlarmSet):
            told = self.alarms.get((report.subject, report.alarm))
            return (told.message if told else "") != report.message
        trail = self.trails.get(report.gang)
        before = trail.metrics.get(report.name) if trail else None
        if before is None:
            return trail is not None
        return (report.attempt, report.at) > (before.attempt, before.at)

    def note(self, event: Event) -> None:
        """Take in an event that the engine's state has accepted."""
        self.replicas.note(event)
        self.spending.note(event)
        self.schedules.note(event)
        self.rights.note(event)
        self.cluster_meters.note(event, self.clusters.of)
        self.clusters.note(event)
        self.prices.note(event)
        self.budget_requests.note(event)
        self.cluster_budgets.note(event)
        self.waits.note(event)
        match event:
            case GangSubmitted(gang=gang):
                self.gangs.setdefault(gang.workload, []).append(gang.id)
                self._open[gang.workload] = self._open.get(gang.workload, 0) + 1
                self.trails[gang.id] = Trail(checkpoint=gang.checkpoint, life=GangLife.of(gang))
                self._over.pop(gang.workload, None)
            case GangPlaced() | GangResized() | GangUpdated() | CheckpointCommitted():
                self._went_on(event)
            case GangStarted():
                trail = self.trails[event.gang]
                trail.started = event.at
                trail.history.begun(event.at)
                trail.span.started = event.at
            case GangStopping():
                span = self.trails[event.gang].span
                span.told = span.told or event.at
            case GangEnded():
                self._ended(event)
            case MetricReported() | IdleWarned() | PodAccess():
                self._told(event)
            case PolicySet():
                self.policies.append(event)
            case AlarmSet():
                self.alarms.pop((event.subject, event.alarm), None)
                if event.message:
                    self.alarms[event.subject, event.alarm] = event
                if event.alarm == MISSING and event.message and event.subject in self.trails:
                    self.trails[event.subject].life.miss(event.message)

    def _went_on(self, event: LifeNews) -> None:
        trail = self.trails[event.gang]
        trail.life.take(event, trail.placement, trail.saved)
        match event:
            case GangPlaced(placement=place):
                trail.placement, trail.span = place, AttemptSpan(placement=place)
                for alarm in OF_ATTEMPTS if self.alarms else ():
                    self.alarms.pop((event.gang, alarm), None)
            case GangResized():
                trail.placement = trail.span.placement = event.placement
            case CheckpointCommitted():
                trail.span.committed = event.at
                trail.saved = remembered(trail.saved, event)

    def _told(self, event: MetricReported | IdleWarned | PodAccess) -> None:
        if isinstance(event, PodAccess):
            self.sessions.pop(event.session, None)
            if event.stage is SessionStage.BEGUN:
                self.sessions[event.session] = event
            workload = event.gang.rpartition("/")[0]
            if workload in self.gangs:
                remember(self.visits.setdefault(workload, {}), event)
            return
        trail = self.trails[event.gang]
        if isinstance(event, MetricReported):
            trail.metrics[event.name] = event
        else:
            trail.warned = event if event.suspend_at else None

    def _ended(self, event: GangEnded) -> None:
        trail = self.trails[event.gang]
        trail.outcome, trail.warned = event.outcome, None
        trail.history.ended(event)
        if event.outcome is Outcome.PREEMPTED:
            trail.preemptions += 1
            trail.lost_gpu_ms += event.lost_gpu_ms
        if event.requeue:
            trail.restarts += 1
            return
        workload = event.gang.rpartition("/")[0]
        self._open[workload] -= 1
        if not self._open[workload]:
            self._over[workload] = event.at

    def forget(self, workload: str, gang: str) -> None:
        """A gang is no more; the last one takes its workload along."""
        left = self.gangs.get(workload, [])
        if gang not in left:
            return
        left.remove(gang)
        del self.trails[gang]
        if not left:
            del self.gangs[workload], self._open[workload]
            self.spending.close(workload)
            self._leave(workload)

    def _leave(self, workload: str) -> None:
        entry = self.entries.pop(workload, None)
        self.visits.pop(workload, None)
        name = entry.workload.name if entry else ""
        named = self._names.get(name, {})
        named.pop(workload, None)
        if not named:
            self._names.pop(name, None)

    def metered(self) -> Closed:
        """The intervals that were closed since this was asked last, in order; then none are.

        Those of activity are of clusters: what GPUs of this machine did follows from no event.
        """
        usage, supply = self.meter.drain()
        more_usage, more_supply, activity, lent, more_lost = self.cluster_meters.drain()
        usage, supply, lent = usage + more_usage, supply + more_supply, self.lending.drain() + lent
        lost = self.meter.drain_lost() + more_lost
        return usage, supply, activity, lent, lost if self.meter.losses_since is not None else []

    def open_usage(self, until: int) -> Iterator[UsageInterval]:
        """What attempts hold here and in clusters, as if it ended then."""
        yield from self.meter.open_usage(until)
        yield from self.cluster_meters.open_usage(until)

    def open_supply(self, until: int) -> Iterator[SupplyInterval]:
        """What nodes have here and in clusters, as if it ended then."""
        yield from self.meter.open_supply(until)
        yield from self.cluster_meters.open_supply(until)

    def metered_since(self) -> int | None:
        """When the first meter began, in ms; None = none has."""
        begun = self.cluster_meters.begun()
        if self.meter.since is not None:
            begun.append(self.meter.since)
        return min(begun, default=None)

    def over(self) -> dict[str, int]:
        """Workloads whose gangs have all ended -> when the last one did."""
        return dict(self._over)

    def ended_at(self, workload: str) -> int | None:
        """When the last gang of a workload ended, in ms; None = one lives."""
        return self._over.get(workload)

    def close(self, state: ClusterState) -> None:
        """Drop the workloads that are over, here and in the engine's state.

        Of the replicas that left a service that goes on, only the last are kept.
        """
        self.clusters.close()
        for gang in self.replicas.surplus():
            self._retire(state, gang)
        if self._over and self.alarms:
            gone = set(self._over).union(*(self.gangs[workload] for workload in self._over))
            self.alarms = {key: each for key, each in self.alarms.items() if key[0] not in gone}
        for workload in self._over:
            for gang in self.gangs.pop(workload):
                state.gangs.forget(gang)
                del self.trails[gang]
            self.replicas.close(workload)
            self.spending.close(workload)
            del self._open[workload]
            self._leave(workload)
        self._over.clear()

    def _retire(self, state: ClusterState, gang: str) -> None:
        trail = self.trails.pop(gang)
        self.replicas.retire(gang, trail.preemptions, trail.lost_gpu_ms)
        self.gangs[gang.rpartition("/")[0]].remove(gang)
        state.gangs.forget(gang)
