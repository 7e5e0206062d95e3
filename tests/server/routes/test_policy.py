"""Policies and bookings over REST."""

from typing import Any

from fastapi.testclient import TestClient

from tests.server.test_workloads import API

FILE = "# ours\nevict: {restart: 2m}\nqueues:\n- {name: default}\n- {name: red, quota: {h100: 4}}\n"


def put(client: TestClient, text: str, **more: Any) -> Any:
    answer = client.put(f"{API}/policy", json={"text": text, "file": "p.yaml", **more})
    return answer.json()


def test_the_built_in_policy_is_version_0(client: TestClient) -> None:
    found = client.get(f"{API}/policy").json()
    assert (found["version"], found["user"], found["cause"]) == (0, "", "built in")
    assert found["document"]["evict"]["victims"] == "price"
    assert found["document"]["queues"] == [{"name": "default"}]
    assert client.get(f"{API}/policy/versions").json() == {"items": [], "next": None}


def test_a_policy_is_checked_applied_shown_and_rolled_back(client: TestClient) -> None:
    checked = client.post(f"{API}/policy/check", json={"text": FILE, "file": "p.yaml"}).json()
    keys = ["evict.restart", "queues.red", "queues.red.quota.H100"]
    assert [each["key"] for each in checked["changes"]] == keys
    assert checked["version"] == 0
    applied = put(client, FILE)
    assert applied == {**checked, "version": 1}
    put(client, "preset: kai")
    found = client.get(f"{API}/policy").json()
    assert (found["version"], found["user"], found["cause"]) == (2, "ada", "applied")
    assert found["text"] == "preset: kai"
    former = client.get(f"{API}/policy/versions/1").json()
    assert former["text"] == FILE
    assert former["document"]["evict"]["restart"] == "2m"
    back = client.post(f"{API}/policy/rollback", json={"version": 1}).json()
    assert back["version"] == 3
    history = client.get(f"{API}/policy/versions").json()["items"]
    assert [(each["version"], each["cause"]) for each in history] == [
        (1, "applied"),
        (2, "applied"),
        (3, "rolled back to 1"),
    ]
    assert history[0]["changes"][0]["key"] == "evict.restart"
    assert {"key": "entitlement", "before": "kai", "after": "share"} in history[2]["changes"]


def test_a_refusal_names_file_line_key_and_what_to_do(client: TestClient) -> None:
    answer = client.put(f"{API}/policy", json={"text": "evict:\n  restat: 1m", "file": "p.yaml"})
    assert answer.status_code == 422
    said = answer.json()
    assert (said["code"], said["status"]) == ("input.field", 422)
    assert said["detail"] == "p.yaml:2:evict.restat: unknown key `restat`"
    assert said["hint"] == "did you mean `restart`?"
    assert said["errors"] == [
        {
            "detail": "unknown key `restat`",
            "key": "evict.restat",
            "hint": "did you mean `restart`?",
            "file": "p.yaml",
            "line": 2,
            "column": 3,
        }
    ]
    assert client.get(f"{API}/policy/versions/7").status_code == 404
    assert client.post(f"{API}/policy/rollback", json={"version": 7}).status_code == 404


def test_the_history_says_nothing_of_queues_that_a_file_left_out(client: TestClient) -> None:
    put(client, FILE)
    put(client, "strict: true")
    _, last = client.get(f"{API}/policy/versions").json()["items"]
    assert [each["key"] for each in last["changes"]] == ["strict", "evict.restart"]


def test_a_queue_is_set_with_every_rule_and_keeps_the_policys_for_the_rest(
    client: TestClient,
) -> None:
    put(client, "preset: kueue")
    body = {"quota": {"h100": 4}, "preemption": {"reclaim": "any"}, "timeshare": "2h"}
    found = client.put(f"{API}/queues/blue", json=body).json()
    assert found["document"] == {
        "name": "blue",
        "quota": {"H100": 4},
        "preemption": {
            "preempt": "never",
            "reclaim": "any",
            "borrowing": "never",
            "protected": "0s",
            "delay": "0s",
            "share_after": "0s",
        },
        "timeshare": "2h",
    }
    above = {"parent": "blue", "quota": {"H100": 5}}
    answer = client.put(f"{API}/queues/team", json=above)
    assert answer.status_code == 422
    assert "above that of its parent `blue`: 5 GPUs of 4" in answer.json()["detail"]


def test_a_priority_class_of_the_policy_may_be_used_at_once(client: TestClient) -> None:
    job = {"name": "a", "run": "true", "priority": "prod"}
    refused = client.post(f"{API}/workloads", json=job)
    assert (refused.status_code, refused.json()["code"]) == (422, "input.field")
    assert "there is no priority class `prod`" in refused.json()["detail"]
    put(client, "priorities: {prod: 99}")
    accepted = client.post(f"{API}/workloads", json=job).json()
    assert client.get(f"{API}/workloads/{accepted['id']}").json()["priority"] == 99


