"""Trades keep to what is spoken for: bookings, and reservations of those with a right to them."""

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import BookingSet, GangEnded, GangStarted, GangSubmitted, Outcome
from ganglion.model.fleet.booking import Booking
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Future, Order, Policy, Repack
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.model.workload import Gang
from tests.engine.build import gang, node, state_of

HOUR = 3_600_000
STAY = Policy(repack=Repack(consolidate=False), future=Future(patience_permille=0))


def queue(name: str, gpus: int) -> Queue:
    return Queue(name, quota={"*": Amount(gpu_milli=gpus * 1000)})


def run(state: ClusterState, *gangs: Gang, now: int) -> Plan:
    """Submit gangs; what starts, runs."""
    plan = cycle(state, [GangSubmitted(now, each) for each in gangs], now)
    for start in plan.starts:
        state.apply(GangStarted(now, start.gang.id, start.attempt))
    return plan


def stops(plan: Plan) -> list[str]:
    return [stop.gang.removesuffix("/0") for stop in plan.stops]


def test_a_gang_that_may_be_stopped_for_another_is_spared_on_a_booked_node() -> None:
    state = state_of(node("a"), node("b"), queues=(queue("q", 16),), policy=STAY)
    run(state, gang("cheap", queue="q", gpus=8, priority=1), now=1)
    run(state, gang("dear", queue="q", gpus=8, priority=5), now=HOUR)
    (place,) = state.gangs.record("cheap/0").placement.pods  # type: ignore[union-attr]
    state.apply(BookingSet(HOUR, Booking("works", (place.node,), 2 * HOUR, 3 * HOUR)))
    plan = run(state, gang("urgent", queue="q", gpus=8, priority=90), now=HOUR + 1)
    assert stops(plan) == ["dear"]


def test_within_a_queue_the_place_of_an_equal_is_kept() -> None:
    state = state_of(node("a"), queues=(queue("q", 8),), policy=STAY)
    firm = gang("firm", queue="q", gpus=4, preemptible=False, time_limit_ms=HOUR)
    low = gang("low", queue="q", gpus=4, priority=10, time_limit_ms=2 * HOUR)
    run(state, firm, low, now=1)
    run(state, gang("large", queue="q", gpus=8, priority=60, time_limit_ms=HOUR), now=2)
    assert state.timeline.future.reservation("large/0")
    small = gang("small", queue="q", gpus=4, priority=60, time_limit_ms=5 * HOUR)
    assert stops(run(state, small, now=3)) == []
    short = gang("short", queue="q", gpus=4, priority=60, time_limit_ms=HOUR // 2)
    assert stops(run(state, short, now=4)) == ["low"]


def test_an_owner_need_not_wait_for_the_place_that_a_borrower_reserved() -> None:
    queues = (queue("owner", 4), queue("guest", 0))
    state = state_of(node("a"), queues=queues, policy=STAY)
    one, two = (
        gang(n, queue="guest", gpus=4, time_limit_ms=HOUR * h) for n, h in (("g1", 2), ("g2", 3))
    )
    run(state, one, two, now=1)
    run(state, gang("large", queue="guest", gpus=8, time_limit_ms=HOUR), now=2)
    assert state.timeline.future.reservation("large/0")
    mine = gang("mine", queue="owner", gpus=4, time_limit_ms=9 * HOUR)
    plan = run(state, mine, now=3)
    assert len(stops(plan)) == 1
    (stopped,) = plan.stops
    ended = GangEnded(4, stopped.gang, stopped.attempt, Outcome.PREEMPTED, requeue=True)
    cycle(state, [ended], 4)
    assert state.gangs.record("mine/0").phase is Phase.STARTING


def test_who_starts_in_one_cycle_may_yield_in_the_next() -> None:
    queues = (queue("owner", 8), queue("guest", 0))
    first_come = Policy(order=Order.FIFO, repack=Repack(consolidate=False))
    state = state_of(node("a"), queues=queues, policy=first_come)
    guest = gang("guest", queue="guest", gpus=8, submitted=1)
    plan = run(state, guest, gang("mine", queue="owner", gpus=8, submitted=2), now=3)
    assert [start.gang.id for start in plan.starts] == ["guest/0"]
    assert stops(cycle(state, [], 4)) == ["guest"]
