"""Prices are set by administrators, read by all, never changed, and rate what the ledger has."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.metering.rating import HOUR_GPU_US
from ganglion.server.views.usage import opened
from tests.server.access.money.test_usage import HOUR_MS, _turn, usage, used
from tests.server.access.office import API, Office

__all__ = ["used"]

MONEY = ("cost_micro", "corrected_micro", "idle_micro", "unpriced_gpu_us")


def put(client: TestClient, flavor: str, micro: int | None, status: int = 200, **more: Any) -> Any:
    answer = client.put(f"{API}/prices/{flavor}", json={"micro": micro, **more})
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture
def flavor(used: Office) -> str:
    return str(usage(used.owner)["fleet"][0]["flavor"])


def test_money_adds_up_over_groups_and_to_the_capacity(used: Office, flavor: str) -> None:
    put(used.owner, flavor, 2_500_001, since=1, currency="EUR")
    put(used.owner, flavor, 1_000_003, since=1, kind="train")
    put(used.owner, flavor, 900_001, since=1, hours="00:30-00:45", zone="Europe/Berlin")
    for by in ("queue", "user", "workload", "flavor", "day", "kind"):
        page = usage(used.owner, f"by={by}")
        assert page["currency"] == "EUR"
        for name in MONEY:
            assert sum(row[name] for row in page["items"]) == page["total"][name]
        (fleet,) = page["fleet"]
        parts = ("charged_micro", "discount_micro", "idle_micro", "unavailable_micro")
        assert sum(fleet[part] for part in parts) == fleet["capacity_micro"] > 0
        assert fleet["charged_micro"] == page["total"]["cost_micro"] > 0
        assert fleet["idle_micro"] == page["total"]["idle_micro"] > 0


def test_what_was_held_costs_its_hours_times_the_price(used: Office, flavor: str) -> None:
    put(used.owner, flavor, 2_000_000, since=1, currency="EUR")
    page = usage(used.owner, "by=queue")
    for row in page["items"]:
        exact = row["held_gpu_us"] * 2_000_000 // HOUR_GPU_US
        assert abs(row["cost_micro"] - exact) <= 1


def test_parts_of_a_period_cost_what_the_whole_does(used: Office, flavor: str) -> None:
    put(used.owner, flavor, 3_600_000, since=1, currency="EUR")
    put(used.owner, flavor, 7_200_000, since=HOUR_MS // 3)
    end = usage(used.owner, "since=0")["until"]
    cut = HOUR_MS // 2
    halves = [
        usage(used.owner, f"since={since}&until={until}")["total"]["cost_micro"]
        for since, until in ((0, cut), (cut, end))
    ]
    whole = usage(used.owner, f"since=0&until={end}")["total"]["cost_micro"]
    assert abs(sum(halves) - whole) <= 1


def test_a_price_from_now_on_corrects_nothing(used: Office, flavor: str) -> None:
    put(used.owner, flavor, 2_000_000, currency="EUR")
    set_now = put(used.owner, flavor, 3_000_000)
    assert set_now["since"] == set_now["at"]
    used.rig.machine.time += HOUR_MS
    page = usage(used.owner)
    assert (page["corrections"], page["total"]["corrected_micro"]) == ([], 0)


def test_a_price_of_the_past_leaves_what_was_charged_and_adds_a_correction(
    used: Office, flavor: str
) -> None:
    put(used.owner, flavor, 2_000_000, since=1, currency="EUR")
    first = usage(used.owner)
    used.rig.machine.time += HOUR_MS
    put(used.owner, flavor, 3_000_000, since=1)
    page = usage(used.owner)
    assert [each["number"] for each in page["corrections"]] == [1, 2]
    assert (
        sum(each["change_micro"] for each in page["corrections"])
        == (page["total"]["corrected_micro"])
    )
    history = used.owner.get(f"{API}/prices:history").json()["items"]
    assert [each["micro"] for each in history] == [2_000_000, 3_000_000]
    assert [each["by"] for each in history] == ["ada", "ada"]
    assert page["total"]["cost_micro"] > first["total"]["cost_micro"]


def test_time_without_a_price_is_shown_and_not_charged_as_nothing(
    used: Office, flavor: str
) -> None:
    put(used.owner, "another", 2_000_000, since=1, currency="EUR")
    page = usage(used.owner)
    assert page["total"]["cost_micro"] == 0
    assert page["total"]["unpriced_gpu_us"] == page["total"]["held_gpu_us"] > 0
    put(used.owner, flavor, 0, since=1)
    assert usage(used.owner)["total"]["unpriced_gpu_us"] == 0


def test_open_and_closed_usage_is_rated_alike(used: Office, flavor: str) -> None:
    put(used.owner, flavor, 3_600_000, since=1, currency="EUR")
    rig = used.rig
    until = rig.machine.time
    before = usage(used.owner, f"since=0&until={until}&by=workload")
    with rig.service.read() as mind:
        live = sorted({each.gang for each in opened(mind, rig.ledger, until).usage})
    assert live
    for gang in live:
        rig.machine.end(gang)
    _turn(rig)
    assert usage(used.owner, f"since=0&until={until}&by=workload")["items"] == before["items"]


def test_prices_that_cannot_be_are_refused_with_what_to_do(staff: Office) -> None:
    assert "currency" in put(staff.owner, "H100", 1, 422)["detail"]
    put(staff.owner, "H100", 1, currency="eur", hours="20:00-08:00", zone="Europe/Berlin")
    assert "overlap" in put(staff.owner, "H100", 1, 409, hours="07:00-09:00")["detail"]
    assert "EUR" in put(staff.owner, "H100", 1, 409, currency="USD")["detail"]
    assert "zone" in put(staff.owner, "H100", 1, 409, hours="9:00-10:00", zone="UTC")["hint"]
    for wrong in ({"hours": "all"}, {"kind": "party"}, {"zone": "Mars", "hours": "1:00-2:00"}):
        put(staff.owner, "H100", 1, 422, **wrong)
    put(staff.owner, "H100", -1, 422)
    put(staff.owner, "H100", None, hours="20:00-08:00")
    put(staff.owner, "H100", 1, hours="07:00-09:00")
    page = staff.owner.get(f"{API}/prices").json()
    assert [(each["hours"], each["micro"]) for each in page["items"]] == [("07:00-09:00", 1)]
    assert (page["currency"], page["zone"]) == ("EUR", "Europe/Berlin")
    assert page["items"][0]["known"]
    assert not put(staff.owner, "H2OO", 1)["known"]


def test_who_sees_some_queues_reads_prices_and_not_who_set_them(staff: Office) -> None:
    put(staff.owner, "H100", 1, currency="EUR")
    bob = staff.user("bob", "viewer", "research")
    (seen,) = bob.get(f"{API}/prices").json()["items"]
    assert (seen["micro"], seen["by"]) == (1, "")
    put(bob, "H100", 2, 403)


def test_who_set_a_price_is_in_the_audit_trail(staff: Office) -> None:
    put(staff.owner, "H100", 2_500_000, currency="EUR")
    (recorded,) = [each for each in staff.events(staff.owner) if each["type"] == "price_set"]
    assert (recorded["actor"], recorded["user"]) == ("ada", "ada")
