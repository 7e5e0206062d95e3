"""Budgets count what is metered, hold over restarts, and are shown to those who see the queue."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.server.access.money.test_prices import put
from tests.server.access.money.test_usage import HOUR_MS, usage, used
from tests.server.access.office import API, Office

__all__ = ["used"]

EUR = 1_000_000


def budget(client: TestClient, queue: str, micro: int, status: int = 200, **more: Any) -> Any:
    answer = client.put(f"{API}/budgets/{queue}", json={"micro": micro, **more})
    assert answer.status_code == status, answer.text
    return answer.json()


def listed(client: TestClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{API}/budgets").json()["items"]
    return found


def test_a_budget_begins_with_what_was_metered_in_the_month(used: Office) -> None:
    put(used.owner, "H100", 2 * EUR, since=1, currency="EUR")
    line = budget(used.owner, "org", 100 * EUR)
    cost = usage(used.owner, "queue=org")["total"]["cost_micro"]
    assert abs(line["spent_micro"] - cost) <= EUR // 1000
    assert line["left_micro"] == 100 * EUR - line["spent_micro"] - line["reserved_micro"]
    used.rig.machine.time += HOUR_MS
    (later,) = listed(used.owner)
    cost = usage(used.owner, "queue=org")["total"]["cost_micro"]
    assert abs(later["spent_micro"] - cost) <= EUR // 1000
    assert later["spent_micro"] > line["spent_micro"]


def test_a_price_of_the_past_changes_what_a_budget_has_spent(used: Office) -> None:
    put(used.owner, "H100", EUR, since=1, currency="EUR")
    before = budget(used.owner, "org", 100 * EUR)
    put(used.owner, "H100", 3 * EUR, since=1)
    (after,) = listed(used.owner)
    assert abs(after["spent_micro"] - 3 * before["spent_micro"]) <= EUR // 100


def test_a_job_beyond_its_budget_waits_and_says_who_can_raise_it(staff: Office) -> None:
    put(staff.owner, "H100", EUR, currency="EUR")
    budget(staff.owner, "research", 5 * EUR)
    asked = {"resources": {"gpus": 2}, "time_limit": "2h"}
    staff.submit(staff.owner, "first", "vision", **asked)
    job = staff.submit(staff.owner, "train", "vision", **asked)
    reason = staff.owner.get(f"{API}/workloads/{job}").json()["gangs"][0]["reason"]
    assert reason["token"] == "budget"
    assert reason["evidence"]["budget_micro"] == 5 * EUR
    assert reason["evidence"]["asked_micro"] == 4 * EUR
    assert "administrator" in reason["message"]
    body = {"name": "x", "run": "true", "queue": "vision", **asked}
    tried = staff.owner.post(f"{API}/workloads?dry_run=true", json=body)
    assert tried.status_code in (200, 201)
    assert "the budget of queue research is 5.00 EUR" in tried.text


@pytest.mark.parametrize(("limit", "status"), [("4h", 200), ("5h", 409), ("30m", 200), ("0", 200)])
def test_what_runs_gets_no_time_that_its_budget_does_not_hold(
    staff: Office, limit: str, status: int
) -> None:
    put(staff.owner, "H100", EUR, currency="EUR")
    budget(staff.owner, "research", 8 * EUR + EUR // 100)
    job = staff.submit(staff.owner, "first", "vision", resources={"gpus": 2}, time_limit="1h")
    said = staff.owner.patch(f"{API}/workloads/{job}", json={"time_limit": limit})
    assert said.status_code == status, said.text
    if status == 409:
        assert "the longer time limit may cost 8.00; " in said.json()["detail"]
        (line,) = listed(staff.owner)
        assert abs(line["reserved_micro"] + line["spent_micro"] - 2 * EUR) < EUR // 1000


def test_what_costs_more_than_a_whole_budget_is_refused(staff: Office) -> None:
    put(staff.owner, "H100", EUR, currency="EUR")
    budget(staff.owner, "research", EUR)
    body = {"name": "x", "run": "true", "queue": "vision", "resources": {"gpus": 2}}
    refused = staff.owner.post(f"{API}/workloads", json=body | {"time_limit": "2h"})
    assert (refused.status_code, refused.json()["code"]) == (422, "input.never")


def test_budgets_are_set_by_administrators_and_seen_with_their_queue(staff: Office) -> None:
    budget(staff.owner, "research", 5 * EUR, zone="Europe/Berlin", carry_over=True)
    budget(staff.owner, "secretlab", 5 * EUR)
    owner = staff.user("bob", "owner", "research")
    assert [each["queue"] for each in listed(owner)] == ["research"]
    budget(owner, "research", 6 * EUR, 403)
    budget(staff.owner, "nowhere", 6 * EUR, 404)
    budget(staff.owner, "research", 6 * EUR, 422, zone="Mars")
    budget(staff.owner, "research", -1, 422)
    assert staff.owner.delete(f"{API}/budgets/research").status_code == 200
    assert staff.owner.delete(f"{API}/budgets/research").status_code == 404
    seen = {each["type"] for each in staff.events(owner)}
    assert {"budget_set", "budget_removed"} <= seen
    names = [e["budget"]["queue"] for e in staff.events(owner) if e["type"] == "budget_set"]
    assert names == ["research"]
