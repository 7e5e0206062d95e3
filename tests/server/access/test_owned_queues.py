"""Owners of a queue make, change and remove those under it, within what it has."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.server.access.office import API, Office

GPUS = {"*": {"gpus": 4}}


def put(client: TestClient, name: str, **body: Any) -> tuple[int, str]:
    answer = client.put(f"{API}/queues/{name}", json=body)
    return answer.status_code, answer.text


@pytest.fixture
def olga(staff: Office) -> TestClient:
    """An owner of `research`, which is guaranteed 4 GPUs."""
    done = staff.owner.put(
        f"{API}/queues/research",
        json={"parent": "org", "quota": GPUS, "preemption": {"reclaim": "never"}},
    )
    assert done.status_code == 200, done.text
    return staff.user("olga", "owner", "research")


def test_an_owner_makes_changes_and_removes_a_queue_below(staff: Office, olga: TestClient) -> None:
    assert put(olga, "audio", parent="research", quota={"*": {"gpus": 2}})[0] == 200
    assert put(olga, "audio", parent="research", quota={"*": {"gpus": 1}}, weight=3)[0] == 200
    assert put(olga, "deep", parent="audio")[0] == 200
    for name in ("deep", "audio"):
        assert olga.delete(f"{API}/queues/{name}").status_code == 200
    events = [each for each in staff.events(staff.owner) if each["type"].startswith("queue_")]
    assert [each["type"] for each in events[-5:]] == [*["queue_set"] * 3, *["queue_removed"] * 2]
    assert {each["actor"] for each in events[-5:]} == {"olga"}


def check(client: TestClient, name: str, **body: Any) -> tuple[int, Any]:
    answer = client.post(f"{API}/queues/{name}/check", json=body)
    return answer.status_code, answer.json()


def test_what_a_queue_would_change_is_said_and_nothing_is_set(
    staff: Office, olga: TestClient
) -> None:
    before = staff.owner.get(f"{API}/queues").json()
    status, found = check(olga, "audio", parent="research", quota={"H800": 2}, weight=0)
    assert status == 200, found
    changes = {each["key"]: (each["before"], each["after"]) for each in found["changes"]}
    assert changes["queues.audio.quota.H800"] == (None, "2")
    assert changes["queues.audio.weight"] == (None, "0")
    assert any("no node has the flavor `H800`" in each for each in found["warnings"]), found
    assert staff.owner.get(f"{API}/queues").json() == before


@pytest.mark.parametrize(
    ("name", "body", "status", "key", "said"),
    [
        ("audio", {"quota": {"*": -1}}, 422, "quota.*", ""),
        ("audio", {"parent": "research", "quota": {"*": 6}}, 422, "quota.*", "6 GPUs of 4"),
        ("audio", {"parent": "nowhere"}, 404, "", "no queue 'nowhere'"),
        ("research", {"parent": "research"}, 409, "", "cannot lie under itself"),
        ("audio", {"weigth": 2}, 422, "weigth", "weight"),
    ],
)
def test_a_check_refuses_what_setting_would_and_names_the_key(
    staff: Office, olga: TestClient, name: str, body: Any, status: int, key: str, said: str
) -> None:
    del olga  # she made the queues
    found, problem = check(staff.owner, name, **body)
    wrong = [each["key"] for each in problem.get("errors", ())] or [""]
    assert (found, wrong[0]) == (status, key), problem
    assert said in str(problem)
    answer = staff.owner.put(f"{API}/queues/{name}", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (found, problem["detail"])


def test_a_check_is_for_those_who_may_set_the_queue(staff: Office, olga: TestClient) -> None:
    assert check(olga, "research", quota={"*": 8}, parent="org")[0] == 403
    assert check(staff.user("max", "maintainer", "research"), "a", parent="research")[0] == 403


def test_a_new_queue_has_the_rules_of_its_parent_about_others(
    staff: Office, olga: TestClient
) -> None:
    assert put(olga, "audio", parent="research")[0] == 200
    found = staff.owner.get(f"{API}/queues/audio").text
    assert '"reclaim":"never"' in found.replace(" ", "")


@pytest.mark.parametrize(
    ("key", "value"),
    [("preemption", {"reclaim": "any", "protected": "10h"}), ("lend_limit", {"*": {"gpus": 0}})],
)
def test_rules_about_others_stay(olga: TestClient, key: str, value: Any) -> None:
    assert put(olga, "audio", parent="research")[0] == 200
    for name in ("audio", "fresh"):
        status, text = put(olga, name, **{"parent": "research", key: value})
        assert (status, "stays as it is" in text) == (422, True), text


def test_quotas_are_parts_of_the_parents(olga: TestClient) -> None:
    assert put(olga, "audio", parent="research", quota={"*": {"gpus": 3}})[0] == 200
    status, text = put(olga, "video", parent="research", quota={"*": {"gpus": 2}})
    assert (status, "only 4" in text) == (422, True), text
    status, text = put(olga, "video", parent="research", quota={"*": {"cpu": 2}})
    assert (status, "is guaranteed no" in text) == (422, True), text
    assert put(olga, "video", parent="research", quota={"*": {"gpus": 1}})[0] == 200
    assert put(olga, "lab", parent="video", quota={"*": {"gpus": 2}})[0] == 422


def test_the_queue_itself_its_siblings_and_moves_away_need_a_grant_above(
    staff: Office, olga: TestClient
) -> None:
    rules = staff.owner.get(f"{API}/queues/research").text
    assert put(olga, "research", parent="org", quota={"*": {"gpus": 8}})[0] == 403
    assert put(olga, "audio")[0] == 403
    assert put(olga, "audio", parent="org")[0] == 403
    assert put(olga, "vision", parent="org")[0] == 403
    assert olga.delete(f"{API}/queues/research").status_code == 403
    assert staff.owner.get(f"{API}/queues/research").text == rules
    assert put(staff.user("max", "maintainer", "research"), "audio", parent="research")[0] == 403


def test_what_is_hidden_is_neither_taken_nor_named(staff: Office, olga: TestClient) -> None:
    for status, text in (
        put(olga, "secretlab", parent="research"),
        put(olga, "audio", parent="secretlab"),
    ):
        assert (status, "above the queue" in text) == (403, True), text
    gone = olga.delete(f"{API}/queues/secretlab")
    assert "org" not in gone.text
    assert '"parent":"org"' in staff.owner.get(f"{API}/queues/secretlab").text.replace(" ", "")
