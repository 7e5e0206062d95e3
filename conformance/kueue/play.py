"""Plays a scenario: one cycle, then cycles until nothing changes."""

from msgspec import Struct, field

from conformance.kueue.setup import Setup, settles_at
from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import SETTLED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.causes import Cause
from ganglion.model.errors import FieldError
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan

QUIET = 2
"""Cycles without a decision after which nothing will change any more."""


class Outcome(Struct):
    """What came of a scenario.

    Attributes:
        admitted: gangs that started in the first cycle.
        stopped: gangs that were asked to stop in it, with the cause.
        pending: gangs that waited at the beginning and still do after it.
        reasons: why they wait.
        first: placements after it, of all gangs that run or started.
        running, waiting: gangs at the end.
        ever_stopped: gangs that were stopped at any time.
        last: placements at the end.
        settled: whether there was an end.
    """

    admitted: list[str] = field(default_factory=list)
    stopped: dict[str, Cause] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    first: dict[str, Placement] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    ever_stopped: list[str] = field(default_factory=list)
    last: dict[str, Placement] = field(default_factory=dict)
    settled: bool = False


def play(setup: Setup) -> Outcome:
    """Run the engine on a scenario."""
    state = ClusterState(setup.policy)
    for event in setup.before:
        state.apply(event)
    plan = cycle(state, setup.news, settles_at(0))
    for each in plan.rejected:
        raise FieldError(each.message, key="workloads")
    state.validate()
    outcome = Outcome()
    _first(state, setup, plan, outcome)
    outcome.settled = _settle(state, setup, plan, outcome)
    outcome.running = [each for each in setup.gangs if state.gangs.records[each].phase in SETTLED]
    outcome.waiting = [each for each in setup.gangs if each not in outcome.running]
    outcome.last = _placements(state, setup)
    return outcome


def _first(state: ClusterState, setup: Setup, plan: Plan, outcome: Outcome) -> None:
    outcome.admitted = [start.gang.id for start in plan.starts]
    outcome.admitted += [each.gang.id for each in plan.resizes if each.gang.id in setup.waiting]
    outcome.stopped = {stop.gang: stop.cause for stop in plan.stops}
    outcome.pending = [
        each
        for each in setup.waiting
        if state.gangs.records[each].phase in (Phase.PENDING, Phase.RESERVED)
    ]
    found = {each: state.gangs.reason(each) for each in outcome.pending}
    outcome.reasons = {each: reason.message for each, reason in found.items() if reason}
    outcome.first = _placements(state, setup)


def _settle(state: ClusterState, setup: Setup, plan: Plan, outcome: Outcome) -> bool:
    """Gangs that were asked to stop leave and wait again; repeat until nothing changes."""
    quiet = 0
    limit = 20 + 6 * len(setup.gangs)
    for number in range(1, limit):
        outcome.ever_stopped += [stop.gang for stop in plan.stops]
        plan = cycle(state, _leave(state, settles_at(number)), settles_at(number))
        state.validate()
        changes = plan.decisions or plan.waits
        quiet = 0 if changes else quiet + 1
        if quiet >= QUIET:
            return True
    return False


def _leave(state: ClusterState, now: int) -> list[ev.Event]:
    events: list[ev.Event] = []
    for gang, record in state.gangs.records.items():
        if record.phase is Phase.STOPPING:
            outcome = ev.Outcome.PREEMPTED
            events.append(ev.GangEnded(now, gang, record.attempt, outcome, requeue=True))
        elif record.phase in SETTLED and record.leaving:
            events.append(ev.PodsLeft(now, gang, record.attempt))
    return events


def _placements(state: ClusterState, setup: Setup) -> dict[str, Placement]:
    found = {}
    for each in setup.gangs:
        record = state.gangs.records[each]
        if record.phase in SETTLED and record.placement:
            found[each] = record.placement
    return found
