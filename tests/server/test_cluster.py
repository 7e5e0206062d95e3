"""Queues, nodes, metrics and the rest of REST; tokens, sizes and failures."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion import __version__
from ganglion.model.errors import EnvironmentFault
from ganglion.model.queue import Queue
from ganglion.server.app import guarded, make_app
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.listening.guard import MOST_BYTES
from ganglion.server.views.cluster import queue_view
from tests.engine import build
from tests.server.conftest import Rig
from tests.server.test_workloads import API, detail, post, problem, wait_for


def test_queues_are_made_changed_and_removed(client: TestClient) -> None:
    made = client.put(f"{API}/queues/org", json={"quota": {"H100": 16}})
    assert made.json()["quota"]["H100"]["gpu_milli"] == 16_000
    client.put(f"{API}/queues/team", json={"parent": "org", "weight": 3})
    names = [each["name"] for each in client.get(f"{API}/queues").json()["items"]]
    assert names == ["default", "org", "team"]
    held = client.delete(f"{API}/queues/org")
    problem(held, 409, "state.conflict", "queue org still has queues under it")
    assert client.delete(f"{API}/queues/team").json() == {"ok": True}
    problem(client.delete(f"{API}/queues/team"), 404, "state.not_found", "there is no queue 'team'")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"quota": 4}, "quota"),
        ({"wieght": 4}, "wieght"),
        ({"name": "other"}, "the path names queue q"),
        ({"parent": 4}, "parent"),
        ({"weight": -1}, "weight"),
    ],
)
def test_bad_queues_are_refused(client: TestClient, body: Any, message: str) -> None:
    problem(client.put(f"{API}/queues/q", json=body), 422, "input.field", message)


def test_a_queue_cannot_lie_under_itself_or_under_nothing(client: TestClient) -> None:
    client.put(f"{API}/queues/a", json={})
    client.put(f"{API}/queues/b", json={"parent": "a"})
    problem(client.put(f"{API}/queues/a", json={"parent": "b"}), 409, "state.conflict", "itself")
    problem(client.put(f"{API}/queues/c", json={"parent": "x"}), 404, "state.not_found", "x")


def test_nothing_new_starts_on_a_cordoned_node(client: TestClient) -> None:
    for node in ("n0", "n1"):
        assert client.post(f"{API}/nodes/{node}/cordon", json={"reason": "repair"}).is_success
    shown = client.get(f"{API}/nodes").json()["items"][0]
    assert (shown["state"], shown["reason"], shown["gpu_free_milli"]) == ("cordoned", "repair", 0)
    post(client)
    assert detail(client, "a")["state"] == "QUEUED"
    client.post(f"{API}/nodes/n1/uncordon")
    running = wait_for(client, "a", "RUNNING")
    assert running["gangs"][0]["placement"]["pods"][0]["node"] == "n1"
    problem(client.post(f"{API}/nodes/x/uncordon"), 404, "state.not_found", "no node x")
    missing = client.post(f"{API}/nodes/n0/cordon", json={})
    problem(missing, 422, "input.field", "reason")


def test_nodes_and_gpus_show_what_is_free(client: TestClient) -> None:
    post(client, resources={"gpus": 3})
    wait_for(client, "a", "RUNNING")
    node = client.get(f"{API}/nodes").json()["items"][0]
    assert (node["name"], node["gpu_total_milli"], node["gpu_free_milli"], node["pods"]) == (
        "n0",
        8000,
        5000,
        1,
    )
    assert [device["gangs"] for device in node["devices"]].count(["a-1/0"]) == 3
    flavor = client.get(f"{API}/gpus").json()["items"][0]
    assert (flavor["flavor"], flavor["gpu_total_milli"], flavor["gpu_used_milli"]) == (
        "H100",
        16_000,
        3_000,
    )
    queue = client.get(f"{API}/queues").json()["items"][0]
    assert (queue["gpu_used_milli"], queue["running"], queue["waiting"]) == (3000, 1, 0)


def test_metrics_count_without_growing_with_names(client: TestClient) -> None:
    for name in ("a", "b"):
        post(client, name, hold=True)
    text = client.get("/metrics").text
    assert 'ganglion_queue_depth{reason="held"} 2.0' in text
    assert 'ganglion_gpus_total{flavor="H100"} 16.0' in text
    assert "ganglion_events_appended_total 5.0" in text
    assert "ganglion_cycle_seconds_count" in text
    # Kinds of requests and of waits have their series once there was one of them.
    post(client, "c")
    wait_for(client, "c", "RUNNING")
    client.get("/metrics")
    lines = len(client.get("/metrics").text.splitlines())
    for number in range(5):
        post(client, f"c{number}")
        wait_for(client, f"c{number}", "RUNNING")
    assert len(client.get("/metrics").text.splitlines()) == lines


@pytest.mark.parametrize("path", ["/healthz", "/version", f"{API}/healthz", f"{API}/version"])
def test_health_and_version_need_no_token(client: TestClient, path: str) -> None:
    response = client.get(path, headers={"Authorization": ""})
    assert response.status_code == 200
    said = response.json()
    assert said.get("status") == "ok" or said == {"version": __version__}


@pytest.mark.parametrize(
    "given", ["", "secret", "Bearer", "Bearer wrong", "Basic secret", "Bearer sécret"]
)
def test_everything_else_needs_the_token(client: TestClient, given: str) -> None:
    for path in (f"{API}/workloads", f"{API}/events", f"{API}/openapi.json", "/anything"):
        response = client.get(path, headers={"Authorization": given.encode()})
        problem(response, 401, "auth", "token", "GANGLION_HOME/token")
        assert response.headers["www-authenticate"] == "Bearer"


def test_metrics_need_the_token_when_others_can_connect(context: ServerContext) -> None:
    app = guarded(make_app(context), "secret", loopback=False)
    with TestClient(app, "http://localhost") as stranger:  # type: ignore[arg-type]
        assert stranger.get("/metrics").status_code == 401
        assert stranger.get("/metrics", headers={"Authorization": "Bearer secret"}).is_success


@pytest.mark.parametrize("chunked", [False, True])
def test_a_request_that_is_too_large_is_refused(client: TestClient, chunked: bool) -> None:
    body = b'{"name":"' + b"x" * MOST_BYTES + b'"}'
    content = iter([body[:1000], body[1000:]]) if chunked else body
    problem(client.post(f"{API}/workloads", content=content), 413, "input.size", "1,048,576")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b"\x80\x81", b'{"name": NaN}', b'{"a":"\\ud800"}', b"[" * 100_000],
)
def test_a_body_that_is_no_json_object_is_refused(client: TestClient, body: bytes) -> None:
    for method, path in (("POST", "/workloads"), ("PUT", "/queues/q")):
        problem(client.request(method, API + path, content=body), 422, "input", "JSON")


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b'{"force": "perhaps"}', b"3"])
def test_bad_bodies_of_small_requests_are_refused(client: TestClient, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    response = client.post(f"{API}/workloads/x/cancel", content=body, headers=headers)
    assert response.status_code in (400, 422)
    assert response.headers["content-type"] == "application/problem+json"


def test_unknown_paths_and_methods_are_told_apart(client: TestClient) -> None:
    problem(client.get(f"{API}/nothing"), 404, "http.not_found", f"GET {API}/nothing", "api.md")
    problem(client.delete(f"{API}/gpus"), 405, "http.method", f"DELETE {API}/gpus")
    problem(client.get(f"{API}/workloads?limit=0"), 422, "input.field", "limit")
    problem(client.get(f"{API}/workloads?after={1 << 70}"), 422, "input.field", "after")


def test_a_bug_is_answered_without_its_traceback(
    client: TestClient, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig.service, "read", lambda: 1 // 0)
    response = client.get(f"{API}/queues")
    problem(response, 500, "ganglion", "the server failed", "server.log")
    assert "ZeroDivision" not in response.text


def test_a_full_disk_is_said_so_until_it_is_over(
    client: TestClient, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_batch: object) -> None:
        raise EnvironmentFault("the disk is full", "free some space")

    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "append", full)
        problem(post(client), 503, "environment", "the disk is full", "free some space")
        said = client.get("/healthz")
        assert (said.status_code, said.json()["status"]) == (503, "trouble")
        assert said.json()["trouble"] == "the disk is full"
        failing = [each for each in said.json()["checks"] if each["status"] != "ok"]
        message = "the disk is full"
        assert failing == [{"name": "ledger", "status": "fail", "message": message}]
        assert client.get("/readyz").status_code == 503
        assert client.get(f"{API}/workloads").json()["items"] == []
    assert post(client).status_code == 201
    assert client.get("/healthz").json()["status"] == "ok"


def test_a_queue_counts_the_gangs_of_the_queues_under_it() -> None:
    """As its use does, which stands beside them."""
    state = build.state_of(build.node("n0"), queues=(Queue("org"), Queue("team", parent="org")))
    gangs = (build.gang(name, gpus=8, queue="team") for name in "ab")
    build.submit(state, *gangs)
    org, team = (queue_view(state, name) for name in ("org", "team"))
    assert (org.gpu_used_milli, org.running, org.waiting) == (8000, 1, 1)
    assert (team.gpu_used_milli, team.running, team.waiting) == (8000, 1, 1)
