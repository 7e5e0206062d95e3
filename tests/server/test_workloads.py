"""Workloads through REST."""

from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.workload import Deadline
from ganglion.server.commands import live
from ganglion.server.requests.context import ServerContext
from tests.server.conftest import Rig
from tests.server.process import until

API = "/api/v1"


def post(client: TestClient, name: str = "a", **document: Any) -> httpx2.Response:
    params = document.pop("params_", {})
    headers = document.pop("headers_", {})
    body = {"name": name, "run": "true", "resources": {"gpus": 1}, **document}
    return client.post(f"{API}/workloads", json=body, params=params, headers=headers)


def detail(client: TestClient, ref: str) -> Any:
    response = client.get(f"{API}/workloads/{ref}")
    assert response.status_code == 200, response.text
    return response.json()


def wait_for(client: TestClient, ref: str, state: str) -> Any:
    return until(lambda: (found := detail(client, ref))["state"] == state and found)


def problem(
    response: httpx2.Response, status: int, code: str, message: str, hint: str = ""
) -> None:
    assert response.status_code == status, response.text
    body = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert body["type"] == f"urn:ganglion:problem:{code}"
    assert body["code"] == code
    assert body["status"] == status
    assert body["title"]
    assert message in body["detail"]
    assert hint in body["hint"]


def test_a_submission_is_answered_with_its_id_and_what_to_do_next(client: TestClient) -> None:
    response = post(client)
    assert response.status_code == 201
    assert response.json() == {
        "id": "a-1",
        "name": "a",
        "gangs": 1,
        "next": ["ganglion why a-1", "ganglion logs -f a-1", "ganglion cancel a-1"],
        "due": None,
    }


def test_a_workload_is_shown_from_queue_to_end(client: TestClient, rig: Rig) -> None:
    post(client)
    shown = wait_for(client, "a", "RUNNING")
    assert (shown["gpus"], shown["pods"], shown["running"]) == (1, 1, 1)
    gang = shown["gangs"][0]
    assert (gang["phase"], gang["attempt"], gang["placement"]["pods"][0]["node"]) == (
        "running",
        1,
        "n0",
    )
    assert shown["document"] == {"name": "a", "run": "true", "resources": {"gpus": 1}}
    rig.machine.end("a-1/0", code=0)
    ended = wait_for(client, "a", "SUCCEEDED")
    assert (ended["exit_code"], ended["succeeded"], ended["gangs"][0]["outcome"]) == (
        0,
        1,
        "succeeded",
    )
    assert ended["submitted"] <= ended["started"] <= ended["ended"]
    assert ended["gangs"][0]["placement"] == gang["placement"]


def test_what_cannot_start_now_waits_with_its_reason_and_place(client: TestClient) -> None:
    post(client, "big", resources={"gpus": 8}, nodes=2)
    wait_for(client, "big", "RUNNING")
    post(client, "b")
    post(client, "c")
    shown = detail(client, "c")
    assert (shown["state"], shown["reason"], shown["position"]) == ("QUEUED", "capacity", 2)
    assert shown["message"]
    order = client.get(f"{API}/order").json()
    assert [(i["workload"], i["position"], i["reason"]) for i in order["items"]] == [
        ("b-2", 1, "capacity"),
        ("c-3", 2, "capacity"),
    ]
    why = client.get(f"{API}/workloads/c/why").json()
    assert why["workload"] == "c-3"
    assert why["explanations"][0]["ahead"] == ["b-2/0"]
    assert "c-3/0 waits (capacity)" in why["explanations"][0]["text"]


def test_a_large_sweep_is_explained_by_some_of_its_trials(client: TestClient) -> None:
    values = list(range(40))
    post(client, "s", kind="sweep", params={"x": values}, resources={"gpus": 1})
    found = client.get(f"{API}/workloads/s/why").json()["explanations"]
    assert len(found) == 20
    assert {each["phase"] for each in found} == {"pending"}
    one = client.get(f"{API}/workloads/s/39/why").json()["explanations"]
    assert [each["gang"] for each in one] == ["s-1/39"]


@pytest.mark.parametrize("ref", ["a-1", "a", "a-1/0", "a/0"])
def test_a_workload_is_found_by_id_name_and_gang(client: TestClient, ref: str) -> None:
    post(client)
    assert detail(client, ref)["id"] == "a-1"


