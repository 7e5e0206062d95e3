"""Usage sums to what there was; a caller gets what it may see, and no more."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion import __version__
from ganglion.metering.sums import UsageBy
from ganglion.model.events import ServerStarted
from ganglion.server.views.usage import opened, usage_report
from tests.server.access.office import API, Office
from tests.server.conftest import Rig
from tests.server.process import until

HOUR_MS = 3_600_000
PARTS = ("held_gpu_us", "idle_gpu_us", "unavailable_gpu_us")


@pytest.fixture
def used(staff: Office) -> Office:
    """An hour in which two queues used GPUs; one of two jobs has ended."""
    rig = staff.rig
    rig.service.ask(lambda draft: draft.record(ServerStarted(draft.now, __version__, metered=True)))
    first = staff.submit(staff.owner, "anns", "vision", resources={"gpus": 8})
    staff.submit(staff.owner, "hidden", "secretlab", resources={"gpus": 2})
    rig.machine.time += HOUR_MS
    rig.machine.end(f"{first}/0")
    _turn(rig)
    return staff


def _turn(rig: Rig) -> None:
    """Wait for the turn that takes in what has ended."""
    over = {gang for gang, _ in rig.machine.ended}

    def holds_nothing() -> bool:
        with rig.service.read() as mind:
            return over.isdisjoint(mind.book.meter.attempts)

    until(holds_nothing)


def usage(client: TestClient, query: str = "") -> dict[str, Any]:
    answer = client.get(f"{API}/usage?{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_what_is_held_idle_and_unavailable_is_the_capacity(used: Office) -> None:
    used.owner.post(f"{API}/nodes/n1/cordon", json={"reason": "fan"})
    used.rig.machine.time += HOUR_MS
    page = usage(used.owner, "by=queue&by=user")
    (flavor,) = page["fleet"]
    assert sum(flavor[part] for part in PARTS) == flavor["capacity_gpu_us"]
    assert flavor["held_gpu_us"] == page["total"]["held_gpu_us"]
    assert min(flavor[part] for part in PARTS) > 0
    by_queue = {row["queue"]: row for row in page["items"]}
    assert set(by_queue) == {"vision", "secretlab"}
    assert by_queue["vision"]["held_gpu_us"] // 1000 in range(8 * HOUR_MS, 8 * HOUR_MS + 1000)
    assert by_queue["vision"]["user"] == "ada"
    assert [row["attempts"] for row in page["items"]] == [1, 1]


@pytest.mark.parametrize("by", UsageBy)
def test_the_sum_over_groups_is_the_total(used: Office, by: UsageBy) -> None:
    page = usage(used.owner, f"by={by}")
    for name in ("held_gpu_us", "requested_gpu_us", "attempts"):
        assert sum(row[name] for row in page["items"]) == page["total"][name]
    assert all(row[by] for row in page["items"])


def test_a_caller_gets_the_usage_of_the_queues_that_it_sees(used: Office) -> None:
    bob = used.user("bob", "viewer", "research")
    page = usage(bob)
    assert [row["queue"] for row in page["items"]] == ["vision"]
    assert page["total"]["held_gpu_us"] == page["items"][0]["held_gpu_us"]
    assert page["fleet"] is None
    assert usage(bob, "queue=secretlab")["items"] == []
    assert usage(bob, "queue=org&by=user")["total"] == usage(bob, "by=user")["total"]
    assert used.client(used.token("eve")).get(f"{API}/usage").status_code == 403


def test_a_queue_stands_for_all_below_it(used: Office) -> None:
    found = usage(used.owner, "queue=org/research")
    assert [row["queue"] for row in found["items"]] == ["vision"]
    assert found["fleet"] is None
    assert usage(used.owner, "queue=%00")["items"] == []
    assert len(usage(used.owner, "queue=org")["items"]) == 2


def test_pages_have_every_group_once(used: Office) -> None:
    first = usage(used.owner, "by=queue&limit=1")
    second = usage(used.owner, f"by=queue&limit=1&cursor={first['next']}")
    assert [each["items"][0]["queue"] for each in (first, second)] == ["secretlab", "vision"]
    assert second["next"] is None
    assert first["total"]["attempts"] == second["total"]["attempts"] == 2


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("by=colour", "by"),
        ("since=yesterday", "since"),
        ("until=1&since=1h", "until"),
        ("until=never", "until"),
        ("cursor=x", "cursor"),
    ],
)
def test_a_wrong_query_names_its_key(used: Office, query: str, key: str) -> None:
    answer = used.owner.get(f"{API}/usage?{query}")
    assert answer.status_code in {400, 422}
    assert key in answer.text


def test_a_period_ends_now_at_the_latest_and_splits_without_loss(used: Office) -> None:
    whole = usage(used.owner, "since=0&until=4000000000000000000")
    assert whole["until"] <= used.rig.machine.time
    middle, end = HOUR_MS // 2, whole["until"]
    parts = [
        usage(used.owner, f"since={since}&until={until}")
        for since, until in ((0, middle), (middle, end))
    ]
    for name in ("held_gpu_us", "requested_gpu_us", "attempts"):
        assert sum(part["total"][name] for part in parts) == whole["total"][name]
    total = sum(part["fleet"][0]["capacity_gpu_us"] for part in parts)
    assert total == whole["fleet"][0]["capacity_gpu_us"]


def test_before_metering_began_there_is_nothing(staff: Office) -> None:
    staff.submit(staff.owner, "anns", "vision", resources={"gpus": 8})
    page = usage(staff.owner)
    assert (page["metered_since"], page["items"], page["fleet"]) == (None, [], [])


def test_what_is_closed_while_it_is_summed_up_counts_once(rig: Rig) -> None:
    rig.do(lambda draft: draft.record(ServerStarted(draft.now, __version__, metered=True)))
    job = rig.submit("a", queue="vision", resources={"gpus": 4})
    rig.turn(2)
    rig.machine.time += HOUR_MS
    now = rig.machine.time
    with rig.service.read() as mind:
        found = opened(mind, rig.ledger, now)
    before = usage_report(rig.ledger, found, [UsageBy.QUEUE], (0, now), None, fleet=True)
    rig.machine.end(f"{job}/0")
    rig.turn(2)
    after = usage_report(rig.ledger, found, [UsageBy.QUEUE], (0, now), None, fleet=True)
    assert before == after
    assert before.total.held_gpu_us // 1000 in range(4 * HOUR_MS, 4 * HOUR_MS + 1000)
