"""A workload says what it has cost and what it costs at most, while it lives and afterwards."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.model.fleet.price import MICRO
from tests.server.access.money.test_prices import put
from tests.server.access.money.test_usage import HOUR_MS, _turn, usage, used
from tests.server.access.office import API, Office

__all__ = ["used"]


def cost(client: TestClient, job: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"{API}/workloads/{job}").json()["cost"]
    return found


def listed(client: TestClient) -> dict[str, dict[str, Any]]:
    items = client.get(f"{API}/workloads?all=true").json()["items"]
    return {each["id"]: each["cost"] for each in items}


def tried(client: TestClient, **more: Any) -> dict[str, Any]:
    body = {"name": "x", "run": "true", "queue": "vision", "resources": {"gpus": 2}, **more}
    answer = client.post(f"{API}/workloads?dry_run=true", json=body)
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = answer.json()["cost"]
    return found


def test_without_prices_nothing_is_said_of_cost(used: Office) -> None:
    assert set(listed(used.owner).values()) == {None}
    assert tried(used.owner) is None


def test_what_each_workload_cost_is_what_usage_says(used: Office) -> None:
    put(used.owner, "H100", 2 * MICRO, since=1, currency="EUR")
    put(used.owner, "H100", 3 * MICRO, since=HOUR_MS // 2)
    until = used.rig.machine.time
    rows = usage(used.owner, f"since=0&until={until}&by=workload")["items"]
    assert len(rows) == 2
    costs = listed(used.owner)
    for row in rows:
        found = costs[row["workload"]]
        again = cost(used.owner, row["workload"])
        assert again["so_far_micro"] == pytest.approx(found["so_far_micro"], abs=300)
        assert found["currency"] == "EUR"
        assert found["so_far_micro"] == pytest.approx(row["cost_micro"], abs=300)
        assert found["so_far_micro"] > MICRO


def test_what_ends_costs_at_most_what_it_has_cost(used: Office) -> None:
    put(used.owner, "H100", 2 * MICRO, since=1, currency="EUR")
    job = used.submit(used.owner, "short", "vision", time_limit="3h", resources={"gpus": 2})
    assert cost(used.owner, job)["most_micro"] == 12 * MICRO
    used.rig.machine.time += HOUR_MS
    half = cost(used.owner, job)
    assert half["so_far_micro"] == pytest.approx(4 * MICRO, abs=200)
    assert half["most_micro"] == pytest.approx(12 * MICRO, abs=200)
    used.rig.machine.end(f"{job}/0")
    _turn(used.rig)
    ended = cost(used.owner, job)
    assert ended["so_far_micro"] == ended["most_micro"] == pytest.approx(4 * MICRO, abs=200)
    assert listed(used.owner)[job] == ended


@pytest.mark.parametrize(
    ("asked", "most", "unknown"),
    [
        ({"time_limit": "90m"}, 6 * MICRO, ""),
        ({"time_limit": "90m", "params": {"lr": [1, 2, 3]}, "kind": "sweep"}, 18 * MICRO, ""),
        ({"time_limit": "30m", "resources": {"gpus": 100}}, 100 * MICRO, ""),
        ({}, None, "it has no time limit"),
        ({"resources": {"cpus": 1}}, 0, ""),
    ],
)
def test_a_dry_run_says_what_it_costs_at_most(
    staff: Office, asked: dict[str, Any], most: int | None, unknown: str
) -> None:
    put(staff.owner, "H100", 2 * MICRO, currency="EUR")
    found = tried(staff.owner, **asked)
    assert (found["most_micro"], found["unknown"]) == (most, unknown)
    assert found["so_far_micro"] == 0


def test_a_flavor_without_a_price_makes_the_most_unknown(staff: Office) -> None:
    put(staff.owner, "L4", 2 * MICRO, currency="EUR")
    assert tried(staff.owner, time_limit="1h")["unknown"] == "H100 has no price"
    job = staff.submit(staff.owner, "train", "vision", time_limit="1h")
    assert cost(staff.owner, job)["unknown"] == "H100 has no price"


def test_who_sees_a_workload_sees_what_it_costs(used: Office) -> None:
    put(used.owner, "H100", 2 * MICRO, since=1, currency="EUR")
    bob = used.user("bob", "viewer", "research")
    seen = listed(bob)
    assert seen
    assert all(each["so_far_micro"] > 0 for each in seen.values())
