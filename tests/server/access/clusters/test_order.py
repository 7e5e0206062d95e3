"""What waits in clusters, in the order of their schedulers, for those who may see it."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.lifecycle.clusters import SILENT_MS
from ganglion.model.events import (
    Delivered,
    OrderedReason,
    Outcome,
    ReasonsChanged,
    SchedulerEnded,
    SchedulerSettled,
    StartExpected,
    WaitGroups,
    WaitOrder,
)
from ganglion.server.delivered.receive import receive
from tests.server.access.office import API, Office
from tests.server.delivered.stories import begun, ended, gang, placed, submitted, turns

WHY = "0 of 16 GPUs of type H100 are free"


@pytest.fixture
def east(staff: Office) -> Office:
    """A cluster in which three gangs wait: two of them in an order that its scheduler has said."""
    rig, names = staff.rig, ("first", "second", "third")
    at, keys = rig.machine.time, [gang(each).id for each in names]
    sent = [submitted(at, name, "team" if name != "second" else "org") for name in names]
    first: list[Delivered] = [*begun(at), *sent, SchedulerSettled(at)]
    told = WaitOrder(at, (keys[1], keys[0]), (OrderedReason("capacity", WHY, (1, 2)),))
    said: list[Delivered] = [
        WaitGroups(at, {"1": tuple(keys)}),
        ReasonsChanged(at, {"capacity": (keys[0],)}),
    ]
    band = StartExpected(at, keys[0], at + 60_000, at + 600_000, 60_000)
    batch = turns(([*first, *said, told], [band]))
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    return staff


def order(client: TestClient, query: str = "") -> list[tuple[str, int, str]]:
    answer = client.get(f"{API}/order?{query}")
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["items"]
    return [(each["gang"].rpartition("-")[0], each["position"], each["message"]) for each in rows]


def test_what_waits_in_a_cluster_is_in_the_order_of_its_scheduler(east: Office) -> None:
    rows = order(east.owner)
    assert rows[-3:] == [("east:second", 1, WHY), ("east:first", 2, WHY), ("east:third", 0, "")]
    assert order(east.owner, "queue=east:team") == rows[-2:]
    (page,) = [east.owner.get(f"{API}/order?limit=1&queue=east:team").json()]
    assert (page["total"], page["items"][0]["cluster"]) == (2, "east")
    again = f"limit=5&queue=east:team&cursor={page['next']}"
    assert order(east.owner, again) == [("east:third", 0, "")]
    listed = east.owner.get(f"{API}/workloads?name=first").json()["items"][0]
    assert (listed["position"], listed["message"], listed["silent_since"]) == (2, WHY, 0)
    (told,) = east.owner.get(f"{API}/workloads/{listed['id']}/why").json()["explanations"]
    assert (told["position"], told["ahead_count"]) == (2, 1)
    assert WHY in told["text"]
    assert told["start"]["p90"] - told["start"]["p50"] == 540_000


def starts(client: TestClient, *gangs: str) -> dict[str, Any]:
    answer = client.get(f"{API}/order/starts", params={"gang": list(gangs)})
    assert answer.status_code == 200, answer.text
    return {each["gang"]: each["start"] for each in answer.json()["items"]}


def test_starts_are_said_of_what_the_caller_may_see(east: Office) -> None:
    gangs = [
        each["gang"] for each in east.owner.get(f"{API}/order?queue=east:team").json()["items"]
    ]
    mine = f"{east.submit(east.owner, 'mine', 'vision', hold=True)}/0"
    found = starts(east.owner, *gangs, mine, "none-1/0", "east:none-12345678")
    assert list(found) == [*gangs, mine]
    assert found[gangs[0]]["p90"] - found[gangs[0]]["p50"] == 540_000
    assert (found[gangs[1]], found[mine]) == (None, None)
    other = east.user("bob", "viewer", "speech")
    assert starts(other, *gangs, mine) == {}
    assert east.owner.get(f"{API}/order/starts").status_code == 422


def test_a_gang_that_starts_leaves_the_order_and_others_move_up(east: Office) -> None:
    rig = east.rig
    batch = turns(([], [placed(rig.machine.time, "second", "n0")]), first=2)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    assert order(east.owner, "queue=east:team")[0] == ("east:first", 1, WHY)
    assert order(east.owner, "queue=east:org") == []


def test_what_a_preemption_threw_away_is_said_of_what_waits_again(east: Office) -> None:
    rig, at = east.rig, east.rig.machine.time
    begun_again = ended(at, "first", Outcome.PREEMPTED, requeue=True, lost_gpu_ms=7_000)
    batch = turns(([], [placed(at, "first", "n0")]), ([begun_again], []), first=2)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    (row,) = east.owner.get(f"{API}/workloads?name=first").json()["items"]
    (told,) = east.owner.get(f"{API}/workloads/{row['id']}/why").json()["explanations"]
    assert (told["phase"], told["preemptions"], told["lost_gpu_ms"]) == ("pending", 1, 7_000)


def test_a_scheduler_that_is_silent_is_named_with_since_when(east: Office) -> None:
    rig = east.rig
    heard = rig.machine.time
    rig.machine.time += SILENT_MS // 2
    rows = east.owner.get(f"{API}/order?queue=east:team").json()["items"]
    assert [each["silent_since"] for each in rows] == [0, 0]
    rig.machine.time += SILENT_MS
    asked = east.owner.post(f"{API}/clusters/east/records", json={"scheduler": "s1"})
    assert asked.status_code == 200, asked.text
    rows = east.owner.get(f"{API}/order?queue=east:team").json()["items"]
    assert all(heard <= each["silent_since"] < rig.machine.time for each in rows)
    (shown,) = east.owner.get(f"{API}/clusters").json()["items"]
    assert shown["silent_since"] == shown["heard"]
    (told,) = east.owner.get(f"{API}/workloads/{rows[0]['gang']}/why").json()["explanations"]
    assert "silent since" in told["text"]
    assert told["start"] is None


def test_one_that_has_nothing_to_wait_for_is_heard_by_what_it_asks(east: Office) -> None:
    rig, at = east.rig, east.rig.machine.time
    names = ("first", "second", "third")
    batch = turns(([], [placed(at, name, "n0") for name in names]), first=2)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    rig.machine.time += 2 * SILENT_MS
    assert east.owner.get(f"{API}/clusters").json()["items"][0]["silent_since"]
    east.owner.post(f"{API}/clusters/east/records", json={"scheduler": "s1"})
    assert not east.owner.get(f"{API}/clusters").json()["items"][0]["silent_since"]
    over = turns(([SchedulerEnded(at)], []), first=3)
    rig.service.ask(lambda draft: receive(draft, "east", "s1", over))
    assert east.owner.get(f"{API}/clusters").json()["items"][0]["silent_since"]


def test_places_and_sentences_are_for_those_who_see_all_that_they_count(east: Office) -> None:
    for name, queue in (("mine", "vision"), ("theirs", "secretlab")):
        job = {"name": name, "run": "true", "queue": queue, "resources": {"gpus": 1}}
        assert east.owner.post(f"{API}/workloads", json=job | {"hold": name == "theirs"}).is_success
    for name in ("many-a", "many-b", "many-c"):
        many = {"name": name, "run": "true", "queue": "vision", "resources": {"gpus": 8}}
        answer = east.owner.post(f"{API}/workloads", json=many)
        assert answer.is_success, answer.text
    bob = east.user("bob", "viewer", "east:team")
    assert order(bob) == [("east:first", 0, ""), ("east:third", 0, "")]
    eve = east.user("eve", "viewer", "vision")
    assert {(name, place) for name, place, _ in order(eve)} == {("many-b", 0), ("many-c", 0)}
    assert {name for name, *_ in order(east.owner)} >= {"theirs", "many-b", "east:first"}
    carl = east.user("carl", "viewer", "east:")
    assert order(carl) == order(east.owner)[-3:]
