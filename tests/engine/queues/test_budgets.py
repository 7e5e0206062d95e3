"""A gang starts only where all budgets above it hold what was spent and what may still be."""

from datetime import UTC, datetime
from itertools import pairwise
from random import Random

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.gangs.record import HOLDING
from ganglion.engine.queues.budget_account import HOUR_MS, UNIT
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.fork import fork
from ganglion.engine.state.snapshot import saved
from ganglion.engine.state.snapshot import state_of as state_from
from ganglion.model import events as ev
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Entitlement, Policy
from ganglion.model.queue import Budget, Queue
from ganglion.model.reasons import Remedy, Token
from ganglion.model.workload import Gang
from tests.effort import examples
from tests.engine.build import gang, node, started, state_of, submit
from tests.pricing.build import priced

EUR = 1_000_000
MONTH = int(datetime(2026, 12, 1, tzinfo=UTC).timestamp()) * 1000
NEXT = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp()) * 1000
QUEUES = (Queue("org"), Queue("team", "org"), Queue("other", "org"))


def budgeted(
    micro: int,
    queue: str = "org",
    *,
    price: int = EUR,
    spent: int = 0,
    carry: bool = False,
    policy: Policy | None = None,
    nodes: int = 4,
) -> ClusterState:
    """Nodes of 8 GPUs at a price for a GPU-hour, and one budget; December has just begun."""
    state = state_of(*(node(f"n{i}") for i in range(nodes)), queues=QUEUES, policy=policy)
    cycle(state, [ev.PriceSet(MONTH, priced(price))], MONTH)
    give(state, micro, queue, spent=spent, carry=carry)
    return state


def give(
    state: ClusterState,
    micro: int,
    queue: str = "org",
    *,
    spent: int = 0,
    carry: bool = False,
    now: int = MONTH,
) -> Plan:
    budget = Budget(queue, micro, carry_over=carry)
    return cycle(state, [ev.BudgetSet(now, budget, spent)], now)


def hours(name: str, gpus: int, limit: float, queue: str = "team", **more: object) -> Gang:
    return gang(name, gpus=gpus, queue=queue, time_limit_ms=int(limit * HOUR_MS), **more)


def ends(state: ClusterState, name: str, now: int) -> Plan:
    return cycle(state, [ev.GangEnded(now, f"{name}/0", 1, ev.Outcome.SUCCEEDED)], now)


def standing(state: ClusterState, now: int) -> tuple[int, int]:
    """Spent and reserved of the first budget, in whole units."""
    view = state.queues.budgets.views(now)[0]
    return view.spent // EUR, view.reserved // EUR


def test_what_runs_is_reserved_at_its_most_and_what_does_not_fit_waits() -> None:
    state = budgeted(20 * EUR)
    for each, expected in ((hours("a", 8, 2), ["a"]), (hours("b", 1, 4), ["b"])):
        assert started(submit(state, each, now=MONTH)) == expected
    assert started(submit(state, hours("c", 1, 1), now=MONTH)) == []
    reason = state.gangs.reason("c/0")
    assert reason is not None
    assert reason.token is Token.BUDGET
    assert reason.evidence == {
        "budget_micro": 20 * EUR,
        "spent_micro": 0,
        "reserved_micro": 20 * EUR,
        "asked_micro": EUR,
        "renewed_ms": NEXT,
        "short_micro": EUR,
    }
    assert "administrator" in reason.message
    assert "2027-01-01" in reason.message
    assert (reason.never, reason.remedy) == (False, Remedy.WAIT)


def test_an_end_before_the_limit_gives_back_what_was_reserved() -> None:
    state = budgeted(16 * EUR)
    submit(state, hours("a", 8, 2), now=MONTH)
    submit(state, hours("b", 8, 1), now=MONTH)
    assert standing(state, MONTH) == (0, 16)
    plan = ends(state, "a", MONTH + HOUR_MS)
    assert started(plan) == ["b"]
    assert standing(state, MONTH + HOUR_MS) == (8, 8)
    assert standing(state, MONTH + 2 * HOUR_MS) == (16, 0)


def test_a_gang_in_another_queue_below_the_budget_counts_and_one_beside_it_does_not() -> None:
    state = budgeted(8 * EUR, "team")
    assert started(submit(state, hours("a", 8, 1), now=MONTH)) == ["a"]
    plan = submit(state, hours("b", 1, 1), hours("c", 8, 9, "other"), now=MONTH)
    assert started(plan) == ["c"]
    give(state, 8 * EUR, "org")
    submit(state, hours("d", 1, 1, "other"), now=MONTH)
    reason = state.gangs.reason("d/0")
    assert reason is not None
    assert reason.evidence["reserved_micro"] == 80 * EUR


