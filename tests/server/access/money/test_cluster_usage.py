"""Usage of clusters: for those who may see it, priced, and the same after any restart."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion import __version__
from ganglion.model.events import SchedulerSettled, ServerStarted
from ganglion.model.policy import Policy
from ganglion.server.delivered.receive import receive
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import facts, verified
from tests.server.access.money.test_prices import put
from tests.server.access.office import API, Office
from tests.server.delivered.stories import begun, ended, placed, started, submitted, turns

HOUR_MS = 3_600_000


@pytest.fixture
def east(staff: Office) -> Office:
    """A cluster of which one gang has ended after an hour, and another runs."""
    rig = staff.rig

    def starts(draft: Any) -> None:
        draft.record(ServerStarted(draft.now, __version__, metered=True, meters_clusters=True))

    rig.service.ask(starts)
    at = rig.machine.time
    batch = turns(
        ([*begun(at), SchedulerSettled(at)], []),
        ([submitted(at, "train"), submitted(at, "longer", "org")], []),
        ([], [placed(at, "train", "n0", "n1"), placed(at, "longer", "n1")]),
        ([started(at, "train"), ended(at + HOUR_MS, "train")], []),
    )
    rig.machine.time += HOUR_MS
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    return staff


def usage(client: TestClient, query: str) -> dict[str, Any]:
    answer = client.get(f"{API}/usage?{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def hours(page: dict[str, Any]) -> dict[str, int]:
    return {row["queue"]: row["held_gpu_us"] // (1_000 * HOUR_MS) for row in page["items"]}


def test_usage_of_a_cluster_is_that_of_its_queues(east: Office) -> None:
    page = usage(east.owner, "since=2h&by=queue")
    assert hours(page) == {"east:team": 2, "east:org": 1}
    (flavor,) = page["fleet"]
    held, idle = flavor["held_gpu_us"], flavor["idle_gpu_us"]
    assert held == page["total"]["held_gpu_us"]
    assert held + idle == flavor["capacity_gpu_us"]
    assert hours(usage(east.owner, "since=2h&queue=east:org")) == {"east:team": 2, "east:org": 1}
    assert hours(usage(east.owner, "since=2h&queue=east:team")) == {"east:team": 2}


def test_a_caller_gets_the_usage_of_the_clusters_queues_that_it_sees(east: Office) -> None:
    bob = east.user("bob", "viewer", "east:team")
    page = usage(bob, "since=2h")
    assert hours(page) == {"east:team": 2}
    assert page["fleet"] is None
    eve = east.user("eve", "viewer", "vision")
    assert usage(eve, "since=2h&queue=east:")["items"] == []


def test_ended_work_of_a_cluster_shows_its_cost_and_attempts(east: Office) -> None:
    put(east.owner, "H100", 2_500_000, since=1, currency="EUR")
    (shown,) = east.owner.get(f"{API}/history?name=train").json()["items"]
    found = east.owner.get(f"{API}/workloads/{shown['id']}").json()
    assert found["cost"]["so_far_micro"] == 2 * 2_500_000
    tried = east.owner.get(f"{API}/workloads/{shown['id']}/attempts").json()["items"]
    assert {each["gang"] for each in tried} == {gang["id"] for gang in found["gangs"]}
    assert sorted(each["node"] for each in tried) == ["east:n0", "east:n1"]


def test_the_timeline_has_what_runs_in_clusters(east: Office) -> None:
    items = east.owner.get(f"{API}/timeline?since=2h").json()["items"]
    found = {(each["queue"], each["node"], each["open"]) for each in items}
    assert ("east:org", "east:n1", True) in found
    assert ("east:team", "east:n0", False) in found


def test_a_restart_charges_nothing_twice(east: Office) -> None:
    rig = east.rig
    before = usage(east.owner, "since=2h&by=workload")["items"]
    with rig.service.read() as mind:
        here = facts(mind)
    again = facts(replayed(rig.ledger, Policy()))
    assert again["metering of clusters"] == here["metering of clusters"]
    with rig.ledger.still() as reader:
        assert [each.problem for each in verified(reader).flaws] == []
    rig.service.stop()
    rig.crash()
    with rig.service.read() as mind:
        assert facts(mind)["metering of clusters"] == here["metering of clusters"]
    assert len(before) == 2
