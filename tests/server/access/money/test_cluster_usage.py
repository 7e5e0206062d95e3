"""Usage of clusters: for those who may see it, priced, and the same after any restart."""

from typing import Any

import msgspec
import pytest
from fastapi.testclient import TestClient

from ganglion import __version__
from ganglion.model.events import Delivered, NodeAdded, Outcome, SchedulerSettled, ServerStarted
from ganglion.model.fleet.node import Device, Node
from ganglion.model.policy import Policy
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet
from ganglion.server.delivered.receive import receive
from ganglion.server.recovery.recover import replayed
from ganglion.server.recovery.verify import facts, verified
from tests.server.access.money.test_prices import put
from tests.server.access.office import API, Office
from tests.server.delivered.stories import (
    begun,
    ended,
    gang,
    node,
    placed,
    started,
    submitted,
    turns,
)

HOUR_MS = 3_600_000


@pytest.fixture
def east(staff: Office) -> Office:
    """A cluster of which one gang has ended after an hour, and another runs."""
    rig = staff.rig

    def starts(draft: Any) -> None:
        draft.record(
            ServerStarted(
                draft.now, __version__, metered=True, meters_clusters=True, meters_losses=True
            )
        )

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


def test_parts_of_gpus_count_as_such_and_a_part_that_is_unknown_is_named(east: Office) -> None:
    rig = east.rig
    put(east.owner, "H100", 2_000_000, since=1, currency="EUR")
    at = rig.machine.time
    sliced = msgspec.structs.replace(node("n1"), parts=(500, 500, 0, *[1_000] * 5))
    other = turns(([NodeAdded(at, sliced)], []), first=5)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", other))
    rig.machine.time += HOUR_MS
    page = usage(east.owner, f"since={at}&until={at + HOUR_MS}&by=queue")
    assert page["guessed"] == ["H100"]
    (row,) = page["items"]
    assert (row["queue"], row["held_gpu_us"]) == ("east:org", 500 * HOUR_MS)
    assert row["cost_micro"] == 1_000_000
    (flavor,) = (each for each in page["fleet"] if each["flavor"] == "H100")
    names = ("charged_micro", "idle_micro", "unavailable_micro", "discount_micro")
    assert sum(flavor[each] for each in names) == flavor["capacity_micro"]
    assert flavor["capacity_gpu_us"] == (16_000 + 8_000 + 7_000) * HOUR_MS
    with rig.ledger.still() as reader:
        assert [each.problem for each in verified(reader).flaws] == []


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


def test_lists_have_what_work_of_clusters_costs_while_it_lives_and_afterwards(east: Office) -> None:
    put(east.owner, "H100", 2_500_000, since=1, currency="EUR")
    items = east.owner.get(f"{API}/workloads?all=true&queue=east:team&queue=east:org").json()[
        "items"
    ]
    lives, over = items
    assert (lives["name"], lives["state"], lives["queue"]) == ("longer", "STARTING", "east:org")
    assert lives["id"].startswith("east:longer-")
    assert lives["cost"]["so_far_micro"] == pytest.approx(2_500_000, abs=2_000)
    assert lives["cost"]["most_micro"] is None
    assert lives["cost"]["unknown"] == "it has no time limit"
    assert (over["name"], over["cost"]["so_far_micro"]) == ("train", 2 * 2_500_000)
    assert over["cost"]["most_micro"] == 2 * 2_500_000
    shown = east.owner.get(f"{API}/workloads/longer").json()
    assert (shown["id"], shown["document"]["cluster"]) == (lives["id"], "east")
    assert shown["cost"]["so_far_micro"] >= lives["cost"]["so_far_micro"]
    (held,) = east.owner.get(f"{API}/workloads/{lives['id']}/attempts").json()["items"]
    assert (held["node"], held["open"]) == ("east:n1", True)
    assert east.owner.get(f"{API}/workloads?state=QUEUED").json()["items"] == []


def test_what_lives_in_a_cluster_costs_at_most_its_limit_where_it_may_be(east: Office) -> None:
    put(east.owner, "H100", 2_000_000, since=1, currency="EUR")
    rig, limit = east.rig, 4 * HOUR_MS
    at = rig.machine.time
    long: list[Delivered] = [
        msgspec.structs.replace(submitted(at, name), gang=timed(name, limit)) for name in "wr"
    ]
    batch = turns((long, [placed(at, "r", "n0")]), ([started(at, "r")], []), first=5)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    rig.machine.time += HOUR_MS
    costs = {
        each["name"]: each["cost"] for each in east.owner.get(f"{API}/workloads").json()["items"]
    }
    assert (costs["w"]["so_far_micro"], costs["w"]["most_micro"]) == (0, 2 * 4 * 2_000_000)
    assert costs["r"]["so_far_micro"] == pytest.approx(2_000_000, abs=2_000)
    assert costs["r"]["most_micro"] == pytest.approx(4 * 2_000_000, abs=2_000)
    parts = (143, 143, 142)
    slices = Node("n9", 64_000, 1 << 20, tuple(Device("MIG") for _ in parts), parts=parts)
    put(east.owner, "MIG", 7_000_000, since=1, currency="EUR")
    small = msgspec.structs.replace(submitted(at, "m"), gang=timed("m", limit, ("MIG",)))
    more = turns(([NodeAdded(rig.machine.time, slices), small], []), first=7)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", more))
    (cost,) = (
        each["cost"]
        for each in east.owner.get(f"{API}/workloads").json()["items"]
        if each["name"] == "m"
    )
    assert cost["most_micro"] == 4 * 2 * 143 * 7_000


