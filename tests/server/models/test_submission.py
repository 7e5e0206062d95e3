"""Workloads that refer to models, through a server."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from msgspec.structs import replace

from ganglion.model.events import GangSubmitted, Outcome
from ganglion.model.workload import Gang, ResolvedModel
from ganglion.server.commands.submission import submit
from ganglion.server.commands.submission.retry import retry
from ganglion.server.models.resolver import ModelResolver
from ganglion.server.requests.context import ServerContext
from ganglion.worlds.local.ranks.env import model_env
from tests.server.conftest import Rig
from tests.server.models.registry import FakeRegistry, fake_registry

ALIAS = "models:/chat@champion"


@pytest.fixture
def fake(context: ServerContext) -> Iterator[FakeRegistry]:
    """A registry that the server asks."""
    with fake_registry() as made:
        home = context.home.root
        (home / "models.yaml").write_text(f"mlflow: {{url: '{made.url}'}}\ndeadline: 5s\n")
        context.find_model = ModelResolver(home).resolve
        yield made


def body(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "run": "true", "model": ALIAS, **more}


def test_an_alias_is_resolved_once_and_stays_what_it_was(
    client: TestClient, fake: FakeRegistry, rig: Rig
) -> None:
    made = client.post("/api/v1/workloads", json=body("a", hold=True))
    assert made.status_code == 201
    fake.aliases["champion"] = 4
    found = client.get("/api/v1/workloads/a").json()["model"]
    assert (found["reference"], found["uri"], found["version"]) == (ALIAS, "models:/chat/3", "3")
    assert client.patch("/api/v1/workloads/a", json={"held": False}).status_code == 200
    gangs = [each.gang for each in rig.ledger.replay() if isinstance(each, GangSubmitted)]
    assert [gang.model.uri for gang in gangs if gang.model] == ["models:/chat/3"]
    assert found["digest"].startswith("record-sha256:")
    assert client.post("/api/v1/workloads", json=body("b")).status_code == 201
    assert client.get("/api/v1/workloads/b").json()["model"]["version"] == "4"


def test_programs_get_the_model_of_their_gang_in_variables() -> None:
    model = ResolvedModel(ALIAS, "models:/chat/3", "3", "record-sha256:00")
    assert model_env(Gang("b-2/0", "b-2", "default")) == {}
    gang = Gang("b-2/0", "b-2", "default", model=model)
    assert model_env(gang, "/cache/b")["GANGLION_MODEL_PATH"] == "/cache/b"
    assert model_env(gang) == {
        "GANGLION_MODEL": ALIAS,
        "GANGLION_MODEL_URI": "models:/chat/3",
        "GANGLION_MODEL_VERSION": "3",
        "GANGLION_MODEL_DIGEST": "record-sha256:00",
    }


def test_a_registry_that_is_down_refuses_the_submission_and_loses_nothing(
    client: TestClient, fake: FakeRegistry
) -> None:
    key = {"Idempotency-Key": "k1"}
    assert client.post("/api/v1/workloads", json=body("a"), headers=key).status_code == 201
    fake.status = 503
    refused = client.post("/api/v1/workloads", json=body("b"))
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (503, "environment.model_registry")
    assert "HTTP 503" in problem["detail"]
    again = client.post("/api/v1/workloads", json=body("a"), headers=key)
    assert (again.status_code, again.json()["id"]) == (201, "a-1")
    assert client.get("/api/v1/workloads/b").status_code == 404
    fake.status = 200
    assert client.post("/api/v1/workloads", json=body("b")).status_code == 201


def test_while_a_registry_is_silent_other_requests_go_on(
    client: TestClient, fake: FakeRegistry
) -> None:
    fake.silent, answers = True, list[int]()
    waiting = threading.Thread(
        target=lambda: answers.append(client.post("/api/v1/workloads", json=body("a")).status_code)
    )
    waiting.start()
    for number in range(3):
        plain = {"name": f"p{number}", "run": "true"}
        assert client.post("/api/v1/workloads", json=plain).status_code == 201
    assert answers == []
    fake.leave.set()
    waiting.join(10)
    assert answers == [201]


def test_a_dry_run_shows_the_model_and_its_plan_ends_with_another_one(
    client: TestClient, fake: FakeRegistry
) -> None:
    url = "/api/v1/workloads"
    shown = client.post(url, json=body("a"), params={"dry_run": True}).json()
    assert shown["model"]["uri"] == "models:/chat/3"
    fake.aliases["champion"] = 4
    refused = client.post(url, json=body("a"), params={"if_plan": shown["plan"]})
    assert refused.json()["code"] == "state.plan"
    fake.aliases["champion"] = 3
    taken = client.post(url, json=body("a"), params={"if_plan": shown["plan"]})
    assert taken.status_code == 201


def test_of_a_batch_what_refers_to_no_model_is_refused_alone(
    client: TestClient, fake: FakeRegistry
) -> None:
    many = [body("a"), body("b", model="models:/chat@gone"), body("c"), {"name": "d", "run": "t"}]
    said = client.post("/api/v1/workloads:submit", json={"workloads": many}).json()
    assert [bool(each["problem"]) for each in said["items"]] == [False, True, False, False]
    assert "models:/chat@gone" in said["items"][1]["problem"]["detail"]
    assert len(fake.asked) == 2
    assert client.get("/api/v1/workloads/c").json()["model"]["version"] == "3"


def test_a_retry_has_the_model_of_what_failed(rig: Rig) -> None:
    model = ResolvedModel(ALIAS, "models:/chat/3", "3", "record-sha256:00")
    request = replace(submit.checked(body("a"), user="ada"), model=model)
    rig.do(lambda draft: submit.submit(draft, request))
    rig.turn(3)
    rig.machine.end("a-1/0", Outcome.FAILED, 1)
    rig.turn(2)
    rig.do(lambda draft: retry(draft, "a-1", "ada"))
    with rig.service.read() as mind:
        assert mind.state.gangs.records["a-2/0"].gang.model == model
