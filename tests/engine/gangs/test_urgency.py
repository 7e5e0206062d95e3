"""Deadlines that come near and long waits make gangs more urgent, within their class and queue."""

from hypothesis import given
from hypothesis import strategies as st

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.gangs.urgency import NEAR, due_rank, latest_start, urgent_from
from ganglion.engine.ordering.order import waiting_in_order
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import GangEnded, GangStarted, GangUpdated, Outcome, PolicySet
from ganglion.model.policy import Escalation, Future, Order, Policy
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.reasons import Chance, Raise, chance_of
from ganglion.model.resources import Amount
from ganglion.model.workload import Gang
from tests.engine.build import end, gang, node, started, state_of, submit

HOUR = 3_600_000
NOBODY = Preemption(preempt=Victims.NEVER, reclaim=Victims.NEVER)
FIFO = Policy(order=Order.FIFO, preemption=NOBODY)


def due(name: str, deadline_h: int, length_h: int = 1, submitted: int = 1, **more: object) -> Gang:
    """A gang of one node that runs for so long and should have ended by then."""
    fields = {"gpus": 8, "expected_ms": length_h * HOUR, "time_limit_ms": length_h * HOUR}
    return gang(name, submitted=submitted, deadline_ms=deadline_h * HOUR, **fields | more)  # type: ignore[arg-type]


def busy(*gangs: Gang, policy: Policy = FIFO) -> ClusterState:
    """One node that something else holds, and what waits for it."""
    state = state_of(node("n"), policy=policy)
    submit(state, gang("holder", gpus=8, time_limit_ms=1000 * HOUR))
    state.apply(GangStarted(1, "holder/0", 1))
    submit(state, *gangs)
    return state


def first_at(state: ClusterState, now: int) -> str:
    cycle(state, [], now)
    state.validate()
    return waiting_in_order(state, now)[0].partition("/")[0]


def test_a_gang_goes_before_its_equals_when_its_slack_is_a_few_run_times() -> None:
    state = busy(gang("old", gpus=8), due("due", 9, submitted=2))
    near = urgent_from(state.gangs.record("due/0").gang, HOUR)
    assert near == (9 - 1 - NEAR) * HOUR
    assert first_at(state, near - 1) == "old"
    assert state.next_wake() == near
    assert first_at(state, near) == "due"


def test_the_least_slack_goes_first() -> None:
    state = busy(due("a", 20, length_h=2), due("b", 22, length_h=8))
    assert first_at(state, 13 * HOUR) == "b"


def test_a_deadline_says_that_the_run_is_shorter_than_the_mean_of_earlier_ones() -> None:
    it = gang("g", submitted=HOUR, deadline_ms=3 * HOUR)
    assert latest_start(it, 100 * HOUR) == 2 * HOUR
    assert urgent_from(it, 100 * HOUR) == HOUR


def test_what_is_late_anyhow_makes_no_other_gang_late() -> None:
    state = busy(gang("old", gpus=8), due("due", 9, submitted=2))
    last = latest_start(state.gangs.record("due/0").gang, HOUR)
    assert first_at(state, last) == "due"
    assert first_at(state, last + 1) == "old"


def test_a_deadline_does_not_pass_a_higher_priority() -> None:
    state = busy(due("due", 3, submitted=2), gang("high", gpus=8, priority=60))
    assert first_at(state, int(1.5 * HOUR)) == "high"


def test_a_deadline_takes_nothing_of_another_queues_guarantee() -> None:
    queues = tuple(Queue(name, quota={"*": Amount(gpu_milli=8000)}) for name in ("ours", "theirs"))
    state = state_of(node("a"), node("b"), queues=queues)
    submit(state, gang("old", gpus=8, queue="ours", time_limit_ms=9 * HOUR))
    plan = submit(
        state,
        *(due(f"due{n}", 3, queue="ours") for n in range(3)),
        gang("mine", gpus=8, queue="theirs"),
        now=2 * HOUR,
    )
    assert started(plan) == ["mine"]
    assert not plan.stops


@given(
    st.integers(0, 10**9), st.integers(1, 10**8), st.integers(1, 10**9), st.integers(0, 2 * 10**9)
)
def test_urgency_lasts_until_the_latest_start_and_begins_no_earlier_than_the_submit(
    submitted: int, length: int, allowed: int, now: int
) -> None:
    it = gang("g", submitted=submitted, deadline_ms=submitted + allowed)
    rank = due_rank(it, length, now)
    begin, last = urgent_from(it, length), latest_start(it, length)
    assert submitted <= begin <= last <= submitted + allowed
    assert (rank is not None) == (begin <= now <= last)
    assert rank is None or rank < -1


