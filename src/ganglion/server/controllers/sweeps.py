"""The local host of sweeps: learns of trials by events, stops and promotes as is decided."""

from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.lifecycle.sweeps.elastic_width import ElasticWidth
from ganglion.lifecycle.sweeps.reconciler import Sweep, TrialTerms, index_of, to_promote, to_stop
from ganglion.model.causes import Cause, sentence
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangStopping,
    GangSubmitted,
    GangUpdated,
    MetricReported,
    Outcome,
)
from ganglion.model.plan import Phase, Plan, Stop
from ganglion.model.workload import Gang, Kind
from ganglion.server.state.transaction import Order, Transaction
from ganglion.worlds.world import ServedWorld

Noted = MetricReported | GangPlaced | GangUpdated | GangEnded


class SweepsController:
    """Stops trials that do worse than others, and lets spare ones take their turn.

    It is a `Keeper`, see `server.controllers.controller`. What it remembers of a sweep is gone
    with the sweep's last trial.
    """

    name = "sweeps"

    def __init__(self) -> None:
        self._sweeps: dict[str, Sweep] = {}
        self._due: dict[str, None] = {}

    def forget(self) -> None:
        """Forget what was noted."""
        self._sweeps.clear()
        self._due.clear()

    def memory(self) -> object:
        """What is known of every sweep."""
        return self._sweeps, self._due

    def recall(self, memory: tuple[dict[str, Sweep], dict[str, None]]) -> None:
        """Go on with this."""
        self._sweeps, self._due = memory

    def note(self, event: Event) -> None:
        """Take notice of an event about a trial."""
        match event:
            case GangSubmitted(gang=gang) if gang.kind is Kind.SWEEP:
                self._submitted(gang)
            case MetricReported() | GangPlaced() | GangUpdated() | GangEnded():
                workload = event.gang.rpartition("/")[0]
                sweep = self._sweeps.get(workload)
                if sweep:
                    self._due[workload] = None
                    self._noted(event, sweep)

    def tend(self, draft: Transaction) -> None:
        """Judge what was reported, stop trials that were given up, and fill what became free."""

        def lives(trial: str) -> bool:
            record = draft.state.gangs.records.get(trial)
            return record is not None and record.phase is not Phase.ENDED

        for workload in list(self._due):
            sweep, terms = self._sweeps[workload], _terms(draft, workload)
            for trial, cause in to_stop(sweep, terms, lives).items():
                _stop(draft, draft.state.gangs.records[trial], cause)
            for trial in to_promote(workload, sweep, terms):
                priority = draft.book.entries[workload].workload.priority
                draft.apply(GangUpdated(draft.now, trial, priority=priority))
            if not sweep.given_up:
                self._due.pop(workload, None)

    def _submitted(self, gang: Gang) -> None:
        sweep = self._sweeps.setdefault(gang.workload, Sweep())
        if gang.spare and sweep.elastic is None:
            # The trials before the first spare one have the sweep's own priority.
            sweep.elastic = ElasticWidth(own=set(range(sweep.live)))
        if sweep.elastic:
            sweep.elastic.submitted(gang.index, spare=gang.spare)
        sweep.live += 1

    def _noted(self, event: Noted, sweep: Sweep) -> None:
        trial, elastic = index_of(event.gang), sweep.elastic
        match event:
            case MetricReported():
                sweep.reports.append(event)
            case GangPlaced() if elastic:
                elastic.placed(trial)
            case GangUpdated() if elastic and event.priority is not None and event.priority >= 0:
                elastic.promoted(trial)
            case GangEnded():
                self._ended(event, sweep)

    def _ended(self, event: GangEnded, sweep: Sweep) -> None:
        if sweep.elastic:
            sweep.elastic.ended(index_of(event.gang), again=event.requeue)
        if event.requeue:
            return
        sweep.given_up.pop(event.gang, None)
        sweep.live -= 1
        if not sweep.live:
            workload = event.gang.rpartition("/")[0]
            del self._sweeps[workload], self._due[workload]


def _terms(draft: Transaction, workload: str) -> TrialTerms:
    """What the owner wants; nothing where the sweep is not known any more."""
    entry = draft.book.entries.get(workload)
    if entry is None:
        return TrialTerms()
    return TrialTerms(entry.workload.early_stop, entry.workload.parallel_min)


def _stop(draft: Transaction, record: GangRecord, cause: Cause) -> None:
    if record.cause == cause and record.phase is Phase.STOPPING:
        return  # it was asked to
    gang, attempt = record.gang.id, record.attempt
    if record.phase in WAITING:
        message = sentence(cause)
        draft.apply(GangEnded(draft.now, gang, attempt, Outcome.STOPPED_EARLY, message=message))
    elif draft.apply(GangStopping(draft.now, gang, attempt, cause)):
        draft.orders.append(_order(Stop(gang, attempt, cause), draft.now))


def _order(stop: Stop, now: int) -> Order:
    def carry_out(world: ServedWorld) -> None:
        world.execute(Plan(now, stops=[stop]), {})

    return carry_out
