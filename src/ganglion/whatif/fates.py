"""What became of each gang in a period, by events alone: those of a ledger, or of a simulation.

The same rules read both, so that what differs between them is not how it was measured.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ganglion.engine.gangs.record import HOLDING, SETTLED, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.metering.attempts import HeldPlace
from ganglion.metering.meter import Meter
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangResized,
    GangStarted,
    GangStopping,
    GangSubmitted,
    GangUpdated,
    Outcome,
)
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.workload import Gang


class GangFate(Struct):
    """What became of one gang; times in ms.

    Attributes:
        gang: as submitted, with later changes of its queue and time limit.
        went_on: it had started before the period, so that its wait is none of the period.
        started: when its pods first ran; None = not yet.
        ended: when it was over; None = not yet.
        outcome: how.
        ran_last: whether its last attempt ran until the end.
        lost_gpu_ms: work of the period that was thrown away.
        stops: attempts that were stopped for others.
        work: work done in the period and not thrown away, in pods x ms.
        since: since when its pods run; None = they do not.
        placed, asked: when its attempt was placed, and asked to stop; 0 = it was not.
        placement: where the present attempt is.
    """

    gang: Gang
    went_on: bool = False
    started: int | None = None
    ended: int | None = None
    outcome: Outcome | None = None
    ran_last: bool = False
    lost_gpu_ms: int = 0
    stops: int = 0
    work: int = 0
    since: int | None = None
    placed: int = 0
    asked: int = 0
    placement: Placement | None = None

    @property
    def run_ms(self) -> int:
        """The work in ms of all its pods."""
        return max(self.work, 0) // _full(self.gang)

    def settle(self, at: int) -> None:
        """Count the work up to a time in ms."""
        if self.since is not None and at > self.since:
            self.work += _rate(self.gang, self.placement) * (at - self.since)
            self.since = at

    def wait_ms(self, until: int) -> int | None:
        """How long it waited to start, or has until a time in ms; None = it had started before."""
        if self.went_on:
            return None
        over = self.ended if self.ended is not None else until
        return max((over if self.started is None else self.started) - self.gang.submitted, 0)


class Fates:
    """Takes in events of one period in order.

    Args:
        state: at the begin of the period; only looked at.
        begin: the begin in ms.

    Attributes:
        begin: the same.
        of: by gang id, in order of submission.
        meter: what was held, for what it costs.
        start_ms: how long each start took from its placement.
        leave_ms: how long each attempt took to leave once it was asked to.
    """

    def __init__(self, state: ClusterState, begin: int) -> None:
        self.begin = begin
        self.of: dict[str, GangFate] = {}
        self.meter = Meter()
        self.start_ms: list[int] = []
        self.leave_ms: list[int] = []
        records = [each for each in state.gangs.records.values() if each.phase is not Phase.ENDED]
        for each in records:
            self.of[each.gang.id] = _standing(each, begin)
        held = (
            HeldPlace(each.gang, each.attempt, _wanted(each), each.leaving)
            for each in records
            if each.phase in HOLDING and each.placement
        )
        self.meter.begin(begin, state.fleet.nodes, sorted(state.fleet.tree.gone()), held)

    def note(self, event: Event) -> None:
        """Take in an event that changed something, unless its gang is not known."""
        if isinstance(event, GangSubmitted):
            self.of.setdefault(event.gang.id, GangFate(event.gang))
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            fate = self.of.get(getattr(event, "gang", ""))
            if fate is None:
                return
            handler(self, fate, event)
        self.meter.note(event, self.of.__getitem__)

    def updated(self, fate: GangFate, event: GangUpdated) -> None:
        """Its queue or time limit may be another one now."""
        limit, queue = event.time_limit_ms, event.queue
        fate.gang = replace(
            fate.gang,
            time_limit_ms=fate.gang.time_limit_ms if limit is None else limit,
            queue=fate.gang.queue if queue is None else queue,
        )

    def placed(self, fate: GangFate, event: GangPlaced) -> None:
        """An attempt takes its place."""
        fate.placement, fate.placed, fate.since, fate.asked = event.placement, event.at, None, 0

    def started(self, fate: GangFate, event: GangStarted) -> None:
        """Its pods run."""
        if fate.since is not None or fate.placement is None:
            return
        fate.since = max(event.at, self.begin)  # a start may be reported late
        if fate.started is None:
            fate.started = event.at
        if fate.placed:
            self.start_ms.append(event.at - fate.placed)

    def resized(self, fate: GangFate, event: GangResized) -> None:
        """It has other pods."""
        fate.settle(event.at)
        fate.placement = event.placement

    def stopping(self, fate: GangFate, event: GangStopping) -> None:
        """It was asked to stop."""
        fate.asked = fate.asked or event.at

    def ended(self, fate: GangFate, event: GangEnded) -> None:
        """An attempt is over."""
        fate.settle(event.at)
        fate.ran_last = fate.since is not None
        if fate.asked and fate.ran_last:
            self.leave_ms.append(event.at - fate.asked)
        # What a change of the fleet takes at the very begin is no work of the period.
        lost = event.lost_gpu_ms if event.at > self.begin else 0
        fate.lost_gpu_ms += lost
        milli = _gpu_milli(fate.placement)
        if lost and milli:
            fate.work -= lost * 1000 // milli * _rate(fate.gang, fate.placement)
        fate.stops += event.outcome is Outcome.PREEMPTED
        fate.placement, fate.since = None, None
        if not event.requeue:
            fate.ended, fate.outcome = event.at, event.outcome


_HANDLERS: Mapping[type, Callable[[Fates, GangFate, Any], None]] = {
    GangUpdated: Fates.updated,
    GangPlaced: Fates.placed,
    GangStarted: Fates.started,
    GangResized: Fates.resized,
    GangStopping: Fates.stopping,
    GangEnded: Fates.ended,
}


def _standing(record: GangRecord, begin: int) -> GangFate:
    """A gang that was there at the begin."""
    runs = record.phase in HOLDING
    return GangFate(
        record.gang,
        went_on=runs or record.attempt > 0,
        started=begin if record.attempt > 0 else None,
        since=begin if runs and record.started else None,
        placed=record.placed_at if runs and not record.started else 0,
        asked=record.stopping_at,
        placement=record.placement if runs else None,
    )


def _wanted(record: GangRecord) -> tuple[PodPlacement, ...]:
    """Pods that go on: none once the gang was asked to stop."""
    return record.placement.pods if record.placement and record.phase in SETTLED else ()


def _elastic(gang: Gang) -> frozenset[str]:
    return frozenset(pods.name for pods in gang.pod_sets if pods.min_count)


def _full(gang: Gang) -> int:
    """Pods of all elastic pod sets; 1 where there are none."""
    return sum(pods.count for pods in gang.pod_sets if pods.min_count) or 1


def _rate(gang: Gang, placement: Placement | None) -> int:
    """Units of work in one ms."""
    elastic = _elastic(gang)
    if not elastic:
        return 1
    return sum(pod.pod_set in elastic for pod in placement.pods) if placement else 0


def _gpu_milli(placement: Placement | None) -> int:
    return placement.gpu_milli if placement else 0