def test_without_a_time_limit_an_hour_ahead_is_reserved() -> None:
    state = budgeted(16 * EUR)
    submit(state, gang("a", gpus=8), now=MONTH)
    assert standing(state, MONTH) == (0, 8)
    late = MONTH + HOUR_MS // 2
    plan = submit(state, hours("b", 4, 1), now=late)
    assert started(plan) == ["b"]
    assert standing(state, late) == (4, 12)
    submit(state, hours("c", 1, 1), now=late)
    assert state.gangs.reason("c/0") is not None


def test_a_budget_below_what_is_spent_starts_nothing_until_the_month_is_over() -> None:
    state = budgeted(EUR, spent=5 * EUR)
    submit(state, hours("a", 1, 1), now=MONTH)
    reason = state.gangs.reason("a/0")
    assert reason is not None
    assert reason.evidence["spent_micro"] == 5 * EUR
    assert state.next_wake() is not None
    assert started(cycle(state, [], NEXT - 1)) == []
    assert started(cycle(state, [], NEXT)) == ["a"]


def test_what_costs_more_than_the_whole_budget_is_never_started_by_it() -> None:
    state = budgeted(4 * EUR)
    submit(state, hours("a", 8, 1), now=MONTH)
    reason = state.gangs.reason("a/0")
    assert reason is not None
    assert (reason.never, reason.remedy) == (True, Remedy.ADMIN)
    assert started(give(state, 8 * EUR)) == ["a"]


def test_what_is_left_of_a_month_is_carried_over_once() -> None:
    state = budgeted(10 * EUR, carry=True)
    submit(state, hours("a", 1, 2), now=MONTH)
    ends(state, "a", MONTH + 2 * HOUR_MS)
    cycle(state, [], NEXT)
    (view,) = state.queues.budgets.views(NEXT)
    assert (view.limit, view.carried, view.spent) == (18 * EUR, 8 * EUR, 0)
    plain = budgeted(10 * EUR)
    cycle(plain, [], NEXT)
    assert plain.queues.budgets.views(NEXT)[0].limit == 10 * EUR


def test_an_approved_request_raises_the_budget_of_one_month_and_is_spent_last() -> None:
    state = budgeted(10 * EUR, carry=True)
    cycle(state, [ev.GangSubmitted(MONTH, hours("late", 8, 1.5))], MONTH)
    assert state.gangs.record("late/0").phase is Phase.PENDING
    cycle(state, [ev.BudgetRaised(MONTH + 1, 1, "org", 3 * EUR)], MONTH + 1)
    assert state.gangs.record("late/0").phase is Phase.STARTING
    assert standing(state, MONTH + 1)[1] == 12
    again = state_from(saved(state), state.config.plugins)
    assert again.queues.budgets.views(MONTH + 1) == state.queues.budgets.views(MONTH + 1)
    give(state, 11 * EUR, carry=True, spent=EUR, now=MONTH + 2)
    (view,) = state.queues.budgets.views(MONTH + 2)
    assert (view.limit, view.raised) == (14 * EUR, 3 * EUR)
    ends(state, "late", MONTH + 2)
    spent = state.queues.budgets.views(MONTH + 2)[0].spent
    cycle(state, [], NEXT)
    (view,) = state.queues.budgets.views(NEXT)
    assert (view.limit, view.raised, view.carried) == (22 * EUR - spent, 0, 11 * EUR - spent)


def test_what_is_missing_in_a_budget_is_suggested_where_it_is_enough() -> None:
    state = budgeted(10 * EUR)
    cycle(state, [ev.GangSubmitted(MONTH, hours("late", 8, 1.5))], MONTH)
    (found,) = explain(state, "late/0", MONTH).suggestions
    asked = 'ganglion budget request org 2.00 --reason "..."'
    assert found.change == f"have its budget raised: {asked}"
    give(state, EUR, "team")  # now two budgets are too small: neither request alone is enough
    assert not explain(state, "late/0", MONTH).suggestions
    assert state.queues.budgets.views(MONTH)[0].raised == 0


def test_a_request_whose_queue_has_no_budget_raises_nothing() -> None:
    state = budgeted(10 * EUR)
    assert not state.apply(ev.BudgetRaised(MONTH, 1, "other", EUR))


def test_a_gang_that_runs_over_the_turn_of_a_month_is_spent_in_each() -> None:
    state = budgeted(100 * EUR)
    begin = NEXT - HOUR_MS
    submit(state, hours("a", 8, 3), now=begin)
    cycle(state, [], NEXT + HOUR_MS)
    assert standing(state, NEXT + HOUR_MS) == (8, 8)


