"""Models of gangs that wait with a place of their own lie on the machine before these start."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from msgspec.structs import replace

from ganglion.model.events import PolicySet
from ganglion.model.fleet.node import Node
from ganglion.model.policy import Future, Policy
from ganglion.model.workload import ResolvedModel, UnixAccount
from ganglion.server.commands import live
from ganglion.server.commands.submission import submit
from ganglion.server.models.cache.cache import ModelCache
from ganglion.server.models.cache.keeper import CacheKeeper
from ganglion.server.models.resolver import ModelResolver
from ganglion.server.requests.context import ServerContext
from tests.server.conftest import NODES, Rig
from tests.server.models.registry import COMMIT, FakeRegistry, fake_registry
from tests.server.models.weights import CARD, HF, WEIGHTS, caching, hub, tracked
from tests.server.process import until

MIB = 3
BIG = 3 * WEIGHTS
DECLARED = {"git:other": 7}


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        hub(made, {"README.md": CARD, "w.bin": BIG})
        yield made


@pytest.fixture
def cache(tmp_path: Path, fake: FakeRegistry) -> Iterator[ModelCache]:
    with caching(tmp_path / "owner", fake) as made:
        yield made


@pytest.fixture
def rig(tmp_path: Path, cache: ModelCache) -> Iterator[Rig]:
    declared = (replace(NODES[0], holds=DECLARED), NODES[1])
    made = Rig(tmp_path / "home", lambda: [CacheKeeper(cache, declared)])
    yield made
    made.ledger.close()


def submitted(
    rig: Rig, name: str, gpus: int, model: ResolvedModel | None = None, **more: Any
) -> str:
    """A workload of one pod with a time limit, which names a model."""
    account = more.pop("account", None)
    data = {"name": name, "run": "true", "resources": {"gpus": gpus}, "time_limit": "1h", **more}
    request = submit.checked(data, user="ada", key="", digest=name, force=False)
    request = replace(request, model=model, account=account)
    return str(rig.do(lambda draft: submit.submit(draft, request)).id)


def turned(rig: Rig) -> bool:
    """A second passes."""
    rig.machine.time += 1_000
    rig.turn()
    return True


def state_of(cache: ModelCache, model: ResolvedModel = HF) -> str:
    reading = cache.reading(model)
    return reading.state if reading else ""


def filled(rig: Rig) -> list[str]:
    """Both nodes are full."""
    now = Policy(future=Future(patience_permille=0))
    rig.do(lambda draft: draft.record(PolicySet(draft.now, now)))
    made = [submitted(rig, f"full{number}", 8) for number in range(2)]
    rig.turn()
    return made


@pytest.mark.parametrize("is_tracked", [False, True])
def test_a_gang_that_waits_with_a_place_has_its_model_there_before_it_starts(
    rig: Rig, cache: ModelCache, fake: FakeRegistry, is_tracked: bool
) -> None:
    model = tracked(fake, {"MLmodel": CARD, "w.bin": BIG}) if is_tracked else HF
    full = filled(rig)
    waits = submitted(rig, "chat", 8, model)
    until(lambda: turned(rig) and state_of(cache, model) == "cached")
    until(lambda: turned(rig) and all(model.digest in each.holds for each in nodes(rig)))
    assert [dict(each.holds) for each in nodes(rig)] == [
        DECLARED | {model.digest: MIB},
        {model.digest: MIB},
    ]
    assert rig.state(waits) == "QUEUED"
    asked = len(fake.asked)
    rig.machine.end(f"{full[0]}/0")
    until(lambda: turned(rig) and rig.state(waits) == "RUNNING")
    assert (bool(cache.path_of(model)), len(fake.asked)) == (True, asked)
    rig.machine.end(f"{waits}/0")
    turned(rig)
    assert state_of(cache, model) == "cached"


def test_a_gang_without_a_place_or_with_an_account_that_is_not_let_in_fetches_nothing(
    rig: Rig, cache: ModelCache, fake: FakeRegistry
) -> None:
    filled(rig)
    submitted(rig, "never", 8, replace(HF, uri=f"hf://org/never@{COMMIT}"), hold=True)
    theirs = submitted(rig, "theirs", 8, HF, account=UnixAccount("eve", 12345))
    turned(rig)
    assert (with_place(rig), cache._wanted) == ([theirs], {})
    theirs_kept = cache.reading(HF, UnixAccount("eve", 12345))
    assert theirs_kept
    assert (theirs_kept.state, "server's account alone" in theirs_kept.trouble) == ("off", True)
    rig.do(lambda draft: live.cancel(draft, theirs, "ada"))
    other = replace(HF, uri="file:///models/chat", digest="sha256:0")
    last = submitted(rig, "local", 8, other)
    turned(rig)
    assert (with_place(rig), cache._wanted, fake.asked) == ([last], {}, [])
    assert state_of(cache, other) == "local"


def test_a_gang_that_others_leave_for_has_its_model_fetched_meanwhile(
    rig: Rig, cache: ModelCache
) -> None:
    filled(rig)
    rig.machine.lingering = True
    waits = submitted(rig, "urgent", 8, HF, priority=90)
    until(lambda: turned(rig) and state_of(cache) == "cached")
    with rig.service.read() as mind:
        assert [*mind.state.holdings.promised] == [f"{waits}/0"]
    rig.machine.leave()
    until(lambda: turned(rig) and rig.state(waits) == "RUNNING")


def test_a_start_waits_for_no_model_and_ends_the_fetching(
    rig: Rig, cache: ModelCache, fake: FakeRegistry
) -> None:
    fake.silent_after = True
    full = filled(rig)
    waits = submitted(rig, "chat", 8, HF)
    turned(rig)
    assert fake.begun.wait(10)
    rig.machine.end(f"{full[0]}/0")
    until(lambda: turned(rig) and rig.state(waits) == "RUNNING")
    assert cache.path_of(HF) == ""
    fake.leave.set()
    until(lambda: turned(rig) and state_of(cache) == "absent")


def test_people_see_whether_a_model_lies_there(
    client: TestClient, context: ServerContext, cache: ModelCache, fake: FakeRegistry, rig: Rig
) -> None:
    (context.home.root / "models.yaml").write_text(f"hf: {{url: '{fake.url}'}}")
    fake.files["/api/models/org/repo/revision/main"] = fake.files[
        f"/api/models/org/repo/revision/{COMMIT}"
    ]
    context.find_model = ModelResolver(context.home.root).resolve
    body = {"name": "chat", "run": "true", "model": "hf://org/repo@main", "hold": True}
    assert client.post("/api/v1/workloads", json=body).status_code == 201

    def seen() -> list[object]:
        (row,) = client.get("/api/v1/models").json()["items"]
        return [row["kept"], client.get("/api/v1/workloads/chat").json()["model_kept"]]

    assert seen() == [None, None]
    context.model_kept, context.model_store = cache.reading, cache.store
    store = client.get("/api/v1/models").json()["store"]
    assert (store["limit"], store["trouble"], store["models"]) == (0, "", [])
    assert seen() == 2 * [{"state": "absent", "bytes": 0, "of": 0, "trouble": ""}]


def with_place(rig: Rig) -> list[str]:
    """Workloads that wait with a place that is reserved for them."""
    with rig.service.read() as mind:
        return [e.record.gang.workload for e in mind.state.timeline.future.reservations()]


def nodes(rig: Rig) -> list[Node]:
    with rig.service.read() as mind:
        return [*mind.state.fleet.nodes.values()]