def test_a_unique_prefix_of_an_id_is_enough_and_an_ambiguous_one_is_refused(
    client: TestClient,
) -> None:
    post(client, "train-llama")
    post(client, "train-mistral")
    assert detail(client, "train-ll")["id"] == "train-llama-1"
    ambiguous = client.get(f"{API}/workloads/train")
    problem(ambiguous, 409, "state.conflict", "fits several", "train-mistral-2, train-llama-1")
    problem(client.get(f"{API}/workloads/x"), 404, "state.not_found", "no workload 'x'", "ps --all")


def test_a_repeated_submission_gets_the_first_answer_and_submits_once(client: TestClient) -> None:
    first = post(client, headers_={"Idempotency-Key": "k"})
    again = post(client, headers_={"Idempotency-Key": "k"})
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    other = post(client, "b", headers_={"Idempotency-Key": "k"})
    problem(other, 409, "state.conflict", "used for another request, which made a-1")
    assert len(client.get(f"{API}/workloads").json()["items"]) == 1


def test_a_repeated_submission_is_known_after_a_crash_and_after_the_end(rig: Rig) -> None:
    job = rig.submit("a", key="k")
    rig.turn()
    rig.machine.end("a-1/0")
    rig.turn()
    rig.crash()
    assert rig.submit("a", key="k") == job
    assert rig.submit("a", key="other") == "a-2"


def test_a_dry_run_says_what_would_happen_and_leaves_no_trace(client: TestClient, rig: Rig) -> None:
    before = rig.ledger.head
    fine = post(client, params_={"dry_run": True})
    assert fine.status_code == 200
    assert fine.json()["placement"]["pods"][0]["node"] == "n0"
    never = post(client, resources={"gpus": 9}, params_={"dry_run": True})
    assert never.status_code == 200
    assert never.json()["reason"]["never"]
    problem(post(client, queue="no", params_={"dry_run": True}), 422, "input.field", "queue")
    assert rig.ledger.head == before
    assert client.get(f"{API}/workloads?all=true").json() == {"items": [], "next": None}
    assert post(client).json()["id"] == "a-1"


def test_bad_submissions_are_refused_with_what_to_do(client: TestClient) -> None:
    problem(post(client, nme="x"), 422, "input.field", "unknown key `nme`", "`name`")
    problem(post(client, nodes=-1), 422, "input.field", "nodes")
    problem(post(client, queue="defaul"), 422, "input.field", "no queue", "did you mean default?")
    problem(post(client, after=["x"]), 422, "input.field", "no workload 'x' to wait for")
    huge = {"x": list(range(200)), "y": list(range(200))}
    problem(post(client, kind="sweep", params=huge), 422, "input.field", "40,000 gangs")
    assert client.get(f"{API}/workloads?all=true").json()["items"] == []


def test_a_taken_name_is_refused_until_its_owner_has_ended(client: TestClient, rig: Rig) -> None:
    post(client)
    problem(post(client), 409, "state.conflict", "named a is live: a-1", "ganglion cancel a-1")
    client.post(f"{API}/workloads/a/cancel")
    wait_for(client, "a-1", "CANCELLED")
    assert post(client).json()["id"] == "a-2"


def test_a_workload_larger_than_the_fleet_is_refused_unless_forced_or_held(
    client: TestClient,
) -> None:
    refused = post(client, resources={"gpus": 9})
    problem(refused, 422, "input.never", "a could never start", "force=true")
    assert post(client, "f", resources={"gpus": 9}, params_={"force": True}).status_code == 201
    assert post(client, "h", resources={"gpus": 9}, hold=True).status_code == 201
    assert detail(client, "h")["reason"] == "held"


def test_a_full_queue_takes_no_more(client: TestClient) -> None:
    client.put(f"{API}/queues/small", json={"max_pending": 1})
    assert post(client, "a", queue="small", hold=True).status_code == 201
    full = post(client, "b", queue="small")
    problem(full, 409, "state.conflict", "1 workloads wait in queue small, which takes at most 1")


def test_a_queue_with_queues_under_it_takes_no_workloads(client: TestClient) -> None:
    client.put(f"{API}/queues/org", json={})
    client.put(f"{API}/queues/team", json={"parent": "org"})
    problem(post(client, queue="org"), 422, "input.field", "queues under it", "use one of team")
    assert post(client, queue="org/team").status_code == 201
    assert detail(client, "a")["queue"] == "team"


