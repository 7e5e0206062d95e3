"""Gangs of a token with a spending cap never cost more than the cap; no other gang is bound."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.reasons import Remedy, Token
from tests.engine.build import started, submit
from tests.engine.queues.test_budgets import EUR, MONTH, NEXT, budgeted, ends, hours
from tests.pricing.build import priced

HOUR_MS = 3_600_000


def token(name: str, micro: int, until: int = NEXT, at: int = MONTH) -> ev.TokenCreated:
    return ev.TokenCreated(at, name, "", "bob", (), "submitter", "", until, "", "ada", micro)


def capped(micro: int) -> ClusterState:
    """A budget of the queue that is never reached, and the token t with a cap."""
    state = budgeted(1000 * EUR)
    cycle(state, [token("t", micro)], MONTH)
    return state


@pytest.mark.parametrize("seed", range(3))
def test_what_jobs_of_a_token_cost_stays_within_its_cap_over_starts_and_ends(seed: int) -> None:
    state, now, draw = capped(20 * EUR), MONTH, Random(seed)
    for number in range(40):
        job = hours(f"j{number}", draw.randint(1, 4), draw.choice((0.5, 1, 2, 3)))
        submit(state, replace(job, cap="t"), now=now)
        submit(state, hours(f"free{number}", 1, 1), now=now)
        now += HOUR_MS // 2
        for each in list(state.gangs.records.values()):
            over = each.placed_at + each.gang.time_limit_ms == now
            if each.placement and (over or not draw.randrange(3)):
                ends(state, each.gang.workload, now)
        view = state.queues.budgets.cap_view("t", now)
        assert view is not None
        assert view.spent + view.reserved <= 20 * EUR
        assert (view.end > NEXT, view.begin <= MONTH) == (True, True)
    assert view.spent > 10 * EUR, "the cap is what bounded them"
    state.queues.budgets.check()


def test_other_jobs_are_not_bound_and_a_cap_is_not_renewed_with_the_month() -> None:
    state = capped(4 * EUR)
    assert started(submit(state, replace(hours("a", 4, 1), cap="t"), now=MONTH)) == ["a"]
    ends(state, "a", MONTH + HOUR_MS)
    assert started(submit(state, hours("free", 8, 9), now=MONTH + HOUR_MS)) == ["free"]
    for name, now in (("b", MONTH + HOUR_MS), ("c", NEXT + HOUR_MS)):
        assert started(submit(state, replace(hours(name, 1, 1), cap="t"), now=now)) == []
        reason = state.gangs.reason(f"{name}/0")
        assert reason is not None
        assert (reason.token, reason.never, reason.remedy) == (Token.BUDGET, True, Remedy.ADMIN)
    assert [view.budget.queue for view in state.queues.budgets.views(NEXT)] == ["org"]


def test_the_cap_of_a_token_that_has_ended_binds_what_waits_and_then_goes() -> None:
    state = capped(2 * EUR)
    submit(state, replace(hours("a", 2, 2), cap="t"), now=MONTH)
    cycle(state, [token("u", EUR, at=NEXT)], NEXT)
    assert state.queues.budgets.cap_view("t", NEXT), "a gang with it waits"
    cycle(state, [ev.GangEnded(NEXT, "a/0", 0, ev.Outcome.CANCELLED)], NEXT)
    cycle(state, [token("v", EUR, at=NEXT)], NEXT)
    assert state.queues.budgets.cap_view("t", NEXT) is None
    assert state.queues.budgets.cap_view("u", NEXT) is None, "its end was the beginning of v"
    assert state.queues.budgets.cap_view("v", NEXT)


def test_a_price_that_falls_leaves_more_of_a_cap() -> None:
    state = capped(2 * EUR)
    submit(state, replace(hours("a", 4, 1), cap="t"), now=MONTH)
    assert state.gangs.records["a/0"].placement is None
    cheap = priced(EUR // 2)
    assert started(cycle(state, [ev.PriceSet(MONTH, cheap)], MONTH)) == ["a"]