def timed(name: str, limit_ms: int, types: tuple[str, ...] = ()) -> Gang:
    pods = (PodSet("main", 2, request=PodRequest(gpu=GpuRequest(1, types=types))),)
    return msgspec.structs.replace(gang(name), time_limit_ms=limit_ms, pod_sets=pods)


def test_pages_go_from_what_lives_in_clusters_to_the_rest(east: Office) -> None:
    own = east.submit(east.owner, "own", "vision")
    names, cursor = list[str](), ""
    for _ in range(3):
        page = east.owner.get(
            f"{API}/workloads?all=true&limit=1&cursor={cursor}".rstrip("=")
        ).json()
        names += [each["name"] for each in page["items"]]
        cursor = page["next"] or ""
        if not cursor:
            break
    assert names == ["longer", "own", "train"]
    assert own.startswith("own-")
    assert east.owner.get(f"{API}/workloads?cursor=W10").status_code == 422


def test_a_caller_sees_live_work_of_the_clusters_queues_that_it_sees(east: Office) -> None:
    bob, eve = east.user("bob", "viewer", "east:"), east.user("eve", "viewer", "east:team")
    (lives,) = bob.get(f"{API}/workloads").json()["items"]
    for ref in ("longer", lives["id"]):
        assert bob.get(f"{API}/workloads/{ref}").json()["id"] == lives["id"]
        assert eve.get(f"{API}/workloads/{ref}").status_code == 404
    assert eve.get(f"{API}/workloads").json()["items"] == []


def test_what_lives_in_a_cluster_is_not_changed_here(east: Office) -> None:
    refused = east.owner.post(f"{API}/workloads/longer/cancel", json={})
    assert refused.status_code == 409
    assert "cluster east" in refused.json()["detail"]
    assert "--context CONTEXT -N " in refused.json()["hint"]
    why = east.owner.get(f"{API}/workloads/longer/why").json()
    assert why["explanations"][0]["text"].endswith("does not wait: it is starting")
    (lives,) = east.owner.get(f"{API}/workloads/longer").json()["gangs"]
    assert why["explanations"][0]["waited"] == lives["waited"] != []


def test_waits_of_clusters_are_in_the_report_and_in_histograms(east: Office) -> None:
    rig = east.rig
    at = rig.machine.time
    waits = turns(([submitted(at, "late"), submitted(at, "never")], []), first=5)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", waits))
    rig.machine.time += HOUR_MS
    later = turns(([], [placed(at + HOUR_MS, "late", "n0", "n1")]), first=6)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", later))
    # A scheduler that starts says again what it finds, which waits for nothing.
    again = [*begun(at + HOUR_MS), submitted(at + HOUR_MS, "late"), submitted(at + HOUR_MS, "new")]
    seen = turns(([*again, placed(at + HOUR_MS, "late", "n0", "n1"), placed(at, "new", "n0")], []))
    rig.service.ask(lambda draft: receive(draft, "east", "s2", seen))
    found = waits_of(east.owner, "since=3h")
    assert found["", ""] == (3, 1)
    assert found["east:team", "2-8"] == (2, 0)
    assert found["east:team", "0"] == (0, 1)
    assert found["east:org", "1"] == (1, 0)
    assert set(waits_of(east.owner, "since=3h&queue=east:team")) == {
        *(("", ""), ("east:team", ""), ("east:team", "2-8"), ("east:team", "0"))
    }
    over = turns(([ended(at + HOUR_MS, "late")], []), first=2)
    rig.service.ask(lambda draft: receive(draft, "east", "s2", over))
    assert waits_of(east.owner, "since=3h") == found  # now out of the ledger
    text = rig.metrics.text().decode()
    assert 'ganglion_queue_wait_seconds_count{queue="east:team",size="2-8"} 2.0' in text
    assert 'ganglion_queue_wait_seconds_bucket{le="600.0",queue="east:team",size="2-8"} 1.0' in text


def waits_of(client: TestClient, query: str) -> dict[tuple[str, str], tuple[int, int]]:
    rows = client.get(f"{API}/report?{query}").json()["waits"]
    return {(each["queue"], each["size"]): (each["started"], each["waiting"]) for each in rows}


def test_gpus_and_lost_work_of_clusters_are_in_the_report(east: Office) -> None:
    rig = east.rig
    lost = ended(rig.machine.time, "longer", Outcome.PREEMPTED, requeue=True, lost_gpu_ms=HOUR_MS)

    def row() -> dict[str, Any]:
        rows = east.owner.get(f"{API}/report?since=3h").json()["utilisation"]
        return {each["queue"]: each for each in rows}["east:org"]

    assert (row()["held_milli"], row()["active_milli"], row()["lost_gpu_us"]) == (1_000, None, 0)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", turns(([lost], []), first=5)))
    assert (row()["held_milli"], row()["lost_gpu_us"]) == (0, HOUR_MS * 1_000)
