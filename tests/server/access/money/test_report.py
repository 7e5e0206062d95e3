"""The three metrics are those of the ledger and of this moment, and a caller gets its queues."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.metering.intervals import DAY_MS
from ganglion.metering.waits import percentile_ms, step_of
from tests.server.access.money.test_usage import HOUR_MS, usage, used
from tests.server.access.office import API, Office
from tests.server.test_workloads import wait_for

__all__ = ["used"]


def report(client: TestClient, query: str = "since=0") -> dict[str, Any]:
    answer = client.get(f"{API}/report?{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def rows(found: dict[str, Any], name: str, *keys: str) -> dict[Any, dict[str, Any]]:
    return {tuple(each[key] for key in keys): each for each in found[name]}


@pytest.fixture
def busy(used: Office) -> Office:
    """One job waits for an hour, starts, and ends a day later; another one still waits."""
    rig = used.rig
    waits = used.submit(used.owner, "large", "speech", resources={"gpus": 8}, nodes=2)
    rig.machine.time += HOUR_MS
    rig.machine.end(next(gang for gang, *_ in rig.machine.live if gang.startswith("hidden")))
    wait_for(used.owner, "large", "RUNNING")
    rig.machine.time += DAY_MS
    rig.machine.end(f"{waits}/0")
    wait_for(used.owner, "large", "SUCCEEDED")
    used.submit(used.owner, "two", "vision", resources={"gpus": 2})
    used.submit(used.owner, "never", "vision", resources={"gpus": 8}, nodes=2)
    wait_for(used.owner, "two", "RUNNING")
    rig.machine.time += 60_000
    return used


def test_utilisation_is_that_of_usage_by_queue_and_together(busy: Office) -> None:
    period = f"since=0&until={report(busy.owner)['until']}"  # each turn takes time
    found, used = report(busy.owner, period), usage(busy.owner, period)
    by_queue = rows(found, "utilisation", "queue")
    total = by_queue["",]
    assert total["allocated_gpu_us"] == used["total"]["held_gpu_us"]
    assert total["capacity_gpu_us"] == used["fleet"][0]["capacity_gpu_us"]
    for each in used["items"]:
        assert by_queue[each["queue"],]["allocated_gpu_us"] == each["held_gpu_us"]
    assert sum(each["allocated_gpu_us"] for each in found["spans"]) == total["allocated_gpu_us"]
    assert sum(each["capacity_gpu_us"] for each in found["spans"]) == total["capacity_gpu_us"]
    assert len(found["spans"]) == 2
    assert by_queue["vision",]["held_milli"] == 2000
    assert by_queue["vision",]["active_milli"] is None  # made-up GPUs are not measured


def test_waits_are_counted_by_queue_and_size_what_ended_and_what_runs(busy: Office) -> None:
    found = report(busy.owner)
    waits = rows(found, "waits", "queue", "size")
    assert waits["", ""]["started"] == 4
    assert sum(each["started"] for each in found["spans"]) == 4
    assert waits["speech", "9-64"]["started"] == 1
    assert waits["speech", "9-64"]["p50_ms"] == percentile_ms({step_of(HOUR_MS): 1}, 500)
    assert waits["vision", "2-8"]["started"] == 2
    assert waits["vision", "2-8"]["p95_ms"] == 1000
    assert (waits["vision", "9-64"]["waiting"], waits["vision", "9-64"]["started"]) == (1, 0)
    assert waits["vision", "9-64"]["longest_ms"] >= 60_000
    assert waits["", ""]["waiting"] == 1
    first, last = (DAY_MS, int(found["until"]))
    parts = (report(busy.owner, f"since=0&until={first}"), report(busy.owner, f"since={first}"))
    assert sum(rows(each, "waits", "queue")["",]["started"] for each in parts) == 4, last


def test_overhead_is_measured_where_it_arises(busy: Office) -> None:
    found = report(busy.owner)
    steps = rows(found, "overhead", "step")
    assert steps["decision",]["count"] > 4
    assert 0 < steps["decision",]["p50_ms"] <= steps["decision",]["p95_ms"]
    assert steps["running",]["count"] == 4
    assert (steps["ready",]["count"], steps["ready",]["p50_ms"]) == (0, None)
    assert found["cpu_ms"] > 0


def test_a_caller_gets_the_queues_that_it_sees(busy: Office) -> None:
    bob = busy.user("bob", "viewer", "research")
    period = f"since=0&until={report(bob)['until']}"
    found = report(bob, period)
    assert {each["queue"] for each in found["utilisation"]} == {"", "vision", "speech"}
    assert {each["queue"] for each in found["waits"]} == {"", "vision", "speech"}
    assert (found["overhead"], found["cpu_ms"]) == ([], None)
    assert {each["capacity_gpu_us"] for each in found["spans"]} == {None}
    assert rows(found, "waits", "queue", "size")["", ""]["started"] == 3
    narrowed = report(busy.owner, f"{period}&queue=research")
    for name in ("utilisation", "spans"):
        assert narrowed[name] == found[name]
    ages = [each.pop("longest_ms") for each in (*narrowed["waits"], *found["waits"])]
    assert narrowed["waits"] == found["waits"], ages
    assert busy.client(busy.token("eve")).get(f"{API}/report").status_code == 403


def test_a_long_period_is_shown_by_week(busy: Office) -> None:
    busy.rig.machine.time += 70 * DAY_MS
    found = report(busy.owner)
    assert 10 <= len(found["spans"]) <= 12
    assert sum(each["started"] for each in found["spans"]) == 4
    total = rows(found, "utilisation", "queue")["",]
    assert sum(each["allocated_gpu_us"] for each in found["spans"]) == total["allocated_gpu_us"]
    assert sum(each["capacity_gpu_us"] for each in found["spans"]) == total["capacity_gpu_us"]
