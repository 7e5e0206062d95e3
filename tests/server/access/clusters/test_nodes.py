"""Nodes and queues of clusters at a server: what there is, what is free, and who holds it."""

from typing import Any

import pytest

from ganglion import __version__
from ganglion.lifecycle.clusters import SILENT_MS
from ganglion.model.events import (
    Delivered,
    DeviceHealth,
    NodeCordoned,
    NodeLost,
    QueueSet,
    SchedulerSettled,
    ServerStarted,
)
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.server.delivered.queues import cluster_queues
from ganglion.server.delivered.receive import receive
from tests.server.access.office import API, Office
from tests.server.delivered.stories import begun, ended, placed, submitted, turns


def deliver(office: Office, facts: list[Delivered], decisions: list[Delivered], turn: int) -> None:
    batch = turns((facts, decisions), first=turn)
    office.rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))


@pytest.fixture
def east(staff: Office) -> Office:
    """A cluster of two nodes with eight GPUs each; `train` holds two on the first."""
    at = staff.rig.machine.time
    started = ServerStarted(at, __version__, metered=True, meters_clusters=True)
    staff.rig.service.ask(lambda draft: draft.record(started))
    facts = [*begun(at), submitted(at, "train"), SchedulerSettled(at)]
    deliver(staff, facts, [placed(at, "train", "n0", "n0")], 1)
    return staff


def away(office: Office, query: str = "") -> dict[str, dict[str, Any]]:
    answer = office.owner.get(f"{API}/nodes?{query}")
    assert answer.status_code == 200, answer.text
    return {each["name"]: each for each in answer.json()["items"] if each["cluster"] == "east"}


def flavors(office: Office) -> dict[str, dict[str, int]]:
    items = office.owner.get(f"{API}/gpus").json()["items"]
    return {each["flavor"]: each for each in items}


def test_nodes_of_a_cluster_are_listed_with_what_is_free_on_them(east: Office) -> None:
    found = away(east)
    assert list(found) == ["east:n0", "east:n1"]
    first = found["east:n0"]
    assert (first["flavor"], first["state"], first["pods"]) == ("east:H100", "ready", 2)
    assert (first["gpu_free_milli"], first["gpu_total_milli"]) == (6_000, 8_000)
    (gang,) = first["devices"][1]["gangs"]
    assert east.owner.get(f"{API}/workloads/{gang}").json()["id"] == gang
    assert [each["free_milli"] for each in first["devices"][:3]] == [0, 0, 1_000]
    about = east.owner.get(f"{API}/nodes/east:n0").json()
    (one,) = about["occupants"]
    assert about["node"] == first
    assert (one["gang"], one["queue"], one["devices"]) == (gang, "east:team", [0, 1])
    assert list(away(east, "text=N1")) == ["east:n1"]
    page = east.owner.get(f"{API}/nodes?limit=1&text=east").json()
    assert list(away(east, f"text=east&cursor={page['next']}")) == ["east:n1"]


def test_flavors_of_a_cluster_are_apart_from_those_of_the_server(east: Office) -> None:
    own = flavors(east)["H100"]
    there = flavors(east)["east:H100"]
    assert (there["nodes"], there["gpu_total_milli"], there["gpu_used_milli"]) == (2, 16_000, 2_000)
    assert (there["gpu_free_milli"], there["largest_hole"], there["whole_nodes"]) == (14_000, 8, 1)
    at = east.rig.machine.time
    deliver(east, [NodeCordoned(at, "n1", "a new pump"), DeviceHealth(at, "n0", 7, False)], [], 2)
    there = flavors(east)["east:H100"]
    assert (there["open_nodes"], there["gpu_total_milli"], there["largest_hole"]) == (1, 15_000, 5)
    assert away(east, "state=cordoned")["east:n1"]["gpu_free_milli"] == 0
    assert flavors(east)["H100"] == own


def test_a_node_that_is_gone_stays_as_long_as_work_holds_it(east: Office) -> None:
    at = east.rig.machine.time
    deliver(east, [NodeLost(at, "n0"), NodeLost(at, "n1")], [], 2)
    assert {name: each["state"] for name, each in away(east).items()} == {"east:n0": "lost"}
    assert flavors(east)["east:H100"]["gpu_total_milli"] == 0
    deliver(east, [ended(at, "train")], [], 3)
    assert away(east) == {}
    assert east.owner.get(f"{API}/nodes/east:n0").status_code == 404


def test_of_a_scheduler_that_is_silent_it_is_said(east: Office) -> None:
    heard = east.rig.machine.time
    assert away(east)["east:n0"]["silent_since"] == 0
    east.rig.machine.time += SILENT_MS + 60_000
    assert away(east)["east:n0"]["silent_since"] == heard


def test_nodes_of_clusters_are_seen_and_closed_where_that_is_allowed(east: Office) -> None:
    other = east.user("bob", "viewer", "speech")
    assert other.get(f"{API}/nodes").status_code == 403
    assert other.get(f"{API}/nodes/east:n0").status_code == 403
    for path, body in (
        ("nodes/east:n0/cordon", {"reason": "x"}),
        ("nodes/east:n0/uncordon", None),
    ):
        answer = east.owner.post(f"{API}/{path}", json=body)
        assert answer.status_code == 409, answer.text
        assert "kubectl cordon n0" in answer.json()["hint"]


def queues(office: Office) -> dict[str, dict[str, Any]]:
    (cluster,) = office.owner.get(f"{API}/clusters?queues=true").json()["items"]
    return {each["name"]: each for each in cluster["queues"]}


def test_queues_of_a_cluster_have_their_rules_and_what_they_hold(east: Office) -> None:
    at = east.rig.machine.time
    quota = {"H100": Amount(gpu_milli=4_000)}
    rules = Queue("team", "org", quota=quota, limit={"*": Amount(gpu_milli=9_000)})
    deliver(east, [QueueSet(at, rules), submitted(at, "late"), submitted(at, "top", "org")], [], 2)
    found = queues(east)
    assert list(found) == ["east:org", "east:team"]
    team, org = found["east:team"], found["east:org"]
    assert (team["parent"], team["quota"]["H100"]["gpu_milli"]) == ("east:org", 4_000)
    assert (team["limit"]["*"]["gpu_milli"], org["quota"], org["parent"]) == (9_000, {}, "")
    assert [team[key] for key in ("gpu_used_milli", "running", "waiting")] == [2_000, 1, 1]
    assert [org[key] for key in ("gpu_used_milli", "running", "waiting")] == [2_000, 1, 2]
    deliver(east, [QueueSet(at, Queue("org", "team")), ended(at, "train")], [], 3)
    assert queues(east)["east:org"]["waiting"] == 2  # a circle is no way to hang


def test_a_queue_whose_rules_no_scheduler_has_said_has_none_known(east: Office) -> None:
    with east.rig.service.read() as mind:
        book = mind.book.clusters.of["east"]
        assert cluster_queues("east", book)[1].over_quota_weight == 1
        book.rules.clear()  # as in a snapshot of an earlier version
        assert cluster_queues("east", book)[1].over_quota_weight is None
