"""`ganglion price` reads money exactly and says what was set."""

import json

import pytest
from tests.cli.harness import FakeServer, Ganglion

PRICE = {"number": 1, "flavor": "H100", "micro": 2_500_000, "since": 0, "by": "ada"}
PAGE = {"items": [PRICE], "currency": "EUR", "zone": ""}


def test_a_price_is_set_in_millionths(server: FakeServer, ganglion: Ganglion) -> None:
    server.on("PUT /api/v1/prices/H100", {**PRICE, "known": False})
    server.on("GET /api/v1/prices", PAGE)
    done = ganglion("price", "set", "H100", "2.5", "--currency", "EUR")
    assert done.code == 0
    assert done.out.startswith("H100: 2.50 EUR per GPU-hour from ")
    assert "no node is of flavor H100" in done.err
    sent = json.loads(server.requests[0].content)
    assert (sent["micro"], sent["since"], sent["currency"]) == (2_500_000, 0, "EUR")


def test_none_ends_a_price(server: FakeServer, ganglion: Ganglion) -> None:
    server.on("PUT /api/v1/prices/H100", {**PRICE, "micro": None})
    server.on("GET /api/v1/prices", PAGE)
    assert ganglion("price", "set", "H100", "none").out.startswith("H100: no price from ")


@pytest.mark.parametrize("amount", ["2.5000001", "two", "1e3", "99999999999"])
def test_what_is_no_amount_of_money_is_refused(
    server: FakeServer, ganglion: Ganglion, amount: str
) -> None:
    done = ganglion("price", "set", "H100", amount)
    assert (done.code, server.requests) == (2, [])


def test_history_names_who_set_a_price(server: FakeServer, ganglion: Ganglion) -> None:
    server.on("GET /api/v1/prices:history", PAGE)
    lines = ganglion("price", "history").out.splitlines()
    assert "EUR/GPU-HOUR" in lines[0]
    assert "ada" in lines[1]
