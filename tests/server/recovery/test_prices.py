"""What was set of money is there again after a restart, from events and from snapshots."""

from ganglion.engine.state.snapshot import saved
from ganglion.model.events import BudgetSet, PriceSet
from ganglion.model.fleet.price import Price
from ganglion.model.queue import Budget
from ganglion.server.recovery.documents import document, value_of
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
