"""Who reclaimed from whom in clusters, as schedulers deliver it and callers may see it."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.lifecycle.clusters import ClusterBook
from ganglion.lifecycle.past import cluster_reclaims
from ganglion.lifecycle.past.cluster_reclaims import ClusterReclaim, ClusterReclaims
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    GangResized,
    GangStopping,
    Outcome,
    SchedulerSettled,
)
from ganglion.server.delivered.receive import receive
from ganglion.server.recovery.documents import document, value_of
from tests.server.access.office import API, Office
from tests.server.delivered.stories import begun, ended, gang, place, placed, submitted, turns

WHY = "the giver used more than it is entitled to"


def stopping(at: int, name: str, asker: str, kind: CauseKind = CauseKind.RECLAIMED) -> GangStopping:
    return GangStopping(at, gang(name).id, 1, Cause(kind, gang=gang(asker).id))


@pytest.fixture
def east(staff: Office) -> Office:
    """`org` takes a GPU of `team` back, and later one of two that another attempt holds."""
    rig, at = staff.rig, staff.rig.machine.time
    whose = {"small": "team", "wide": "team", "asker": "org", "equal": "team"}
    sent = [submitted(at, name, queue) for name, queue in whose.items()]
    own = [placed(at, "small", "n0"), placed(at, "wide", "n0", "n1")]
    cause = Cause(CauseKind.RECLAIMED, gang=gang("asker").id)
    first: list[Delivered] = [*begun(at), *sent, SchedulerSettled(at)]
    then: list[Delivered] = [
        stopping(at + 1, "small", "asker"),
        GangResized(at + 2, gang("wide").id, 1, place("n0"), cause=cause),
        stopping(at + 3, "wide", "equal", CauseKind.PREEMPTED),
    ]
    batch = turns((first, list(own)), ([], then))
    rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    return staff


def page(client: TestClient, query: str = "") -> dict[str, Any]:
    answer = client.get(f"{API}/reclaims?since=1&{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ids(east: Office) -> dict[str, str]:
    rows = east.owner.get(f"{API}/workloads?all=true").json()["items"]
    return {each["name"]: each["id"] for each in rows}


def test_queues_of_a_cluster_say_what_they_took_back_and_from_whom(east: Office) -> None:
    (row,) = page(east.owner)["items"]
    assert (row["taker"], row["giver"], row["cause"]) == ("east:org", "east:team", "reclaimed")
    assert (row["why"], row["count"], row["gpu_milli"], row["unknown"]) == (WHY, 2, 2_000, 0)
    known = ids(east)
    assert [(e["workload"], e["for_workload"], e["gpu_milli"]) for e in row["last"]] == [
        (known["wide"], known["asker"], 1_000),
        (known["small"], known["asker"], 1_000),
    ]
    assert page(east.owner, "queue=east:team")["items"] == [row]
    assert page(east.owner, "queue=vision")["items"] == []
    assert page(east.owner)["known_since"] is None


def test_work_that_has_ended_since_is_named_as_the_history_names_it(east: Office) -> None:
    at = east.rig.machine.time
    over = turns(([ended(at, "small", Outcome.CANCELLED)], []), first=3)
    east.rig.service.ask(lambda draft: receive(draft, "east", "s1", over))
    (row,) = page(east.owner)["items"]
    shown = row["last"][1]["workload"]
    assert shown == ids(east)["small"]
    assert east.owner.get(f"{API}/workloads/{shown}").json()["state"] == "CANCELLED"


def test_names_of_queues_and_work_that_the_caller_may_not_see_are_left_out(east: Office) -> None:
    (row,) = page(east.user("tia", "viewer", "east:team"))["items"]
    assert (row["taker"], row["giver"], row["count"]) == ("", "east:team", 2)
    assert {each["for_workload"] for each in row["last"]} == {""}
    assert all(each["workload"] for each in row["last"])
    assert page(east.user("vera", "viewer", "vision")) | {"until": 0, "since": 0} == {
        "items": [],
        "known_since": None,
        "left_out": False,
        "since": 0,
        "until": 0,
    }


def test_a_scheduler_that_starts_and_stops_again_counts_no_attempt_twice(east: Office) -> None:
    at = east.rig.machine.time + 60_000
    again: list[Delivered] = [*begun(at, ("s1",)), submitted(at, "small"), submitted(at, "asker")]
    again += [placed(at, "small", "n0"), stopping(at, "small", "asker"), SchedulerSettled(at)]
    east.rig.service.ask(lambda draft: receive(draft, "east", "s2", turns((again, []))))
    assert page(east.owner)["items"][0]["count"] == 2


def test_what_is_known_no_more_and_what_earlier_versions_did_not_note_is_said(
    east: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert page(east.owner)["left_out"] is False
    monkeypatch.setattr(cluster_reclaims, "KEPT", 2)
    at = east.rig.machine.time
    more = turns(([], [placed(at, "equal", "n1"), stopping(at, "equal", "asker")]), first=3)
    east.rig.service.ask(lambda draft: receive(draft, "east", "s1", more))
    found = page(east.owner)
    assert (found["left_out"], found["items"][0]["count"]) == (True, 2)
    assert page(east.user("vera", "viewer", "vision"))["left_out"] is False

    kept = value_of(document(ClusterBook(heard=5, reclaims=ClusterReclaims(7))))
    assert kept.reclaims == ClusterReclaims(7)
    former = ClusterBook(heard=5)
    former.note(DeliveredEvent(9, "east", "s1", 1, SchedulerSettled(9)))
    assert former.reclaims == ClusterReclaims(since=9)


def test_a_shrink_counts_each_time() -> None:
    found = ClusterReclaims()
    for at in (1, 2):
        found.note(
            ClusterReclaim(at, CauseKind.SHARED, "a", 1, "team", "b", gave_milli=1, kept_milli=1)
        )
    assert len(found.items) == 2