def test_no_other_gang_is_stopped_for_the_sake_of_a_budget() -> None:
    state = budgeted(8 * EUR)
    submit(state, hours("a", 8, 1, priority=10), now=MONTH)
    plan = submit(state, hours("b", 8, 1, priority=90), now=MONTH)
    assert (plan.starts, plan.stops) == ([], [])


def test_what_has_no_price_is_not_bound_by_a_budget() -> None:
    state = state_of(node("n0"), queues=QUEUES)
    give(state, 0)
    assert started(submit(state, gang("a", gpus=8), now=MONTH)) == ["a"]


def test_a_place_that_was_promised_is_given_up_when_the_budget_is_lowered() -> None:
    state = budgeted(100 * EUR, nodes=1)
    submit(state, hours("a", 8, 9, priority=10), now=MONTH)
    cycle(state, [ev.GangStarted(MONTH, "a/0", 1)], MONTH)
    later = MONTH + 2 * HOUR_MS
    submit(state, hours("b", 8, 1, priority=90, submitted=later), now=later)
    assert state.gangs.records["b/0"].promise is not None
    give(state, EUR, spent=EUR, now=later)
    assert state.gangs.records["b/0"].promise is None
    cycle(state, [ev.GangEnded(later, "a/0", 1, ev.Outcome.PREEMPTED, requeue=True)], later)
    reason = state.gangs.reason("b/0")
    assert reason is not None
    assert reason.token is Token.BUDGET


