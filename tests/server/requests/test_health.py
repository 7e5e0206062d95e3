"""Probes say what fails, and metrics say how much of it."""

import errno

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.effects import SYSTEM
from ganglion.server.requests import health
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.listening.home import Home
from ganglion.server.telemetry.metrics import MOST_LABELS, OTHER, Bounded
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth
from tests.server.conftest import Rig
from tests.server.test_workloads import API, post, wait_for


def checks(client: TestClient, path: str = "/readyz") -> tuple[int, dict[str, str]]:
    answer = client.get(path)
    return answer.status_code, {
        each["name"]: each["status"] for each in answer.json()["checks"] if each["status"] != "ok"
    }


def samples(client: TestClient) -> dict[tuple[str, tuple[str, ...]], float]:
    text = client.get("/metrics").text
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_works_is_named_check_by_check(client: TestClient) -> None:
    assert checks(client) == (200, {})
    named = [each["name"] for each in client.get("/readyz").json()["checks"]]
    assert named == [
        *(
            "turns",
            "ledger",
            "world",
            "requests",
            "disk",
            "router",
            "retention",
            "audit",
            "tls",
            "helper",
            "accounts",
            "login",
            "set_apart",
        )
    ]
    alive = [each["name"] for each in client.get("/healthz").json()["checks"]]
    assert alive == ["turns", "ledger", "world"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", f"{API}/healthz"])
def test_a_world_that_refuses_is_no_health(client: TestClient, rig: Rig, path: str) -> None:
    rig.world.refuse = EnvironmentFault("no processes", "stop some")
    post(client)
    while checks(client, path)[0] == 200:
        rig.service.ask(lambda _draft: None)
    assert checks(client, path) == (503, {"world": "fail"})
    rig.world.refuse = None


def test_a_bug_in_a_turn_is_no_health(
    client: TestClient, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ganglion.server.loop.turn.cycle", lambda *_args, **_others: 1 / 0)
        assert post(client).status_code == 500
        assert checks(client, "/healthz") == (503, {"turns": "fail"})
    assert post(client).status_code == 201
    assert checks(client, "/healthz") == (200, {})


def test_a_turn_that_never_ends_is_no_health(
    client: TestClient, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig.service, "idle_s", lambda: 121.0)
    assert checks(client, "/healthz") == (503, {"turns": "fail"})
    assert client.get("/healthz").json()["trouble"] == "no turn has ended for 121 s"


def test_a_server_that_leaves_is_alive_but_not_ready(
    client: TestClient, context: ServerContext
) -> None:
    context.feed.close()
    assert checks(client, "/healthz") == (200, {})
    assert checks(client) == (503, {"requests": "fail"})


def test_little_disk_and_a_missing_router_are_warnings(
    client: TestClient, context: ServerContext
) -> None:
    little = FaultyFiles(Nth(0), room=5 << 20)
    context.home = Home(context.home.root, SYSTEM._replace(files=little))
    context.door_trouble = lambda: "the port 7078 is in use"
    assert checks(client) == (200, {"disk": "warn", "router": "warn"})
    said = client.get("/readyz").json()["trouble"]
    assert said.startswith("5 MiB are free below ")
    assert said.endswith("; the port 7078 is in use")


def test_requests_are_counted_by_the_template_of_their_path(client: TestClient) -> None:
    post(client)
    for name in ("a", "none", "none/3"):
        client.get(f"{API}/workloads/{name}")
    client.get("/nothing/of/that/kind")
    client.request("BREW", f"{API}/nodes")
    client.get(f"{API}/nodes", headers={"Authorization": "Bearer wrong"})
    found = samples(client)
    count = "ganglion_http_request_seconds_count"
    one = f"{API}/workloads/{{ref}}"
    assert found[count, ("GET", one, "200")] == 1
    assert found[count, ("GET", one, "404")] == 2
    assert found[count, ("GET", OTHER, "404")] == 1
    assert found[count, (OTHER, f"{API}/nodes", "405")] == 1
    assert found[count, ("GET", f"{API}/nodes", "401")] == 1
    assert found[count, ("POST", f"{API}/workloads", "201")] == 1


def test_waits_commits_and_ends_are_measured(client: TestClient, rig: Rig) -> None:
    post(client)
    wait_for(client, "a", "RUNNING")
    rig.machine.end("a-1/0")
    wait_for(client, "a", "SUCCEEDED")
    found = samples(client)
    assert found["ganglion_queue_wait_seconds_count", ("default", "1")] == 1
    assert found["ganglion_start_seconds_count", ("default",)] == 1
    assert found["process_cpu_seconds_total", ()] > 0
    assert found["ganglion_attempts_ended_total", ("none", "succeeded")] == 1
    assert found["ganglion_commit_seconds_count", ()] >= 3
    assert found["ganglion_commits_failed_total", ()] == 0
    assert found["ganglion_ledger_events", ()] == rig.ledger.head
    assert found["ganglion_ledger_bytes", ()] > 4096
    assert found["ganglion_event_streams", ()] == 0
    assert found["ganglion_check_failing", ("ledger",)] == 0


def test_a_refused_commit_is_counted(
    client: TestClient, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_batch: object) -> None:
        raise EnvironmentFault("the disk is full", "free some space")

    with monkeypatch.context() as patch:
        patch.setattr(rig.ledger, "append", full)
        assert post(client).status_code == 503
        assert samples(client)["ganglion_check_failing", ("ledger",)] == 1
    assert samples(client)["ganglion_commits_failed_total", ()] >= 1


def test_a_label_that_users_choose_has_few_values() -> None:
    queues = Bounded()
    assert [queues.of(f"q{n}") for n in range(MOST_LABELS)][-1] == f"q{MOST_LABELS - 1}"
    assert queues.of("one-more") == OTHER
    assert queues.of("q0") == "q0"


def test_a_disk_that_cannot_be_read_is_named(context: ServerContext) -> None:
    broken = FaultyFiles(Nth(1, "free"), errno.EIO)
    context.home = Home(context.home.root, SYSTEM._replace(files=broken))
    (disk,) = [each for each in health.ready(context).checks if each.name == "disk"]
    assert (disk.status, disk.message.endswith("Input/output error")) == ("fail", True)
