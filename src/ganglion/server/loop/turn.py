"""What happens within one turn: read the facts, decide, write."""

from collections.abc import Sequence

import msgspec
import structlog

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import HOLDING
from ganglion.ledger.records import Ended, Entry
from ganglion.lifecycle.clusters import place_of
from ganglion.lifecycle.failures.blame import blamed
from ganglion.lifecycle.failures.retries import decide
from ganglion.lifecycle.losses import measured
from ganglion.metering.waits import size_of
from ganglion.model.errors import GanglionError
from ganglion.model.events import (
    AlarmSet,
    DeliveredEvent,
    Event,
    GangEnded,
    GangPlaced,
    GangStarted,
    MetricReported,
)
from ganglion.model.plan import Plan, Resize, Start
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.controllers.controller import Controllers
from ganglion.server.delivered.filed import filed
from ganglion.server.state.transaction import Order, Transaction
from ganglion.server.telemetry.metrics import Metrics
from ganglion.server.views.workloads import detail
from ganglion.worlds.world import ServedWorld

log = structlog.get_logger(__name__)


class Turn:
    """One turn, on its draft.

    Args:
        draft: open.
        metrics: counts what happens.
        isolate: whether what the engine fails over is undone and set apart, else raised.
        clock: for traces.

    Attributes:
        starts: attempts to start once the turn is written.
        resizes: changes of attempts, likewise.
        cycled: when the engine began and ended to decide, in ns; zeros = it did not.
    """

    def __init__(
        self,
        draft: Transaction,
        metrics: Metrics,
        *,
        isolate: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self.draft, self._metrics, self._isolate = draft, metrics, isolate
        self.starts: list[Start] = []
        self.resizes: list[Resize] = []
        self.cycled = (0, 0)

    @property
    def started(self) -> list[str]:
        """Gangs whose pods run by now."""
        return [each.gang for each in self.draft.batch.incoming if isinstance(each, GangStarted)]

    @property
    def over(self) -> list[tuple[str, int]]:
        """Attempts that have ended, each with its gang before it."""
        ended = (each for each in self.draft.batch.incoming if isinstance(each, GangEnded))
        return [(each.gang, each.attempt) for each in ended]

    def hear(self, facts: Sequence[Event]) -> None:
        """Take in what a world reports; a report without sense stops no other."""
        told = self.draft.book.untold.due(self.draft.state, self.draft.now, alone=not facts)
        if told:
            self.draft.record(told)
        for fact in facts:
            try:
                self._hear(fact)
            except GanglionError as error:
                log.warning("report refused", report=str(fact), error=error.message)
            except Exception:
                if not self._isolate:
                    raise
                log.exception("report set apart", report=str(fact))
                self._metrics.failed("events")

    def _hear(self, fact: Event) -> None:
        if isinstance(fact, MetricReported | AlarmSet):
            if self.draft.book.is_news(fact):
                self.draft.record(fact)
            return
        if not isinstance(fact, GangEnded):
            self.draft.apply(fact)
            return
        record = self.draft.state.gangs.record(fact.gang)
        # Notified again of an end, a gang that waits for its next attempt must not end with it.
        if record.phase in HOLDING:
            workload = self.draft.book.entries[record.gang.workload].workload
            trail = self.draft.book.trails[fact.gang]
            # Records of older versions have the wall clock alone, which may have been set.
            fact = msgspec.structs.replace(fact, at=max(fact.at, trail.span.started))
            fact = blamed(fact, record.placement, self.draft.state.fleet.tree.sick)
            decided = decide(fact, record, workload, trail.history)
            self.draft.apply(measured(decided, trail.span, trail.checkpoint))

    def tend(self, keepers: Controllers) -> bool:
        """Let the keepers do what is due; False = the draft must be made anew."""
        return keepers.tend(self.draft)

    def decide(self, *, always: bool) -> None:
        """Let the engine decide when anything has changed, time included.

        Where other plugins are to decide from now on, that waits for the next turn.

        Args:
            always: ask it even so.
        """
        draft = self.draft
        if draft.renewed:
            return
        wake = draft.state.next_wake()
        due = wake is not None and wake <= draft.now
        if not (always or draft.concerns_engine or due or draft.state.config.plugins.permits):
            if draft.batch:
                draft.state.again(draft.now)  # as a replay of this cycle does
            return
        began = self._clock.now_ns()
        with self._metrics.cycle():
            plan = cycle(draft.state, (), draft.now, isolate=self._isolate)
        self.cycled = (began, self._clock.now_ns())
        for defect in plan.defects:
            log.error("set apart", stage=defect.stage, gang=defect.gang, error=defect.error)
            self._metrics.failed(defect.stage)
        draft.decided(plan)
        self.starts, self.resizes = plan.starts, plan.resizes
        if plan.stops:
            draft.orders.append(_stops(plan))

    def write(self) -> list[Entry]:
        """Write the turn, then drop the workloads that are over; returns the new events.

        Raises:
            EnvironmentFault: nothing was written.
        """
        draft = self.draft
        for workload, at in draft.book.over().items():
            shown = detail(draft.mind, workload)
            body = msgspec.json.encode(shown)
            draft.batch.ended.append(Ended(workload, at, shown.state, body))
        for cluster, gang in draft.book.clusters.over():
            draft.batch.past.append(filed(cluster, gang, draft.ledger.next_number()))
        if not draft.batch and not draft.batch.activity:
            return []
        batch, metered = draft.batch, draft.book.metered()
        batch.usage, batch.supply, activity, batch.lent, batch.lost = metered
        batch.activity += activity
        with self._metrics.commit():
            entries = draft.ledger.append(draft.batch)
        self._measure()
        draft.book.close(draft.state)
        self._metrics.appended(draft.batch)
        return entries

    def _measure(self) -> None:
        """Count what the batch says of waits and ends."""
        for event in self.draft.batch.decisions:
            if isinstance(event, GangPlaced) and event.attempt == 1:
                gang = self.draft.state.gangs.records[event.gang].gang
                milli = sum(pod.milli * len(pod.devices) for pod in event.placement.pods)
                waited = self.draft.now - gang.submitted
                self._metrics.placed(gang.queue, size_of(milli), waited)
        for event in self.draft.batch.incoming:
            if isinstance(event, GangEnded | GangStarted) and event.attempt:
                self._measure_attempt(event)
            elif isinstance(event, DeliveredEvent) and isinstance(event.event, GangEnded):
                self._metrics.lost_of(event.event, self.draft.book.clusters.queue_of(event))
        for cluster, each in self.draft.book.clusters.placed():
            queue, waited = place_of(cluster, each.gang.queue), each.first - each.gang.submitted
            self._metrics.placed(queue, size_of(each.first_milli), waited)

    def _measure_attempt(self, event: GangEnded | GangStarted) -> None:
        record = self.draft.state.gangs.records.get(event.gang)
        if record is None:
            return
        if isinstance(event, GangEnded):
            self._metrics.ended(event, record.gang.queue)
        else:
            self._metrics.started(record.gang.queue, event.at - record.placed_at)


def _stops(plan: Plan) -> Order:
    def carry_out(world: ServedWorld) -> None:
        world.execute(Plan(plan.at, stops=plan.stops), {})

    return carry_out
