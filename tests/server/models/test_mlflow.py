"""An alias in a real registry of MLflow: kept at a submit, moved, taken, given back."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from fastapi.testclient import TestClient

from ganglion.api.reasons import ModelKept
from ganglion.model.errors import ModelRegistryDown
from ganglion.model.events import GangSubmitted, ModelUpdated
from ganglion.model.workload import ResolvedModel
from ganglion.server.controllers.services import ServicesController
from ganglion.server.models.cache.cache import ModelCache
from ganglion.server.models.keeper import ModelsKeeper
from ganglion.server.models.watch import ModelWatch
from ganglion.server.requests.context import ServerContext
from ganglion.server.signals.loads import Loads
from ganglion.server.signals.router_link import Door
from ganglion.server.signals.scraper import Scraper
from ganglion.specs.grammar.rules.models import reference_of
from tests.mlflow.server import MlflowServer, mlflow_server
from tests.server.conftest import Rig
from tests.server.models.registry import fake_registry, watching
from tests.server.models.test_cache import content, fetched
from tests.server.models.weights import CARD, WEIGHTS, caching
from tests.server.process import until
from tests.server.services import FakeDoor, FakeScraper

ALIAS = "models:/chat@champion"
BODY = {"name": "chat", "run": "serve", "kind": "service", "port": 8000, "model": ALIAS}


FILES = {"MLmodel": CARD, "data/w 1%.bin": WEIGHTS, "data/code/__init__.py": b""}

pytestmark = pytest.mark.xdist_group("mlflow")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowServer]:
    with mlflow_server(tmp_path_factory.mktemp("mlflow")) as made:
        yield made


@pytest.fixture
def watch(tmp_path: Path, registry: MlflowServer) -> Iterator[ModelWatch]:
    with watching(tmp_path, f"mlflow: {{url: '{registry.url}'}}\nevery: 200ms\n") as made:
        yield made


@pytest.fixture
def rig(tmp_path: Path, watch: ModelWatch) -> Iterator[Rig]:
    loads = Loads(cast("Scraper", FakeScraper()))
    services = ServicesController(cast("Door", FakeDoor()), loads)
    made = Rig(tmp_path / "home", lambda: [services, ModelsKeeper(watch)])
    yield made
    made.ledger.close()


def test_an_alias_of_mlflow_is_kept_proposed_when_it_moves_taken_and_given_back(
    client: TestClient, context: ServerContext, registry: MlflowServer, watch: ModelWatch, rig: Rig
) -> None:
    context.find_model, context.model_now = watch.resolve, watch.found
    registry.register("chat")
    first, second = registry.version("chat"), registry.version("chat")
    assert (first, second) == ("1", "2")
    unknown = client.post("/api/v1/workloads", json=BODY)
    assert unknown.status_code == 422
    assert "champion" in unknown.json()["detail"]
    registry.alias("chat", "champion", first)
    resources = {"resources": {"gpus": 1}, "replicas": 2}
    assert client.post("/api/v1/workloads", json=BODY | resources).status_code == 201
    model = client.get("/api/v1/workloads/chat").json()["model"]
    assert (model["uri"], model["version"]) == ("models:/chat/1", first)
    assert model["digest"].startswith("record-sha256:")

    registry.alias("chat", "champion", second)
    said = until(lambda: _later(rig, client)["alarms"].get("model.moved"))
    assert "models:/chat@champion is models:/chat/2 now, and it has models:/chat/1" in said
    assert _running(rig) == ["1", "1"]

    taken = client.post("/api/v1/workloads/chat/model", json={})
    assert taken.json()["model"]["uri"] == "models:/chat/2"
    until(lambda: _later(rig, client) and _running(rig) == ["2", "2"])
    back = client.post("/api/v1/workloads/chat/model", json={"back": True})
    assert back.json()["model"] == model, "the record of MLflow has the same digest as before"
    until(lambda: _later(rig, client) and _running(rig) == ["1", "1"])

    events = list(rig.ledger.replay())
    updates = [each for each in events if isinstance(each, ModelUpdated)]
    assert [(each.before.version, each.after.version) for each in updates] == [
        ("1", "2"),
        ("2", "1"),
    ]
    digests = {
        (each.gang.model.uri, each.gang.model.digest)
        for each in events
        if isinstance(each, GangSubmitted) and each.gang.model
    }
    assert len(digests) == 2, "one digest for each version, whichever replica has it"


def _resolved(cache: ModelCache, reference: str) -> ResolvedModel:
    return asyncio.run(cache._resolver.resolve(reference))


def test_a_version_is_kept_as_it_was_logged_until_it_is_gone_or_made_anew(
    tmp_path: Path, registry: MlflowServer
) -> None:
    registry.register("kept")
    first = registry.version("kept", FILES)
    registry.alias("kept", "champion", first)
    with fake_registry() as fake, caching(tmp_path / "home", fake, mlflow=registry.url) as cache:
        model = _resolved(cache, "models:/kept@champion")
        size = len(WEIGHTS) + len(CARD)
        assert fetched(cache, model) == ModelKept("cached", size, size)
        assert content(cache.path_of(model)) == FILES

        second = _resolved(cache, f"models:/kept/{registry.version('kept', FILES)}")
        registry.delete("kept", "2")
        assert "models:/kept/2 is not there" in fetched(cache, second).trouble
        registry.delete("kept")
        registry.register("kept")
        assert [registry.version("kept", FILES) for _ in "12"] == ["1", "2"]
        cache.want([])
        assert "models:/kept/2 is another one by now than record-" in fetched(cache, second).trouble
        assert content(cache.path_of(model)) == FILES, "what is kept stays as it was"


def test_a_break_is_gone_on_after_where_it_was(tmp_path: Path, registry: MlflowServer) -> None:
    registry.register("breaks")
    version = registry.version("breaks", {"w.bin": WEIGHTS})
    came: list[int] = []

    async def arrived(_at: int, new: int) -> None:
        came.append(new)
        if len(came) == 2:
            raise ModelRegistryDown("the line broke")

    async def fetch(cache: ModelCache) -> None:
        wanted = reference_of(f"models:/breaks/{version}")
        source, model = (
            cache._resolver.source(str(wanted)),
            await cache._resolver.resolve(str(wanted)),
        )
        (file,) = await source.contents(wanted, model)
        part, to = tmp_path / "part", tmp_path / "w.bin"
        await cache._download.fetch(file, lambda: source.request(wanted, file), part, to, arrived)

    with fake_registry() as fake, caching(tmp_path / "home", fake, mlflow=registry.url) as cache:
        asyncio.run(fetch(cache))
    assert (tmp_path / "w.bin").read_bytes() == WEIGHTS
    assert sum(came) == len(WEIGHTS), "no byte came twice"


def test_a_version_is_kept_from_a_bucket_and_from_a_folder_of_this_machine(
    tmp_path: Path, registry: MlflowServer
) -> None:
    registry.register("elsewhere")
    here = tmp_path / "shared"
    here.mkdir()
    versions = [registry.version("elsewhere", source=each) for each in ("s3://bucket/m", str(here))]
    places = [registry.source("elsewhere", each) for each in versions]
    folder = Path(places[1].removeprefix("file://"))
    assert folder.is_relative_to(here)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "w.bin").write_bytes(WEIGHTS)
    with fake_registry() as fake, caching(tmp_path / "home", fake, mlflow=registry.url) as cache:
        key = places[0].removeprefix("s3://bucket/") + "/w.bin"
        fake.files[f"/bucket/{key}"] = ({"ETag": '"e1"'}, WEIGHTS)
        fake.objects = [f"{key} {len(WEIGHTS)} e1"]
        for each in versions:
            model = _resolved(cache, f"models:/elsewhere/{each}")
            assert fetched(cache, model).state == "cached"
            assert content(cache.path_of(model)) == {"w.bin": WEIGHTS}


def _later(rig: Rig, client: TestClient) -> dict[str, dict[str, str]]:
    """The service, after some time of the world."""
    rig.machine.time += 500
    found: dict[str, dict[str, str]] = client.get("/api/v1/workloads/chat").json()
    return found


def _running(rig: Rig) -> list[str]:
    """Versions of the replicas that run and do not drain."""
    with rig.service.read() as mind:
        left = [each for each, _ in rig.machine.live if each not in mind.book.replicas.draining]
        gangs = [mind.state.gangs.records[each].gang for each in left]
    return sorted(gang.model.version for gang in gangs if gang.model)