def test_an_affordable_flavor_is_taken_in_place_of_a_dear_one() -> None:
    state = budgeted(8 * EUR, nodes=1)
    cheap = node("m0", kind="A100")
    price = priced(EUR // 2, flavor="A100")
    cycle(state, [ev.NodeAdded(MONTH, cheap), ev.PriceSet(MONTH, price)], MONTH)
    plan = submit(state, hours("a", 8, 2), now=MONTH)
    assert [pod.node for pod in plan.starts[0].placement.pods] == ["m0"]


def test_a_price_that_goes_up_counts_for_what_runs() -> None:
    state = budgeted(20 * EUR)
    submit(state, hours("a", 8, 2), now=MONTH)
    cycle(state, [ev.PriceSet(MONTH + HOUR_MS, priced(2 * EUR, MONTH + HOUR_MS))], MONTH + HOUR_MS)
    assert standing(state, MONTH + HOUR_MS) == (8, 16)
    assert standing(state, MONTH + 2 * HOUR_MS) == (24, 0)


def test_hours_of_prices_count_when_they_pass_and_the_dearest_is_reserved() -> None:
    state = budgeted(100 * EUR)
    cycle(state, [ev.PriceSet(MONTH, priced(3 * EUR, hours=(1, 2)))], MONTH)
    submit(state, hours("a", 1, 3), now=MONTH)
    assert standing(state, MONTH) == (0, 9)
    later = [standing(state, MONTH + n * HOUR_MS) for n in (1, 2, 3)]
    assert later == [(1, 6), (4, 3), (5, 0)]


def test_a_clock_that_is_put_back_spends_nothing_twice() -> None:
    state = budgeted(100 * EUR)
    submit(state, hours("a", 8, 4), now=MONTH)
    cycle(state, [], MONTH + HOUR_MS)
    cycle(state, [], MONTH + HOUR_MS // 2)
    assert standing(state, MONTH + HOUR_MS // 2) == (8, 24)
    cycle(state, [], MONTH + 2 * HOUR_MS)
    assert standing(state, MONTH + 2 * HOUR_MS) == (16, 16)


@pytest.mark.parametrize("entitlement", [Entitlement.QUOTA, Entitlement.DOMINANT, Entitlement.KAI])
def test_every_entitlement_knows_budgets(entitlement: Entitlement) -> None:
    state = budgeted(8 * EUR, policy=Policy(entitlement=entitlement))
    plan = submit(state, hours("a", 8, 1), now=MONTH)
    plan = submit(state, hours("b", 1, 1), now=MONTH)
    assert plan.starts == []
    reason = state.gangs.reason("b/0")
    assert reason is not None
    assert reason.token is Token.BUDGET


@pytest.mark.parametrize(
    ("limit", "micro", "gpus"), [(2, 6, 4), (2, 100, 8), (2, 2, 1), (0, 3, 2), (0, 100, 8)]
)
def test_an_elastic_gang_grows_no_further_than_its_budget(
    limit: int, micro: int, gpus: int
) -> None:
    state = budgeted(micro * EUR, "team", policy=Policy(elastic=True), nodes=1)
    submit(state, hours("x", 7, 0, "other"), now=MONTH)
    elastic = hours("a", 1, limit, pods=8, pod={"min_count": 1})
    submit(state, elastic, now=MONTH)
    running = [ev.GangStarted(MONTH, f"{name}/0", 1) for name in ("a", "x")]
    cycle(state, running, MONTH)
    ends(state, "x", MONTH + HOUR_MS)
    for minute in (1, 2, 3):
        cycle(state, [], MONTH + HOUR_MS + minute * 60_000)
        state.validate()
        account = state.queues.budgets.accounts["team"]
        known = account.spent + account.reserved(state.queues.budgets.now)
        # Without a time limit, an hour ahead is reserved at every moment.
        assert not limit or known <= micro * EUR * UNIT
    place = state.gangs.records["a/0"].placement
    assert place is not None
    assert len(place.pods) == gpus


def literally(state: ClusterState, spent: int, now: int) -> int:
    """What counts against the budget of `org`, from the records alone, as exact money."""
    total = spent
    for record in state.gangs.records.values():
        if record.promise:
            milli = sum(len(pod.devices) * pod.milli for pod in record.promise.pods)
            total += milli * EUR * (record.gang.time_limit_ms or HOUR_MS)
        if record.phase not in HOLDING or record.placement is None:
            continue
        milli = sum(len(pod.devices) * pod.milli for pod in record.placement.pods)
        end = (record.started or record.placed_at) + record.gang.time_limit_ms
        left = max(end - now, 0) if record.gang.time_limit_ms else HOUR_MS
        total += milli * EUR * left
    return total


def held_milli(state: ClusterState) -> int:
    return sum(
        len(pod.devices) * pod.milli
        for record in state.gangs.records.values()
        if record.phase in HOLDING and record.placement
        for pod in record.placement.pods
    )


@pytest.mark.parametrize("seed", range(examples(20, nightly=400)))
def test_no_life_passes_its_budget_and_copies_of_it_agree(seed: int) -> None:
    random = Random(seed)
    limit = random.choice((30, 100, 300)) * EUR
    state = budgeted(limit)
    now, spent, number = MONTH, 0, 0
    for _ in range(40):
        step = random.choice((0, 1_000, HOUR_MS // 7, HOUR_MS))
        spent += held_milli(state) * EUR * step
        now += step
        events: list[ev.Event] = []
        holding = [r for r in state.gangs.records.values() if r.phase in HOLDING]
        match random.randrange(4):
            case 0 if holding:
                record = random.choice(holding)
                requeue = random.random() < 0.3
                events.append(
                    ev.GangEnded(
                        now, record.gang.id, record.attempt, ev.Outcome.FAILED, requeue=requeue
                    )
                )
            case 1 if holding:
                record = random.choice(holding)
                if record.phase is Phase.STARTING:
                    events.append(ev.GangStarted(now, record.gang.id, record.attempt))
            case _:
                number += 1
                until = random.choice((0, 0.5, 1, 3))
                size, queue = random.choice((1, 2, 8)), random.choice(("team", "other"))
                events.append(
                    ev.GangSubmitted(now, hours(f"g{number}", size, until, queue, submitted=now))
                )
        before = literally(state, spent, now)
        plan = cycle(state, events, now)
        assert plan.rejected == []
        state.validate()
        account = state.queues.budgets.accounts["org"]
        assert account.spent == spent
        known = literally(state, spent, now)
        assert account.spent + account.reserved(now) == known
        assert not plan.starts or known <= limit * UNIT, before
        for copy in (fork(state), state_from(saved(state), state.config.plugins)):
            copy.validate()
            assert copy.queues.budgets.accounts == state.queues.budgets.accounts
            assert copy.queues.budgets.now == state.queues.budgets.now


def test_looking_often_spends_what_looking_once_does() -> None:
    times = [MONTH + n * HOUR_MS // 3 for n in range(1, 10)]
    often, once = budgeted(100 * EUR), budgeted(100 * EUR)
    for state in (often, once):
        cycle(state, [ev.PriceSet(MONTH, priced(3 * EUR, hours=(1, 2)))], MONTH)
        submit(state, gang("a", gpus=3), now=MONTH)
    for at in times:
        cycle(often, [], at)
    cycle(once, [], times[-1])
    assert often.queues.budgets.accounts == once.queues.budgets.accounts
    views = [view for at in times for view in often.queues.budgets.views(at)]
    assert all(a.spent <= b.spent for a, b in pairwise(views))


def test_a_budget_goes_with_its_queue_and_can_be_removed() -> None:
    state = budgeted(0, "team")
    submit(state, hours("a", 1, 1), now=MONTH)
    assert started(cycle(state, [ev.BudgetRemoved(MONTH, "team")], MONTH)) == ["a"]
    give(state, 0, "other")
    cycle(state, [ev.QueueRemoved(MONTH, "other")], MONTH)
    assert state.queues.budgets.accounts == {}
    assert cycle(state, [ev.BudgetSet(MONTH, Budget("none", 1))], MONTH).rejected
