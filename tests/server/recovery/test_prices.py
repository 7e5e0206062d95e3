"""What was set of money is there again after a restart, from events and from snapshots."""

from ganglion.model.events import PriceSet
from ganglion.model.fleet.price import Price
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
