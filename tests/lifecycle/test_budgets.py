"""What follows from how a budget stands: notices, what goes on, and what is suspended when."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.build import gang
from tests.pricing.build import priced

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.budgets import BudgetView, QueueBudgets
from ganglion.lifecycle.budgets import BudgetedGang, CarriedOver, Fate, crossed, decide, fate_of
from ganglion.model.events import PriceSet
from ganglion.model.queue import Budget
from ganglion.model.workload import Checkpoint, Kind
from ganglion.pricing.zones import month_of

EUR = 1_000_000
MINUTE = 60_000
HOUR = 60 * MINUTE
GRACE = 15 * MINUTE
END = 31 * 24 * HOUR
SAVES = Checkpoint(interval_ms=30 * MINUTE)


def stands(spent: int, reserved: int = 0, limit: int = 100, **more: Any) -> BudgetView:
    return BudgetView(Budget("team", limit, **more), limit, spent, reserved, 0, 0, END)


def running(
    name: str = "a", *, floor: bool = False, committed: int = 0, **more: Any
) -> BudgetedGang:
    record = GangRecord(gang(name, **more), (), None)
    record.started, record.committed_at = 1, committed
    return BudgetedGang(record, floor)


@pytest.mark.parametrize(
    ("spent", "marks"),
    [(0, []), (49, []), (50, [50]), (94, [50, 80]), (95, [50, 80, 95]), (100, [50, 80, 95, 100])],
)
def test_a_threshold_is_crossed_where_its_part_is_spent(spent: int, marks: list[int]) -> None:
    view = stands(spent)
    assert list(decide(view, None, 0, []).alarms) == [f"budget.{mark}" for mark in marks]
    assert crossed(view) == max(marks, default=0)


def test_what_an_alarm_says_does_not_change_while_more_is_spent() -> None:
    before, after = (decide(stands(spent), None, 0, []).alarms for spent in (50, 79))
    assert before == after
    assert before["budget.50"].startswith("queue team has spent 50 % of its budget of this month")


def test_a_budget_of_nothing_is_spent_and_one_of_other_thresholds_names_those() -> None:
    assert crossed(stands(0, limit=0)) == 100
    assert list(decide(stands(70, warn=(60,)), None, 0, []).alarms) == ["budget.60"]


@pytest.mark.parametrize(
    ("each", "fate"),
    [
        (running(kind=Kind.SERVICE, floor=True), Fate.FLOOR),
        (running(kind=Kind.SERVICE), Fate.STOPPED),
        (running(checkpoint=SAVES, time_limit_ms=HOUR), Fate.SAVED),
        (running(checkpoint=SAVES), Fate.SAVED),
        (running(time_limit_ms=HOUR), Fate.LIMIT),
        (running(), Fate.STOPPED),
    ],
)
def test_what_becomes_of_a_gang_depends_on_what_it_would_lose(
    each: BudgetedGang, fate: Fate
) -> None:
    assert fate_of(each) is fate
    verdict = decide(stands(100), 0, GRACE + 2 * HOUR, [each])
    alarm, said = verdict.warnings["a"]
    assert alarm == "budget.spent"
    assert said.startswith("the budget of queue team is spent: ")
    assert bool(verdict.suspends) == (fate in (Fate.SAVED, Fate.STOPPED))


def test_nothing_is_suspended_before_its_grace_is_over() -> None:
    each = running()
    before = decide(stands(100), 0, GRACE - 1, [each])
    assert (before.suspends, before.due) == ([], GRACE)
    assert decide(stands(100), 0, GRACE, [each]).suspends == [each.record]
    new = decide(stands(100), None, GRACE, [each])
    assert (new.suspends, new.due) == ([], 2 * GRACE)


def test_what_reports_checkpoints_leaves_right_after_one() -> None:
    early = running(checkpoint=SAVES, committed=GRACE - MINUTE)
    waits = decide(stands(100), 0, GRACE + 5 * MINUTE, [early])
    assert waits.suspends == []
    assert waits.due is not None and waits.due > GRACE + 29 * MINUTE
    saved = running(checkpoint=SAVES, committed=GRACE + MINUTE)
    assert decide(stands(100), 0, GRACE + 2 * MINUTE, [saved]).suspends == [saved.record]
    assert decide(stands(100), 0, waits.due, [early]).suspends == [early.record]


def test_what_saves_when_it_is_asked_to_leave_leaves_at_the_end_of_the_grace() -> None:
    each = running(checkpoint=Checkpoint())
    assert decide(stands(100), 0, GRACE, [each]).suspends == [each.record]


def test_before_its_last_hour_what_has_no_time_limit_is_warned() -> None:
    gangs = [running("a"), running("b", time_limit_ms=HOUR), running("c", floor=True)]
    assert decide(stands(39, 60), None, 0, gangs).warnings == {}
    warned = decide(stands(40, 60), None, 0, gangs).warnings
    assert list(warned) == ["a"]
    alarm, said = warned["a"]
    assert alarm == "budget.ending"
    assert "lasts less than an hour" in said
    assert "grace of 15 min" in said


@pytest.mark.parametrize("night", [EUR, EUR // 2, 2 * EUR])
def test_a_lease_is_renewed_all_the_time_and_its_last_hour_is_announced(
    night: int,
) -> None:
    budgets, each = QueueBudgets(), running("a")
    for price in (priced(EUR), priced(night, hours=(2, 8))):
        budgets.prices.note(PriceSet(0, price))
    budgets.put(Budget("team", 5 * EUR), 0, 0)
    budgets.hold("a/0", ("team",), ((("H100", "train"), 1000),), 0, 0)
    lease = max(EUR, night)
    warned = spent = refused = None
    for minute in range(12 * 60):
        now = minute * MINUTE
        (view,) = budgets.views(now)
        assert view.reserved == lease
        verdict = decide(view, None, now, [each])
        alarm, _ = verdict.warnings.get("a", ("", ""))
        asked = budgets.refuses(("team",), ((("H100", "train"), 1),), 1, "b/0")
        warned = minute if warned is None and alarm == "budget.ending" else warned
        refused = minute if refused is None and asked else refused
        spent = minute if spent is None and alarm == "budget.spent" else spent
        assert bool(alarm) is (warned is not None)
        budgets.advance(now + MINUTE)
    assert warned is not None
    assert spent is not None
    assert spent - warned >= 60
    assert refused == warned


def test_a_budget_below_what_is_spent_announces_and_gives_the_whole_grace() -> None:
    each = running("a")
    verdict = decide(stands(500, 10, limit=100), None, 1_000, [each])
    assert list(verdict.alarms) == [f"budget.{mark}" for mark in (50, 80, 95, 100)]
    assert verdict.warnings["a"][0] == "budget.spent"
    assert (verdict.suspends, verdict.due) == ([], 1_000 + GRACE)


HOLDS = st.lists(
    st.tuples(st.integers(0, 120 * 24), st.integers(1, 700), st.integers(1, 8)), max_size=6
)
"""Hour of a hundred and twenty days, hours, GPUs."""


@given(HOLDS, st.integers(0, 3_000), st.booleans())
def test_months_of_a_budget_of_a_cluster_carry_over_what_those_of_the_local_world_do(
    holds: list[tuple[int, int, int]], limit: int, carry: bool
) -> None:
    begin, _ = month_of(1_800_000_000_000, "Europe/Berlin")
    times = [(begin + hour * HOUR, begin + (hour + more) * HOUR) for hour, more, _ in holds]
    budget = Budget("org", limit * EUR, "Europe/Berlin", carry)
    local = QueueBudgets()
    local.prices.note(PriceSet(1, priced(EUR)))
    local.put(budget, 0, begin)
    steps = sorted(
        (at, is_end, number) for number, pair in enumerate(times) for is_end, at in enumerate(pair)
    )
    for at, is_end, number in steps:
        if is_end:
            local.drop(str(number), at)
        else:
            local.hold(str(number), ("org",), ((("H100", ""), holds[number][2] * 1_000),), 0, at)

    def spent_in(since: int, until: int) -> int:
        parts = (max(min(b, until) - max(a, since), 0) for a, b in times)
        gpus = (each[2] for each in holds)
        return sum(part * number for part, number in zip(parts, gpus, strict=True)) * EUR // HOUR

    now = begin + 180 * 24 * HOUR
    local.advance(now)
    (view,) = local.views(now)
    assert CarriedOver(0, begin).until(budget, now, spent_in) == view.carried
