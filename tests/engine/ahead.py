"""A state with a future, and the cycle around it, without victims."""

from collections.abc import Iterable

from ganglion.engine.bookings import Bookings
from ganglion.engine.estimates import Estimates
from ganglion.engine.find import find
from ganglion.engine.future import Future
from ganglion.engine.lanes import Lane
from ganglion.engine.occupants import Occupants
from ganglion.engine.order import Turns
from ganglion.engine.record import GangRecord
from ganglion.engine.state import ClusterState
from ganglion.model import events as ev
from ganglion.model.booking import Booking
from ganglion.model.placement import PodPlacement
from ganglion.model.plan import Phase, Plan, Start
from ganglion.model.policy import Policy
from ganglion.model.reasons import Reason

LEARNT_FROM = (ev.Outcome.SUCCEEDED, ev.Outcome.FAILED, ev.Outcome.TIMED_OUT)


class Ahead(ClusterState):
    """A cluster state that tells its future what happens."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.occupants, self.estimates = Occupants(), Estimates()
        self.bookings = Bookings(self.shares.path)
        self.future = Future(self, self.occupants, self.estimates, self.bookings)

    def join(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        super().join(record, pods)
        self.occupants.join(record, pods)

    def part(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> None:
        super().part(record, pods)
        self.occupants.part(record, pods)

    def apply(self, event: ev.Event) -> bool:
        if isinstance(event, ev.StartPlanned):
            changed = self.future.apply(event)
            self.freed += changed and event.placement is None
            return changed
        if isinstance(event, ev.GangEnded) and event.outcome in LEARNT_FROM:
            self.estimates.learn(self.records[event.gang], event.at)
        if isinstance(event, ev.GangPlaced | ev.GangEnded):
            self.freed += self.future.drop(event.gang)
        return super().apply(event)

    def book(self, *bookings: Booking) -> None:
        for each in bookings:
            self.freed += self.bookings.put(each)


def cycle(state: Ahead, events: Iterable[ev.Event], now: int) -> Plan:
    """As the engine's own, with reservations and without trades."""
    plan = Plan(now)
    for event in events:
        state.apply(event)
    state.settle()
    state.wake(now)
    _decide(state, plan, state.future.renew(now))
    turns = Turns(state, 0)
    while record := turns.next():
        _turn(state, turns, record, plan)
    return plan


def _turn(state: Ahead, turns: Turns, record: GangRecord, plan: Plan) -> None:
    now, gang, lane = plan.at, record.gang.id, turns.lane()
    found = find(state, record, now)
    reason, placement = state.future.settle(record, now, found, lambda: find(state, record, now))
    if placement:
        event = ev.GangPlaced(now, gang, record.attempt + 1, placement)
        _decide(state, plan, [event])
        plan.starts.append(Start(record.gang, event.attempt, placement))
        turns.started()
        return
    assert reason
    _decide(state, plan, state.future.plan(record, reason, now))
    _wait(state, lane, gang, reason)
    turns.block(final=reason.never)


def _wait(state: Ahead, lane: Lane, gang: str, reason: Reason) -> None:
    lane.reason = reason
    if state.records[gang].phase is Phase.PENDING:
        state.lanes.shut(gang, reason)


def _decide(state: Ahead, plan: Plan, events: Iterable[ev.Event]) -> None:
    for event in events:
        state.apply(event)
        plan.decisions.append(event)
