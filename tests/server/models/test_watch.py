"""References that move while workloads have what they meant."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from ganglion.model.events import GangSubmitted
from ganglion.server.commands.schedules import SchedulesKeeper
from ganglion.server.models.images import image_now, watched_as
from ganglion.server.models.keeper import ModelsKeeper
from ganglion.server.models.watch import ModelWatch
from ganglion.server.requests.context import ServerContext
from tests.server.conftest import Rig
from tests.server.models.registry import DIGEST, FakeRegistry, fake_registry, watching
from tests.server.process import until

ALIAS = "models:/chat@champion"
BODY = {"name": "chat", "run": "serve", "kind": "service", "replicas": 1, "model": ALIAS}


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        yield made


@pytest.fixture
def watch(tmp_path: Path, fake: FakeRegistry) -> Iterator[ModelWatch]:
    text = f"mlflow: {{url: '{fake.url}'}}\noci: {{'reg.example': {{url: '{fake.url}'}}}}\n"
    with watching(tmp_path, f"{text}deadline: 1s\nevery: 100ms\n") as made:
        yield made


@pytest.fixture
def rig(tmp_path: Path, watch: ModelWatch) -> Iterator[Rig]:
    schedules = SchedulesKeeper(watch.latest, partial(image_now, watch))
    made = Rig(tmp_path / "home", lambda: [schedules, ModelsKeeper(watch)])
    yield made
    made.ledger.close()


@pytest.fixture
def told(context: ServerContext, watch: ModelWatch) -> ServerContext:
    context.find_model, context.model_now = watch.resolve, watch.found
    return context


def row_of(client: TestClient) -> dict[str, object]:
    (found,) = client.get("/api/v1/models").json()["items"]
    return dict(found)


def alarm(client: TestClient) -> str:
    return str(client.get("/api/v1/workloads/chat").json()["alarms"].get("model.moved", ""))


def test_an_alias_that_moves_is_proposed_and_taken_when_a_person_says_so(
    client: TestClient, told: ServerContext, fake: FakeRegistry, rig: Rig
) -> None:
    assert client.post("/api/v1/workloads", json=BODY).status_code == 201
    until(lambda: row_of(client)["moved"] is False)
    fake.aliases["champion"] = 4
    said = _proposed(rig, client)
    assert "models:/chat@champion is models:/chat/4 now, and it has models:/chat/3" in said
    assert "ganglion models update chat" in said
    row = row_of(client)
    assert (row["moved"], row["outdated"]) == (True, 0)
    made = client.post("/api/v1/workloads/chat/model", json={})
    assert made.json()["model"]["uri"] == "models:/chat/4"
    until(lambda: row_of(client)["moved"] is False)
    again = client.post("/api/v1/workloads/chat/model", json={})
    assert (again.status_code, again.json()["code"]) == (409, "state.conflict")
    back = client.post("/api/v1/workloads/chat/model", json={"back": True})
    assert back.json()["model"]["uri"] == "models:/chat/3"
    both = client.post("/api/v1/workloads/chat/model", json={"back": True, "to": ALIAS})
    assert both.status_code == 422
    wrong = client.post("/api/v1/workloads/chat/model", json={"to": "chat"})
    assert "no reference to a model" in wrong.json()["detail"]


def test_a_folder_that_changes_is_proposed_by_its_digest_and_has_no_way_back(
    client: TestClient, told: ServerContext, rig: Rig, tmp_path: Path
) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "w").write_bytes(b"1")
    body = BODY | {"model": folder.as_uri()}
    assert client.post("/api/v1/workloads", json=body).status_code == 201
    own = client.get("/api/v1/workloads/chat").json()["model"]["digest"]
    until(lambda: row_of(client)["moved"] is False)
    (folder / "w").write_bytes(b"2")
    said = _proposed(rig, client)
    assert said.startswith(f"{folder.as_uri()} is sha256:")
    assert f" now, and it has {own}: ganglion models update chat" in said
    made = client.post("/api/v1/workloads/chat/model", json={}).json()
    assert (made["model"]["uri"], made["model"]["digest"] == own) == (folder.as_uri(), False)
    back = client.post("/api/v1/workloads/chat/model", json={"back": True})
    assert (back.status_code, back.json()["code"]) == (409, "state.conflict")
    assert f"but not {own} any more" in back.json()["detail"]


def _proposed(rig: Rig, client: TestClient) -> str:
    """The proposal, once the keeper has looked: the world's clock stands still."""

    def look() -> str:
        rig.machine.time += 1_000
        return alarm(client)

    return until(look)


def test_a_registry_that_fails_proposes_nothing_and_says_so(
    client: TestClient, told: ServerContext, fake: FakeRegistry
) -> None:
    client.post("/api/v1/workloads", json=BODY)
    until(lambda: row_of(client)["moved"] is False)
    fake.status = 500
    until(lambda: "HTTP 500" in str(row_of(client)["trouble"]))
    assert row_of(client)["moved"] is False
    assert client.post("/api/v1/workloads/chat/model", json={}).status_code == 503
    assert alarm(client) == ""


def test_an_answer_to_an_earlier_question_does_not_take_the_place_of_a_later_one(
    watch: ModelWatch, fake: FakeRegistry
) -> None:
    watch.want(frozenset({ALIAS}))
    until(lambda: watch.latest(ALIAS))
    found = watch.found(ALIAS)
    assert found
    assert found.model
    watch._note(ALIAS, type(found)(found.asked - 60, 0, None, "late"))
    after = watch.found(ALIAS)
    assert after
    assert after.trouble == ""
    asyncio.run(watch.resolve("models:/chat/4"))
    assert watch.found("models:/chat/4") is None
    watch.want(frozenset())
    assert watch.found(ALIAS) is None


def test_a_run_of_a_schedule_has_what_its_reference_means_then(
    client: TestClient, told: ServerContext, fake: FakeRegistry, rig: Rig, watch: ModelWatch
) -> None:
    body = {"name": "nightly", "run": "eval", "model": ALIAS, "schedule": {"cron": "* * * * *"}}
    assert client.post("/api/v1/workloads", json=body).status_code == 201
    fake.aliases["champion"] = 5
    until(lambda: (found := watch.latest(ALIAS)) and found.version == "5")
    rig.machine.time += 60_000
    until(lambda: client.get("/api/v1/models").json()["items"])
    assert client.get("/api/v1/workloads/nightly").json()["model"]["uri"] == "models:/chat/5"


@pytest.mark.parametrize(
    ("image", "recorded"),
    [
        ("reg.example/team/chat:v3", f"reg.example/team/chat:v3@{DIGEST}"),
        ("ubuntu", "ubuntu (unresolved: no registry docker.io is known to this server, for"),
        ("Not an image", "Not an image (unresolved: it is no name of an image in a registry)"),
        (f"reg.example/chat@{DIGEST}", f"reg.example/chat@{DIGEST}"),
    ],
)
def test_a_run_of_a_schedule_is_recorded_with_what_its_image_is_then(
    client: TestClient, rig: Rig, watch: ModelWatch, image: str, recorded: str
) -> None:
    asked = watched_as(image)
    body = {"name": "nightly", "run": "eval", "image": image, "schedule": {"cron": "* * * * *"}}
    assert client.post("/api/v1/workloads", json=body).status_code == 201
    if asked:
        until(lambda: watch.found(asked))
    rig.machine.time += 60_000
    until(lambda: client.get("/api/v1/workloads").json()["items"])
    (event,) = [each for each in rig.ledger.replay() if isinstance(each, GangSubmitted)]
    assert event.image.startswith(recorded)