STEPS = (Escalation(HOUR, 70), Escalation(3 * HOUR, 90))
ESCALATING = Policy(order=Order.FIFO, preemption=NOBODY, escalate=STEPS)


def test_waiting_raises_a_priority_step_by_step_and_each_step_is_a_decision() -> None:
    state = busy(gang("g", gpus=8, submitted=1), policy=ESCALATING)
    steps = []
    for now in (HOUR, HOUR + 1, 2 * HOUR, 3 * HOUR + 1, 9 * HOUR):
        plan = cycle(state, [], now)
        steps += [each for each in plan.decisions if isinstance(each, GangUpdated)]
        state.validate()
    assert [(each.at, each.priority, str(each.cause)) for each in steps] == [
        (HOUR + 1, 70, "escalated from 50"),
        (3 * HOUR + 1, 90, "escalated from 70"),
    ]


def test_who_was_raised_goes_first_and_stays_raised() -> None:
    state = busy(gang("old", gpus=8, submitted=1), policy=ESCALATING)
    submit(state, gang("new", gpus=8, priority=60, submitted=HOUR), now=HOUR)
    assert first_at(state, HOUR) == "new"
    assert first_at(state, HOUR + 1) == "old"
    assert started(end(state, "holder", now=HOUR + 2)) == ["old"]
    state.apply(GangStarted(HOUR + 2, "old/0", 1))
    assert state.gangs.record("old/0").gang.priority == 70


def test_the_wait_counts_from_the_end_of_the_last_attempt() -> None:
    state = busy(gang("g", gpus=8, submitted=1), policy=ESCALATING)
    end(state, "holder", now=10)
    state.apply(GangStarted(10, "g/0", 1))
    submit(state, gang("urgent", gpus=8, priority=99, submitted=5 * HOUR), now=5 * HOUR)
    gone = GangEnded(5 * HOUR, "g/0", 1, Outcome.PREEMPTED, requeue=True)
    cycle(state, [gone], 5 * HOUR)
    cycle(state, [], 6 * HOUR - 1)
    assert state.gangs.record("g/0").gang.priority == 50
    cycle(state, [], 6 * HOUR)
    assert state.gangs.record("g/0").gang.priority == 70


def test_escalation_takes_nothing_back_and_leaves_spare_gangs_alone() -> None:
    state = busy(
        gang("high", gpus=8, priority=95), gang("spare", gpus=8, priority=-1), policy=ESCALATING
    )
    cycle(state, [], 9 * HOUR)
    assert state.gangs.record("high/0").gang.priority == 95
    assert state.gangs.record("spare/0").gang.priority == -1


def test_steps_that_are_set_later_hold_for_what_waits_already() -> None:
    state = busy(gang("g", gpus=8, submitted=1))
    plan = cycle(state, [PolicySet(2 * HOUR, ESCALATING)], 2 * HOUR)
    if state.gangs.record("g/0").gang.priority == 50:
        plan = cycle(state, [], state.next_wake() or 0)
    assert [d.priority for d in plan.decisions if isinstance(d, GangUpdated)] == [70]


def test_an_escalated_gang_may_stop_what_its_priority_allows() -> None:
    policy = Policy(
        order=Order.FIFO,
        preemption=Preemption(preempt=Victims.LOWER),
        future=Future(reservations=0),
        escalate=(Escalation(HOUR, 70),),
    )
    state = busy(gang("g", gpus=8, submitted=1), policy=policy)
    plan = cycle(state, [], HOUR + 1)
    assert [stop.gang for stop in plan.stops] == ["holder/0"]


def test_why_names_the_deadline_the_expected_end_and_every_step() -> None:
    state = busy(due("due", 9, submitted=2), policy=ESCALATING)
    for now in (HOUR + 2, HOUR + 3):
        cycle(state, [], now)
    found = explain(state, "due/0", HOUR + 3)
    assert found.deadline_ms == 9 * HOUR
    assert [(each.before, each.to) for each in found.raised] == [(50, 70)]
    assert found.next_raise == Raise(3 * HOUR + 2, 90)
    end(state, "holder", now=2 * HOUR)
    state.apply(GangStarted(2 * HOUR, "due/0", 1))
    running = explain(state, "due/0", 2 * HOUR)
    assert running.end
    assert running.end.p90 == 3 * HOUR
    assert chance_of(running.deadline_ms, running.end) is Chance.LIKELY
    assert running.next_raise is None


def test_without_history_and_limit_the_chance_is_unknown() -> None:
    state = state_of(node("n"))
    submit(state, gang("g", deadline_ms=HOUR))
    found = explain(state, "g/0", 2)
    assert (found.deadline_ms, found.end) == (HOUR, None)
    assert chance_of(found.deadline_ms, found.end) is Chance.UNKNOWN