def test_a_workload_waits_for_another_and_then_starts(client: TestClient, rig: Rig) -> None:
    post(client, "first")
    post(client, "second", after=["first"])
    assert detail(client, "second")["reason"] == "dependency"
    rig.machine.end("first-1/0")
    wait_for(client, "second", "RUNNING")
    assert post(client, "third", after=["first"]).status_code == 201
    wait_for(client, "third", "RUNNING")


def test_waiting_for_what_has_failed_is_refused(client: TestClient, rig: Rig) -> None:
    post(client, "first")
    client.post(f"{API}/workloads/first/cancel")
    wait_for(client, "first", "CANCELLED")
    late = post(client, "second", after=["first"])
    problem(late, 409, "state.conflict", "first-1, which ended as CANCELLED")


def test_cancelling_ends_what_waits_at_once_and_stops_what_runs(
    client: TestClient, rig: Rig
) -> None:
    post(client, "held", hold=True)
    assert client.post(f"{API}/workloads/held/cancel").json()["state"] == "CANCELLED"
    post(client, "run")
    wait_for(client, "run", "RUNNING")
    assert client.post(f"{API}/workloads/run/cancel", json={"force": True}).status_code == 200
    wait_for(client, "run", "CANCELLED")
    assert rig.machine.stops == [("run-2/0", 1, Cause(CauseKind.CANCELLED, user="ada"), True)]
    again = client.post(f"{API}/workloads/run/cancel")
    problem(again, 409, "state.conflict", "run-2 has ended already, as CANCELLED")


def test_one_trial_of_a_sweep_can_be_cancelled(client: TestClient, rig: Rig) -> None:
    post(client, "s", kind="sweep", params={"lr": [1, 2, 3]})
    wait_for(client, "s", "RUNNING")
    assert client.post(f"{API}/workloads/s/1/cancel").status_code == 200
    shown = until(lambda: (d := detail(client, "s"))["cancelled"] == 1 and d)
    assert [gang["outcome"] for gang in shown["gangs"]] == [None, "cancelled", None]
    assert shown["failed"] == 0
    problem(client.post(f"{API}/workloads/s/9/cancel"), 404, "state.not_found", "no gang 9")


def test_a_live_workload_can_be_changed(client: TestClient, rig: Rig) -> None:
    client.put(f"{API}/queues/team", json={})
    post(client, hold=True)
    changes = {"priority": 90, "queue": "team", "time_limit": "2h", "held": False}
    shown = client.patch(f"{API}/workloads/a", json=changes).json()
    assert (shown["priority"], shown["queue"]) == (90, "team")
    wait_for(client, "a", "RUNNING")
    assert rig.machine.limits["a-1/0"] == 7_200_000
    assert rig.machine.workloads["a-1"].time_limit_ms == 7_200_000
    moved = client.patch(f"{API}/workloads/a", json={"queue": "default"})
    problem(moved, 409, "state.conflict", "only what waits can change its queue")
    problem(
        client.patch(f"{API}/workloads/a", json={"time_limit": "soon"}),
        422,
        "input.field",
        "time_limit",
    )
    problem(
        client.patch(f"{API}/workloads/a", json={"priority": 101}), 422, "input.field", "priority"
    )
    problem(client.patch(f"{API}/workloads/a", json={"prio": 1}), 422, "input.field", "prio")


def test_the_limit_that_holds_is_shown_beside_the_submitted_one(client: TestClient) -> None:
    post(client, hold=True, time_limit="1h30m")
    assert _limits(detail(client, "a")) == (5_400_000, None)
    assert _limits(client.patch(f"{API}/workloads/a", json={"time_limit": "2h"}).json()) == (
        7_200_000,
        5_400_000,
    )
    assert client.patch(f"{API}/workloads/a", json={"time_limit": "0"}).status_code == 200
    client.post(f"{API}/workloads/a/cancel")
    wait_for(client, "a", "CANCELLED")
    assert _limits(detail(client, "a")) == (0, 5_400_000)


def _limits(shown: Any) -> tuple[int | None, int | None]:
    return shown["time_limit_ms"], shown["submitted_limit_ms"]


