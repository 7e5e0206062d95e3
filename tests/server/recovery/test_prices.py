"""What was set of money is there again after a restart, from events and from snapshots."""

from functools import partial

from ganglion.engine.state.snapshot import saved
from ganglion.model.events import BudgetRaised, BudgetRequested, BudgetSet, PriceSet
from ganglion.model.fleet.price import Price
from ganglion.model.queue import Budget
from ganglion.server.recovery.documents import document, value_of
from ganglion.server.state.transaction import Transaction
from tests.server.conftest import Rig


def test_prices_survive_a_restart(rig: Rig) -> None:
    price = Price("H100", 5, 2_500_000, "train", 60, 120, "Europe/Berlin", "EUR")
    rig.do(lambda draft: draft.record(PriceSet(draft.now, price, "ada")))
    rig.crash()
    with rig.service.read() as mind:
        assert [each.price for each in mind.book.prices.records] == [price]
        written = document(mind.book.prices)
    assert value_of(written).records[0].price == price


def test_budgets_survive_a_restart(rig: Rig) -> None:
    price = Price("H100", 5, 2_500_000, currency="EUR")
    rig.do(lambda draft: draft.record(PriceSet(draft.now, price, "ada")))
    budget = Budget("default", 10_000_000, carry_over=True)
    rig.do(lambda draft: draft.record(BudgetSet(draft.now, budget, 1_000_000, "ada")))
    rig.submit("a", queue="default", time_limit="1h")
    rig.turn(2)
    rig.machine.time += 600_000
    rig.turn(2)
    at = rig.machine.time + 1000
    with rig.service.read() as mind:
        before = mind.state.queues.budgets.views(at)
    assert before[0].spent > 1_000_000
    rig.crash()
    with rig.service.read() as mind:
        assert mind.state.queues.budgets.views(at) == before
        written = document(saved(mind.state))
        value_of(written)


def test_requests_for_budgets_survive_a_restart_with_what_was_decided(rig: Rig) -> None:
    asked = [
        BudgetRequested(5, number, "default", 3_000_000, 1 << 50, "rerun", "bob")
        for number in (1, 2)
    ]
    rig.do(lambda draft: draft.record(BudgetSet(draft.now, Budget("default", 10_000_000))))
    for each in asked:
        rig.do(partial(_recorded, each))
    rig.do(lambda draft: draft.record(BudgetRaised(6, 1, "default", 3_000_000, "ada")))
    rig.crash()
    with rig.service.read() as mind:
        known = mind.book.budget_requests
        (view,) = mind.state.queues.budgets.views(rig.machine.time)
        again = value_of(document(known))
    assert (view.limit, view.raised) == (13_000_000, 3_000_000)
    assert (known.last, [each.waits(9) for each in known.known.values()]) == (2, [False, True])
    assert (again.known, again.last) == (known.known, known.last)


def _recorded(event: BudgetRequested, draft: Transaction) -> None:
    draft.record(event)
