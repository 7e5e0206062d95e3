"""Reconciles sweeps: gives trials up early, and adapts the width to idle GPUs."""

from msgspec import Struct, field

from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.lifecycle.sweeps.elastic_width import Breath
from ganglion.lifecycle.sweeps.halving import GivenUp, Ladder, climb
from ganglion.model.behaviour import EarlyStop
from ganglion.model.causes import Cause, CauseKind, Standing, sentence
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


class Sweep(Struct):
    """What is known of one sweep.

    Attributes:
        live: trials that have not ended.
        reports: what trials reported since the keeper was asked.
        ladder: how far they have come.
        given_up: trials that are to be stopped, and why.
        breath: which of them are spare; None = none ever was.
    """

    live: int = 0
    reports: list[MetricReported] = field(default_factory=list)
    ladder: Ladder = field(default_factory=Ladder)
    given_up: dict[str, Cause] = field(default_factory=dict)
    breath: Breath | None = None


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
        for workload in list(self._due):
            sweep = self._sweeps[workload]
            self._judge(draft, workload, sweep)
            self._give_up(draft, sweep)
            if sweep.breath:
                self._promote(draft, workload, sweep.breath)
            if not sweep.given_up:
                self._due.pop(workload, None)

    def _submitted(self, gang: Gang) -> None:
        sweep = self._sweeps.setdefault(gang.workload, Sweep())
        if gang.spare and sweep.breath is None:
            # The trials before the first spare one have the sweep's own priority.
            sweep.breath = Breath(own=set(range(sweep.live)))
        if sweep.breath:
            sweep.breath.submitted(gang.index, spare=gang.spare)
        sweep.live += 1

    def _noted(self, event: Noted, sweep: Sweep) -> None:
        trial, breath = _index(event.gang), sweep.breath
        match event:
            case MetricReported():
                sweep.reports.append(event)
            case GangPlaced() if breath:
                breath.placed(trial)
            case GangUpdated() if breath and event.priority is not None and event.priority >= 0:
                breath.promoted(trial)
            case GangEnded():
                self._ended(event, sweep)

    def _ended(self, event: GangEnded, sweep: Sweep) -> None:
        if sweep.breath:
            sweep.breath.ended(_index(event.gang), again=event.requeue)
        if event.requeue:
            return
        sweep.given_up.pop(event.gang, None)
        sweep.live -= 1
        if not sweep.live:
            workload = event.gang.rpartition("/")[0]
            del self._sweeps[workload], self._due[workload]

    def _judge(self, draft: Transaction, workload: str, sweep: Sweep) -> None:
        reports, sweep.reports = sweep.reports, []
        entry = draft.book.entries.get(workload)
        rule = entry.workload.early_stop if entry else None
        if rule is None:
            return
        for each in reports:
            if each.name == rule.metric:
                verdict = climb(sweep.ladder, rule, _index(each.gang), each.step, each.value)
                if verdict:
                    sweep.given_up[each.gang] = given_up(rule, verdict)

    def _give_up(self, draft: Transaction, sweep: Sweep) -> None:
        for gang, cause in list(sweep.given_up.items()):
            record = draft.state.gangs.records.get(gang)
            if record is None or record.phase is Phase.ENDED:
                sweep.given_up.pop(gang)
            elif record.cause != cause or record.phase is not Phase.STOPPING:
                _stop(draft, record, cause)

    def _promote(self, draft: Transaction, workload: str, breath: Breath) -> None:
        entry = draft.book.entries.get(workload)
        while entry and (trial := breath.turn(entry.workload.parallel_min)) is not None:
            gang = f"{workload}/{trial}"
            draft.apply(GangUpdated(draft.now, gang, priority=entry.workload.priority))
            # Noted again when the event comes round.
            breath.promoted(trial)


def given_up(rule: EarlyStop, verdict: GivenUp) -> Cause:
    """The cause of a trial's stop."""
    place = (verdict.rung, verdict.place, verdict.among, verdict.kept)
    return Cause(CauseKind.GIVEN_UP, standing=Standing(rule.metric, verdict.value, *place))


def _stop(draft: Transaction, record: GangRecord, cause: Cause) -> None:
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


def _index(gang: str) -> int:
    return int(gang.rpartition("/")[2])
