"""A replay suspends what runs once a budget is spent, as the past did."""

import pytest
from msgspec.structs import replace
from tests.whatif.samples import cycles_of, past_of
from tests.worlds.simulated.samples import S, scenario
from tests.worlds.simulated.test_budgets import PRICE, SECOND, times, work

from ganglion.model.events import BudgetRaised, BudgetSet, Event, GangStarted, GangStopping
from ganglion.model.plan import Plan
from ganglion.model.queue import Budget
from ganglion.whatif.changes import WhatIfChange
from ganglion.whatif.past import PastPeriod
from ganglion.whatif.replay import answered, beginning
from ganglion.whatif.wishes import OtherPrice
from ganglion.worlds.simulated.run import simulate

UNTIL = 12_000
GIVEN = replace(
    scenario(work("a", interval=100), work("late", interval=100), horizon=UNTIL),
    facts=(
        PRICE,
        BudgetSet(0, Budget("q", 3_700 * SECOND, grace_ms=60 * S)),
        BudgetRaised(5_000 * S, 1, "q", 8_000 * SECOND),
    ),
    begin_ms=0,
)
"""One job runs until the budget is spent; it starts again once that is raised, then the other."""
PAST = cycles_of(GIVEN)


def past(since: int) -> PastPeriod:
    """The past from a time in s; that the budget is spent is known since 3710 s."""
    known = {"q": 3_710 * S} if since >= 3_710 else None
    return past_of(PAST, since, UNTIL, GIVEN, (PRICE,), known)


def replay(since: int) -> list[Event]:
    happened, given = list[Event](), past(since)

    def note(events: list[Event], plan: Plan) -> None:
        happened.extend((*events, *plan.decisions))

    simulate(given.scenario, state=beginning(given.state), observe=note, check=True)
    return happened


@pytest.mark.parametrize("since", [0, 2_000, 3_740, 3_775])
def test_what_was_suspended_in_the_past_is_suspended_in_its_replay(since: int) -> None:
    then = [event for each in PAST for event in (*each.incoming, *each.decisions)]
    assert times(then, GangStopping, "a/0")[0] == 3_776
    again = replay(since)
    assert times(again, GangStopping, "a/0") == times(then, GangStopping, "a/0")
    later = [at for at in times(then, GangStarted, "a/0") if at > since]
    assert [at for at in times(again, GangStarted, "a/0") if at > since] == later != []


@pytest.mark.parametrize("since", [0, 4_000])
def test_a_replay_of_a_budget_that_was_spent_has_no_distance(since: int) -> None:
    report = answered(past(since), WhatIfChange())
    for group in report.groups:
        for name, figure in group.figures.items():
            assert (figure.bar, figure.visible) == (0, False), (group, name)


def test_at_a_lower_price_nothing_is_suspended() -> None:
    report = answered(past(0), WhatIfChange(prices=(OtherPrice("GPU", 225_000),)))
    lost = report.groups[0].figures["lost_gpu_ms"]
    assert lost.past == lost.replay > lost.changed == 0
