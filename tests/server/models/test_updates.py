"""A service with another model: its replicas are replaced one after the other."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from ganglion.lifecycle.services import Part, Replica, rolled
from ganglion.model.errors import Conflict
from ganglion.model.events import ModelUpdated, Outcome
from ganglion.model.workload import ResolvedModel
from ganglion.server.commands.submission import submit
from ganglion.server.models.updates import update_model
from tests.server.services import BRISK, Parlour

ALIAS = "models:/chat@champion"


def version(number: int) -> ResolvedModel:
    return ResolvedModel(ALIAS, f"models:/chat/{number}", str(number), f"record-sha256:{number}")


@pytest.fixture
def parlour(tmp_path: Path) -> Iterator[Parlour]:
    made = Parlour(tmp_path / "home")
    yield made
    made.rig.ledger.close()


def serve(parlour: Parlour, replicas: str = "3", **more: object) -> None:
    document = {
        **{"name": "chat", "run": "serve", "kind": "service", "port": 8000, "model": ALIAS},
        **{"replicas": replicas, "resources": {"cpus": 1}, **more},
    }
    request = replace(submit.checked(document, user="ada"), model=version(3))
    parlour.rig.do(lambda draft: submit.submit(draft, request))
    parlour.pass_(1)


def update(parlour: Parlour, model: ResolvedModel | None, surge: int = 1) -> None:
    parlour.rig.do(lambda draft: update_model(draft, "chat", model, surge, "ada"))


def models(parlour: Parlour) -> list[str]:
    """Versions of the replicas that run and do not drain, oldest first."""
    with parlour.rig.service.read() as mind:
        draining = mind.book.replicas.draining
        gangs = [mind.state.gangs.records[each].gang for each in parlour.running()]
    return [gang.model.version for gang in gangs if gang.model and gang.id not in draining]


def watched(parlour: Parlour, seconds: float) -> list[int]:
    """How many replicas run at each time."""
    counts = []
    for _ in range(round(seconds * 10)):
        parlour.pass_(0.1)
        counts.append(len(models(parlour)))
    return counts


def test_replicas_are_replaced_within_surge_and_never_fewer_answer(parlour: Parlour) -> None:
    serve(parlour)
    assert models(parlour) == ["3", "3", "3"]
    update(parlour, version(4))
    counts = watched(parlour, 12)
    assert models(parlour) == ["4", "4", "4"]
    assert (min(counts), max(counts)) == (3, 4)
    said = {str(cause) for _, _, cause, _ in parlour.rig.machine.stops}
    assert said == {"cancelled: updated to models:/chat/4 by ada"}
    update(parlour, None)
    watched(parlour, 12)
    assert models(parlour) == ["3", "3", "3"]
    events = [each for each in parlour.rig.ledger.replay() if isinstance(each, ModelUpdated)]
    assert [(e.before.version, e.after.version, e.surge) for e in events] == [
        ("3", "4", 1),
        ("4", "3", 1),
    ]


def test_without_surge_one_goes_before_another_comes(parlour: Parlour) -> None:
    serve(parlour)
    update(parlour, version(4), surge=0)
    counts = watched(parlour, 12)
    assert models(parlour) == ["4", "4", "4"]
    assert set(counts) <= {2, 3}


def test_while_a_new_replica_does_not_answer_no_old_one_goes(parlour: Parlour) -> None:
    serve(parlour)
    parlour.door.unready = {"chat-1/3"}
    update(parlour, version(4))
    watched(parlour, 5)
    assert models(parlour) == ["3", "3", "3", "4"]
    parlour.door.unready = set()
    watched(parlour, 12)
    assert models(parlour) == ["4", "4", "4"]


def test_a_new_model_that_fails_for_good_replaces_nothing_and_is_taken_back(
    parlour: Parlour,
) -> None:
    serve(parlour, retry={"limit": 1})
    update(parlour, version(4))
    parlour.door.unready = {"chat-1/3"}
    for _ in range(2):
        parlour.pass_(1)
        parlour.rig.machine.end("chat-1/3", Outcome.FAILED, 1)
        parlour.pass_(3)
    assert models(parlour) == ["3", "3", "3"]
    assert "ganglion models update chat --back" in parlour.alarms()["model.stuck"]
    update(parlour, None)
    parlour.pass_(1)
    assert models(parlour) == ["3", "3", "3"]
    assert "model.stuck" not in parlour.alarms()


def test_a_rollout_goes_on_after_a_crash(parlour: Parlour) -> None:
    serve(parlour)
    update(parlour, version(4))
    parlour.pass_(0.5)
    parlour.rig.crash()
    watched(parlour, 12)
    assert models(parlour) == ["4", "4", "4"]


def test_load_is_followed_while_replicas_are_replaced(parlour: Parlour) -> None:
    serve(parlour, "1..4", scale={"targets": {"requests": 2}, **BRISK})
    parlour.load(0, 8, 6)
    assert models(parlour) == ["3"] * 4
    update(parlour, version(4))
    parlour.load(0, 4, 15)
    assert models(parlour) == ["4", "4"]


def test_a_service_without_replicas_wakes_with_the_new_model(parlour: Parlour) -> None:
    serve(parlour, "0..4", scale={"targets": {"requests": 2}, **BRISK})
    update(parlour, version(4))
    parlour.pass_(1)
    with parlour.rig.service.read() as mind:
        gangs = [mind.state.gangs.records[each] for each in mind.book.gangs["chat-1"]]
    held = [each.gang for each in gangs if each.gang.held and not each.ended_at]
    assert [gang.model and gang.model.version for gang in held] == ["4"]


def test_what_cannot_be_updated_is_refused(parlour: Parlour) -> None:
    serve(parlour)
    with pytest.raises(Conflict, match="has models:/chat/3 already"):
        update(parlour, version(3))
    with pytest.raises(Conflict, match="no other model"):
        update(parlour, None)
    parlour.rig.submit("job")
    parlour.rig.submit("plain", kind="service")
    for name, said in (("job", "no service"), ("plain", "names no model")):
        with pytest.raises(Conflict, match=said):
            parlour.rig.do(partial(update_model, ref=name, wanted=version(4), surge=1, user="ada"))


def test_of_replicas_that_wait_none_is_waited_for() -> None:
    replicas = [Replica("c/0", Part.ACTIVE, waits=True), Replica("c/1", Part.ACTIVE, since=5)]
    step = rolled(replicas, {"c/0", "c/1"}, {"c/1"}, 2, 1)
    assert (step.submit, step.end, step.drain) == (2, ("c/0",), ())


def test_without_surge_one_leaves_as_one_comes() -> None:
    replicas = [Replica(f"c/{n}", Part.ACTIVE, since=n) for n in range(3)]
    old = {each.gang for each in replicas}
    step = rolled(replicas, old, old, 3, 0)
    assert (step.submit, step.drain) == (1, ("c/0",))
    left = [*replicas[1:], Replica("c/3", Part.ACTIVE, since=9)]
    assert not rolled(left, old, {"c/1", "c/2"}, 3, 0)
