"""A scheduler goes by the budgets that a server says, and counts on between two times."""

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.queues.budget_account import HOUR_MS
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import PriceSet
from ganglion.model.events.policy import ClusterMoney, StandingBudget
from ganglion.model.queue import Budget
from ganglion.model.reasons import Token
from tests.engine.build import node, started, state_of, submit
from tests.engine.queues.test_budgets import EUR, MONTH, NEXT, QUEUES, hours, standing
from tests.pricing.build import priced


def fleet() -> ClusterState:
    return state_of(*(node(f"n{i}") for i in range(4)), queues=QUEUES)


def money(
    limit: int | None, spent: int = 0, *, begin: int = MONTH, at: int = MONTH
) -> ClusterMoney:
    """What a server says: one EUR for a GPU-hour, and a budget; None = there is none."""
    budget = Budget("", (limit or 0) * EUR)
    standing = StandingBudget(budget, begin, spent * EUR)
    return ClusterMoney(
        at, (PriceSet(1, priced(EUR)),), {} if limit is None else {"east:org": standing}
    )


def test_what_a_heard_budget_does_not_hold_waits_with_its_numbers_and_its_name() -> None:
    state = fleet()
    state.hear_money(money(10, spent=4), MONTH)
    assert started(submit(state, hours("fits", 1, 5), now=MONTH)) == ["fits"]
    assert started(submit(state, hours("not", 2, 1), now=MONTH)) == []
    found = explain(state, "not/0", MONTH)
    assert found.reason is not None
    assert found.reason.token is Token.BUDGET
    assert found.reason.evidence["spent_micro"] == 4 * EUR
    assert found.reason.evidence["reserved_micro"] == 5 * EUR
    assert "queue east:org is 10.00 EUR" in found.reason.message
    assert "ganglion budget request east:org 1.00" in found.reason.message
    assert "budget request east:org 1.00" in found.suggestions[0].change


def test_what_already_runs_counts_from_when_a_budget_is_heard() -> None:
    state = fleet()
    submit(state, hours("runs", 8, 10), now=MONTH)
    state.hear_money(money(200), MONTH)
    assert standing(state, MONTH) == (0, 80)
    cycle(state, [], MONTH + HOUR_MS)
    assert standing(state, MONTH + HOUR_MS) == (8, 72)  # the server says nothing meanwhile
    state.hear_money(money(200, spent=9), MONTH + HOUR_MS)  # it knew of more
    assert standing(state, MONTH + HOUR_MS) == (9, 72)
    state.validate()


def test_what_is_heard_again_for_new_queues_takes_nothing_back() -> None:
    state = fleet()
    submit(state, hours("runs", 8, 10), now=MONTH)
    said = money(200, spent=5)
    state.hear_money(said, MONTH)
    state.hear_money(said, MONTH + HOUR_MS, again=True)
    assert standing(state, MONTH + HOUR_MS) == (13, 72)
    state.queues.budgets.remove("org")
    state.hear_money(said, MONTH + HOUR_MS, again=True)
    assert standing(state, MONTH + HOUR_MS) == (5, 72)


def test_more_room_starts_what_waits_and_a_budget_that_is_gone_bounds_nothing() -> None:
    state = fleet()
    state.hear_money(money(10, spent=10), MONTH)
    assert started(submit(state, hours("a", 1, 5), now=MONTH)) == []
    state.hear_money(money(15, spent=10), MONTH)
    assert started(cycle(state, [], MONTH)) == ["a"]
    assert started(submit(state, hours("b", 8, 5), now=MONTH)) == []
    state.hear_money(money(None), MONTH)
    assert started(cycle(state, [], MONTH)) == ["b"]


def test_numbers_of_another_month_are_not_taken_for_those_of_this_one() -> None:
    state = fleet()
    state.hear_money(money(10, spent=10), MONTH)
    state.hear_money(money(10, spent=10), NEXT)  # the server cannot be reached since
    assert standing(state, NEXT) == (0, 0)
    assert started(submit(state, hours("a", 1, 5), now=NEXT)) == ["a"]


def test_a_budget_of_a_queue_that_the_cluster_has_not_stops_nothing() -> None:
    state = fleet()
    other = StandingBudget(Budget("", 0), MONTH, 0)
    state.hear_money(ClusterMoney(MONTH, (), {"east:nowhere": other}), MONTH)
    assert not state.queues.budgets.accounts
    assert started(submit(state, hours("a", 1, 5), now=MONTH)) == ["a"]


def test_what_a_server_says_is_carried_over_and_raised_counts_and_is_not_carried_over_twice() -> (
    None
):
    state = fleet()
    said = StandingBudget(
        Budget("", 25 * EUR, carry_over=True),
        MONTH,
        0,
        carried_micro=10 * EUR,
        raised_micro=5 * EUR,
    )
    word = ClusterMoney(MONTH, (PriceSet(1, priced(EUR)),), {"east:org": said})
    state.hear_money(word, MONTH)
    (view,) = state.queues.budgets.views(MONTH)
    assert (view.budget.micro, view.carried, view.raised, view.limit) == (
        *(10 * EUR, 10 * EUR, 5 * EUR),
        25 * EUR,
    )
    state.queues.budgets.advance(NEXT)  # the server says nothing: a month of the own count
    (view,) = state.queues.budgets.views(NEXT)
    assert (view.limit, view.carried, view.raised) == (30 * EUR, 20 * EUR, 0)
    state.hear_money(word, NEXT)
    (view,) = state.queues.budgets.views(NEXT)
    assert view.limit == 30 * EUR
    state.validate()
