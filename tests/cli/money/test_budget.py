"""`ganglion budget` sets what is given, keeps the rest, and shows all of it."""

import json

import pytest
from tests.cli.harness import FakeServer, Ganglion

EUR = 1_000_000
LINE = {
    "queue": "vision",
    "micro": 8 * EUR,
    "zone": "Europe/Berlin",
    "carry_over": True,
    "warn": [80],
    "grace_ms": 20_000,
}
GIVEN = {"zone": "UTC", "carry_over": False, "warn": [50, 90], "grace_ms": 60_000}
DEFAULTS = {"zone": "UTC", "carry_over": False, "warn": [50, 80, 95], "grace_ms": 900_000}
OPTIONS = ("--zone", "UTC", "--no-carry-over", "--warn", "50,90", "--grace", "1m")


@pytest.mark.parametrize(
    ("queue", "options", "sent"),
    [("vision", (), LINE), ("vision", OPTIONS, GIVEN), ("speech", (), DEFAULTS)],
)
def test_another_amount_leaves_the_other_settings_of_a_budget(
    server: FakeServer,
    ganglion: Ganglion,
    queue: str,
    options: tuple[str, ...],
    sent: dict[str, object],
) -> None:
    server.on("GET /api/v1/budgets", {"items": [LINE], "currency": "EUR"})
    server.on(f"PUT /api/v1/budgets/{queue}", {**LINE, "queue": queue})
    assert ganglion("budget", "set", queue, "12", *options).code == 0
    (body,) = [json.loads(each.content) for each in server.requests if each.method == "PUT"]
    assert body == {"micro": 12 * EUR} | {key: sent[key] for key in DEFAULTS}


def test_a_budget_is_shown_with_its_settings(server: FakeServer, ganglion: Ganglion) -> None:
    server.on("GET /api/v1/budgets", {"items": [LINE], "currency": "EUR"})
    _, terms = ganglion("budget", "show", "vision").out.splitlines()
    said = "months of Europe/Berlin; what is left is carried over; notifies at 80, 100 %; grace 20s"
    assert terms == said
