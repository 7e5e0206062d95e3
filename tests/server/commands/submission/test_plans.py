"""Submissions that name the plan of a dry run."""

from typing import Any

from fastapi.testclient import TestClient

from tests.server.conftest import Rig
from tests.server.test_workloads import API, post, problem


def plan(client: TestClient, **document: Any) -> str:
    found = post(client, params_={"dry_run": True}, **document).json()
    return str(found["plan"])


def test_a_dry_run_answers_with_the_number_of_the_newest_event_and_a_plan(
    client: TestClient, rig: Rig
) -> None:
    found = post(client, params_={"dry_run": True}).json()
    assert found["snapshot"] == rig.ledger.head > 0
    assert len(found["plan"]) == 20
    assert plan(client) == found["plan"]
    assert plan(client, resources={"gpus": 2}) != found["plan"]
    assert plan(client, resources={"gpus": 9}) != found["plan"]


def test_what_was_shown_is_submitted(client: TestClient) -> None:
    taken = post(client, params_={"if_plan": plan(client)})
    assert taken.status_code == 201
    assert taken.json()["id"] == "a-1"


def test_what_happened_elsewhere_since_changes_no_plan(client: TestClient) -> None:
    shown = plan(client)
    assert client.put(f"{API}/queues/research", json={"weight": 2}).status_code == 200
    assert post(client, params_={"if_plan": shown}).status_code == 201


def test_another_state_of_the_fleet_is_another_plan_and_nothing_is_submitted(
    client: TestClient, rig: Rig
) -> None:
    shown = plan(client, resources={"gpus": 8})
    assert post(client, "b").status_code == 201
    rig.turn()
    late = post(client, params_={"if_plan": shown}, resources={"gpus": 8})
    problem(late, 409, "state.plan", f"not {shown}", "--dry-run")
    names = {each["name"] for each in client.get(f"{API}/workloads?all=true").json()["items"]}
    assert names == {"b"}


def test_another_workload_is_another_plan(client: TestClient) -> None:
    shown = plan(client)
    problem(post(client, params_={"if_plan": shown}, run="false"), 409, "state.plan", shown)
    problem(post(client, params_={"if_plan": "0" * 20}), 409, "state.plan", "0" * 20)


def test_a_repeated_request_gets_the_answer_of_the_first_whatever_the_plan_is_by_now(
    client: TestClient, rig: Rig
) -> None:
    shown, key = plan(client), {"Idempotency-Key": "k"}
    first = post(client, params_={"if_plan": shown}, headers_=key)
    rig.turn()
    again = post(client, params_={"if_plan": shown}, headers_=key)
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