def test_rules_of_a_kind_fill_in_what_a_submission_leaves_out(client: TestClient) -> None:
    put(client, "kinds: {batch: {priority: 7, preemptible: false}}")
    job = {"name": "a", "run": "true", "kind": "batch"}
    for more, priority in (({}, 7), ({"name": "b", "priority": "high"}, 75)):
        accepted = client.post(f"{API}/workloads", json=job | more).json()
        assert client.get(f"{API}/workloads/{accepted['id']}").json()["priority"] == priority


def test_rules_of_a_queue_may_name_only_scores_that_are_loaded(client: TestClient) -> None:
    kinds = {"train": {"scores": ["absent"]}}
    refused = client.put(f"{API}/queues/team", json={"kinds": kinds})
    assert (refused.status_code, refused.json()["code"]) == (422, "input.field")
    assert "score absent" in refused.json()["detail"]
    kinds = {"train": {"scores": ["memory"]}}
    assert client.put(f"{API}/queues/team", json={"kinds": kinds}).status_code == 200


def test_a_deadline_that_has_passed_is_refused(client: TestClient) -> None:
    job = {"name": "a", "run": "true", "deadline": "1970-01-01T00:00:00.001Z"}
    refused = client.post(f"{API}/workloads", json=job)
    assert (refused.status_code, refused.json()["code"]) == (422, "input.field")
    assert refused.json()["detail"] == "deadline: 1970-01-01T00:00:00.001Z has passed"
    assert client.post(f"{API}/workloads", json=job | {"deadline": "12h"}).status_code == 201


def test_bookings_are_made_listed_and_taken_back(client: TestClient) -> None:
    body = {"nodes": ["n0"], "from": "2030-01-01T08:00Z", "for": "4h", "reason": "pump"}
    made = client.put(f"{API}/bookings/cooling", json=body).json()
    assert made == {
        "name": "cooling",
        "nodes": ["n0"],
        "begin": 1_893_484_800_000,
        "end": 1_893_499_200_000,
        "queues": [],
        "users": [],
        "reason": "pump",
        "state": "planned",
        "clears": False,
    }
    assert client.get(f"{API}/bookings").json() == {"items": [made], "next": None}
    assert client.get(f"{API}/policy").json()["document"]["bookings"][0]["name"] == "cooling"
    assert client.delete(f"{API}/bookings/cooling").json() == {"ok": True}
    assert client.get(f"{API}/bookings").json() == {"items": [], "next": None}
    assert client.delete(f"{API}/bookings/cooling").status_code == 404


def test_a_booking_that_makes_no_sense_is_refused(client: TestClient) -> None:
    good = {"nodes": "n0", "from": "2030-01-01T08:00Z", "for": "4h"}
    for wrong, says in (
        ({"nodes": "n9"}, "nodes[0]: there is no node `n9`"),
        ({"nodes": [], "in": "rack=r7"}, "in: there is no rack `r7`"),
        ({"nodes": []}, "names no nodes"),
        ({"to": "2030-01-02T08:00Z"}, "its end is given twice"),
        ({"for": None}, "its end is missing"),
        ({"for": "0s"}, "ends when it begins"),
        ({"queue": "blu"}, "there is no queue `blu`"),
        ({"user": "ada"}, "names users but no queues"),
        ({"from": "noon"}, "from: `noon` is not a date and time"),
        ({"form": "noon"}, "unknown key `form`"),
        ({"from": "1970-01-01T00:00Z", "for": "1ms"}, "would be over already"),
        ({"name": "other"}, "the path names booking x"),
    ):
        answer = client.put(f"{API}/bookings/x", json=good | wrong)
        assert answer.status_code == 422, wrong
        assert says in answer.json()["detail"]
    assert client.get(f"{API}/bookings").json() == {"items": [], "next": None}


def test_everything_that_is_wrong_in_the_present_state_is_told_at_once(client: TestClient) -> None:
    text = (
        "scores: [no-such]\nfilters: [none-such]\nqueues: [{name: default, quota: {H999: 1}}]\n"
        "bookings:\n- {name: b, nodes: [gone, away], begin: 2100-01-01T08:00Z, length: 1h}"
    )
    said = put(client, text)
    assert said["status"] == 422
    assert [(each["key"], each["line"]) for each in said["errors"]] == [
        ("scores", 1),
        ("filters", 2),
        ("queues[0].quota.H999", 3),
        ("bookings[0].nodes[0]", 5),
        ("bookings[0].nodes[1]", 5),
    ]
    booking = {"nodes": ["gone"], "within": "rack=r0", "queues": ["a", "b"], "length": "1h"}
    refused = client.put(f"{API}/bookings/b", json={**booking, "begin": "2100-01-01T08:00Z"})
    keys = ["queues[0]", "queues[1]", "nodes[0]", "within"]
    assert [each["key"] for each in refused.json()["errors"]] == keys
    queue = {"quota": {"X": -1, "Y": "z"}, "weigth": 1, "limit": {"*": 1}}
    refused = client.put(f"{API}/queues/q", json={**queue, "borrowing_limit": {"*": 1}})
    keys = ["quota.X", "quota.Y", "weigth", "borrowing_limit.*"]
    assert {each["key"] for each in refused.json()["errors"]} == {*keys}
