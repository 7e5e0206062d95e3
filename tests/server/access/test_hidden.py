"""What a caller may not see is in no list, count, stream, explanation or error text."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.server.access.office import API, Office

HIDDEN = "zeppelin"
"""Begins the name of every workload that bob may not see."""


@pytest.fixture
def bob(staff: Office) -> TestClient:
    """A submitter on research, beside work in another queue that he may not see."""
    for number in range(3):
        staff.submit(staff.owner, f"{HIDDEN}-{number}", "secretlab", resources={"gpus": 8})
    staff.submit(staff.owner, "anns", "vision", resources={"gpus": 8})
    return staff.user("bob", "submitter", "research")


def texts_of(staff: Office, client: TestClient) -> dict[str, str]:
    """Everything that a client can read, by where."""
    page = staff.owner.get(f"{API}/openapi.json").json()
    found = {}
    for path, methods in page["paths"].items():
        if "get" not in methods:
            continue
        for ref in ("anns", "bobs", f"{HIDDEN}-0", f"{HIDDEN}-0-1", "absent"):
            url = path.replace("{ref}", ref).replace("{name}", "secretlab").replace("{number}", "0")
            query = "?follow=false" if path.endswith("/events") else ""
            query = "?all=true&text=z" if path.endswith("/workloads") else query
            found[url] = client.get(url + query).text
    return found


def test_no_answer_names_a_workload_or_queue_that_is_hidden(staff: Office, bob: TestClient) -> None:
    staff.submit(bob, "bobs", "vision", resources={"gpus": 8})
    staff.submit(staff.owner, "claim", "secretlab", resources={"gpus": 8}, priority=90)
    staff.owner.post(f"{API}/workloads/{HIDDEN}-1/cancel")
    every = texts_of(staff, bob)
    assert len(every) > 30
    for url, text in every.items():
        asked = url.partition("/workloads/")[2].split("/")[0] or "secretlab"
        said = text.replace(asked, "")
        assert HIDDEN not in said, (url, text)
        assert "secretlab" not in said, (url, text)
    seen = texts_of(staff, staff.owner)
    assert any(HIDDEN in text and "secretlab" in text for text in seen.values())


def test_a_hidden_workload_is_answered_as_one_that_does_not_exist(
    staff: Office, bob: TestClient
) -> None:
    hidden = staff.owner.get(f"{API}/workloads/{HIDDEN}-0").json()["id"]
    absent = hidden[:-1] + "9"
    for method, path in (
        *(("GET", "{}"), ("GET", "{}/why"), ("GET", "{}/logs"), ("GET", "{}/0")),
        *(("POST", "{}/cancel"), ("PATCH", "{}"), ("POST", "{}/retry"), ("POST", "{}/0/cancel")),
    ):
        said = [
            bob.request(method, f"{API}/workloads/" + path.format(each), json={})
            for each in (hidden, absent)
        ]
        first, second = (each.json() for each in said)
        for each in (first, second):
            each.pop("instance")
        assert said[0].status_code == 404
        assert str(first).replace(hidden, absent) == str(second)


def test_lists_and_counts_leave_out_what_is_hidden(staff: Office, bob: TestClient) -> None:
    mine = staff.submit(bob, "bobs", "vision", resources={"gpus": 8})
    listed = bob.get(f"{API}/workloads").json()["items"]
    assert [each["name"] for each in listed] == ["bobs", "anns"]
    assert bob.get(f"{API}/workloads?queue=secretlab&all=true").json()["items"] == []
    assert bob.get(f"{API}/workloads/{mine}").json()["position"] is None
    assert staff.owner.get(f"{API}/workloads/{mine}").json()["position"] is not None
    queues = bob.get(f"{API}/queues").json()["items"]
    assert [each["name"] for each in queues] == ["research", "speech", "vision"]
    why = bob.get(f"{API}/workloads/{mine}/why").json()["explanations"][0]
    assert (why["ahead"], why["ahead_count"], why["holders"], why["holder_count"]) == ([], 0, [], 0)
    assert why["position"] == 0
    assert why["reason"]["token"]


def test_ended_work_that_is_hidden_is_in_no_list(staff: Office, bob: TestClient) -> None:
    for name in (f"{HIDDEN}-2", "anns"):
        staff.owner.post(f"{API}/workloads/{name}/cancel", json={"force": True})
    ended = staff.submit(staff.owner, "gone", "speech", held=True)
    hidden = staff.submit(staff.owner, f"{HIDDEN}-held", "secretlab", held=True)
    for name in (ended, hidden):
        assert staff.owner.post(f"{API}/workloads/{name}/cancel").status_code == 200
    names = {each["name"] for each in bob.get(f"{API}/history").json()["items"]}
    assert "gone" in names
    assert not any(each.startswith(HIDDEN) for each in names)
    every = bob.get(f"{API}/workloads?all=true").json()["items"]
    assert "gone" in {each["name"] for each in every}
    assert HIDDEN not in json.dumps(every)
    assert bob.get(f"{API}/workloads/{hidden}").status_code == 404
    assert bob.get(f"{API}/workloads/{ended}").status_code == 200


def test_bulk_verbs_touch_only_what_a_caller_may_touch(staff: Office, bob: TestClient) -> None:
    mine = staff.submit(bob, "bobs", "vision", resources={"gpus": 8})
    body: dict[str, Any] = {"filter": {}, "dry_run": True}
    matched = bob.post(f"{API}/workloads:cancel", json=body).json()["workloads"]
    assert {each.rpartition("-")[0] for each in matched} == {"bobs", "anns"}
    body = {"filter": {}, "workloads": [f"{HIDDEN}-0", "absent"]}
    done = bob.post(f"{API}/workloads:cancel", json=body).json()
    assert done["workloads"] == [mine]
    said = {each["workload"]: (each["code"], each["detail"]) for each in done["problems"]}
    assert said[f"{HIDDEN}-0"] == ("state.not_found", f"there is no workload '{HIDDEN}-0'")
    assert said["absent"] == ("state.not_found", "there is no workload 'absent'")
    assert [code for code, _ in said.values()].count("access") == 1
    for name in ("anns", f"{HIDDEN}-0"):
        assert staff.owner.get(f"{API}/workloads/{name}").json()["state"] != "CANCELLED"


def test_events_are_those_of_visible_work(staff: Office, bob: TestClient) -> None:
    staff.submit(bob, "bobs", "vision")
    kinds = {each["type"] for each in staff.events(staff.owner)}
    assert {"queue_set", "node_added", "role_granted", "token_created"} <= kinds
    mine = staff.events(bob)
    submitted = [each for each in mine if each["type"] == "gang_submitted"]
    assert {each["gang"]["queue"] for each in submitted} == {"vision"}
    assert len(submitted) == 2
    assert {each["type"] for each in mine} <= {
        *("queue_set", "gang_submitted", "gang_placed", "gang_started", "start_expected"),
        *("start_planned", "gang_reserved", "token_created", "gang_ended", "gang_updated"),
    }
    assert {each["queue"]["name"] for each in mine if each["type"] == "queue_set"} == {
        *("research", "vision", "speech"),
    }


def test_a_viewer_of_everything_sees_neither_grants_nor_sessions(staff: Office) -> None:
    viewer = staff.user("vic", "viewer")
    auditor = staff.user("una", "auditor")
    seen = {each["type"] for each in staff.events(viewer)}
    assert "node_added" in seen
    assert "role_granted" not in seen
    assert "role_granted" in {each["type"] for each in staff.events(auditor)}
    assert viewer.get(f"{API}/roles").status_code == 403
    assert len(auditor.get(f"{API}/roles").json()["items"]) == 2


def test_a_queue_that_is_hidden_cannot_be_submitted_to_or_moved_to(
    staff: Office, bob: TestClient
) -> None:
    mine = staff.submit(bob, "bobs", "vision")
    body = {"name": "x", "run": "true", "resources": {"gpus": 1}}
    for query in ("", "?dry_run=true", "?force=true"):
        said = [
            bob.post(f"{API}/workloads{query}", json={**body, "queue": each})
            for each in ("secretlab", "absents")
        ]
        assert [each.status_code for each in said] == [422, 422]
        first, second = (each.json()["detail"] for each in said)
        assert first.replace("secretlab", "absents") == second
    moved = bob.patch(f"{API}/workloads/{mine}", json={"queue": "secretlab"})
    assert (moved.status_code, "there is no queue" in moved.text) == (422, True)
    after = bob.post(f"{API}/workloads", json={**body, "queue": "vision", "after": [f"{HIDDEN}-0"]})
    assert (after.status_code, "there is no workload" in after.text) == (422, True)
    many = bob.post(f"{API}/workloads:submit", json={"workloads": [{**body, "queue": "secretlab"}]})
    assert many.json()["accepted"] == 0
    assert len(staff.owner.get(f"{API}/workloads?queue=secretlab").json()["items"]) == 3


def test_work_that_the_caller_may_not_see_is_counted_and_not_named(staff: Office) -> None:
    every: dict[str, Any] = {"resources": {"gpus": 8}}
    for number in range(2):
        staff.submit(staff.owner, f"{HIDDEN}-{number}", "secretlab", priority=10, **every)
    staff.rig.machine.time += 3_600_000
    bob = staff.user("bob", "submitter", "research")
    body = {"name": "x", "run": "true", "queue": "vision", "priority": 90, **every}
    answer = bob.post(f"{API}/workloads?dry_run=true", json=body)
    found = answer.json()
    assert HIDDEN not in answer.text
    assert (found["stops"], found["displaced"]["items"]) == ([], [])
    assert (found["displaced"]["others"], found["displaced"]["gpu_milli"]) == (1, 8000)
    seen = staff.owner.post(f"{API}/workloads?dry_run=true", json=body).json()
    assert len(seen["displaced"]["items"]) == 1
    assert seen["plan"] == found["plan"]