def test_a_deadline_changes_and_is_lifted(rig: Rig, client: TestClient) -> None:
    rig.submit("a", hold=True)
    path = f"{API}/workloads/a"
    assert client.patch(path, json={"deadline": "12h"}).status_code == 200
    with rig.service.read() as mind:
        gang = mind.state.gangs.records["a-1/0"].gang
        assert gang.deadline_ms == gang.submitted + 12 * 3_600_000
        assert mind.book.entries["a-1"].workload.deadline == Deadline(within_ms=12 * 3_600_000)
    problem(
        client.patch(path, json={"deadline": "1970-01-01T00:00:00.001Z"}),
        422,
        "input.field",
        "deadline",
    )
    problem(client.patch(path, json={"deadline": "soon"}), 422, "input.field", "deadline")
    assert client.patch(path, json={"deadline": "0"}).status_code == 200
    with rig.service.read() as mind:
        assert mind.state.gangs.records["a-1/0"].gang.deadline_ms == 0
        assert mind.book.entries["a-1"].workload.deadline is None


def test_a_change_outlives_a_crash(rig: Rig) -> None:
    rig.submit("a", hold=True)
    rig.do(lambda draft: live.change(draft, "a", live.Changes(priority=77)))
    rig.crash()
    with rig.service.read() as mind:
        assert mind.state.gangs.records["a-1/0"].gang.priority == 77
        assert mind.book.entries["a-1"].workload.priority == 77


def test_lists_are_newest_first_filtered_and_paged(client: TestClient, rig: Rig) -> None:
    client.put(f"{API}/queues/team", json={})
    client.put(f"{API}/queues/default", json={})
    for number in range(5):
        post(client, f"w{number}", queue="team" if number % 2 else "default", hold=True)
    for number in (0, 3):
        client.post(f"{API}/workloads/w{number}/cancel")

    def names(**params: Any) -> list[str]:
        found = client.get(f"{API}/workloads", params=params).json()
        return [item["name"] for item in found["items"]]

    assert names() == ["w4", "w2", "w1"]
    assert names(all=True) == ["w4", "w3", "w2", "w1", "w0"]
    assert names(all=True, queue="team") == ["w3", "w1"]
    assert names(all=True, user="ada", kind="train") == ["w4", "w3", "w2", "w1", "w0"]
    assert names(all=True, user="bob") == []
    pages, after = [], ""
    while after is not None:
        params = {"all": True, "limit": 2} | ({"after": after} if after else {})
        page = client.get(f"{API}/workloads", params=params).json()
        pages.append([item["name"] for item in page["items"]])
        after = page["next"]
    assert pages == [["w4", "w3"], ["w2", "w1"], ["w0"]]


def test_a_service_tells_where_it_listens(client: TestClient, context: ServerContext) -> None:
    post(client, "web", kind="service", replicas=2, port=80)
    wait_for(client, "web", "RUNNING")
    shown = until(lambda: (d := detail(client, "web"))["gangs"][1]["endpoint"] and d)
    assert [gang["endpoint"] for gang in shown["gangs"]] == ["127.0.0.1:9"] * 2


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_the_state_does_not_know_comes_with_all_other_errors(
    client: TestClient, dry_run: bool
) -> None:
    wrong: dict[str, Any] = {
        "name": "train",
        "run": "x",
        "queue": "defaul",
        "priority": "prodd",
        "after": ["x", "any:y"],
        "env": {"A": "1"},
        "secrets": {"A": "2"},
        "params": {"a": "0..20000"},
    }
    state = ["secrets", "priority", "queue", "params", "after", "after"]
    params = {"dry_run": dry_run}
    refused = client.post(f"{API}/workloads", json=wrong, params=params)
    assert (refused.status_code, refused.json()["code"]) == (422, "input.field")
    assert [each["key"] for each in refused.json()["errors"]] == state
    faults = {"zebra": 1, "nodes": "two", "memory": "1Gi", "shm_size": "2Gi", "queue": "A B"}
    refused = client.post(f"{API}/workloads", json=wrong | faults, params=params)
    expected = {*faults, *state} - {"memory", "params"}
    assert {each["key"] for each in refused.json()["errors"]} == expected
    assert client.get(f"{API}/workloads").json()["items"] == []
