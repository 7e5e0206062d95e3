"""A server goes on when the engine fails over a gang or a report, and says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from ganglion.engine import cycle as cycles
from ganglion.engine.runtimes.occupants import Occupants
from ganglion.model.errors import GanglionError
from ganglion.model.events import GangUpdated
from ganglion.server.app import make_app
from ganglion.server.requests.context import ServerContext
from tests.server.conftest import Rig


class Isolated(Rig):
    """A server as in production: what the engine fails over is set apart."""

    isolate = True


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[Isolated]:
    made = Isolated(tmp_path / "home")
    yield made
    made.ledger.close()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine fails over every gang called bad."""
    seek = cycles.seek  # type: ignore[attr-defined]

    def fails(state: Any, record: Any, *rest: Any) -> Any:
        if record.gang.name == "bad":
            raise ValueError("no such luck")
        return seek(state, record, *rest)

    monkeypatch.setattr(cycles, "seek", fails)


def readiness(rig: Rig) -> tuple[int, dict[str, str]]:
    context = ServerContext(rig.service, rig.home, rig.feed, rig.metrics, "ada")
    answer = TestClient(make_app(context)).get("/readyz")
    return answer.status_code, answer.json()


def defects(rig: Rig, stage: str) -> float:
    return rig.metrics.registry.get_sample_value("ganglion_defects_total", {"stage": stage}) or 0.0


@pytest.mark.usefixtures("failing")
def test_all_others_start_and_the_bad_one_is_shown(isolated: Isolated) -> None:
    bad = isolated.submit("bad")
    good = isolated.submit("good")
    isolated.turn(2)
    assert (isolated.state(good), isolated.service.trouble) == ("RUNNING", "")
    assert isolated.state(bad) == "QUEUED"
    assert defects(isolated, "turns") == 1
    code, body = readiness(isolated)
    assert (code, body["status"]) == (200, "ok")
    assert f"{bad}/0 (turns: ValueError: no such luck)" in body["trouble"]


@pytest.mark.usefixtures("failing")
def test_it_stays_apart_after_a_crash_until_it_is_changed(isolated: Isolated) -> None:
    bad = isolated.submit("bad")
    isolated.crash()
    isolated.turn(2)
    assert defects(isolated, "turns") == 0
    with isolated.service.read() as mind:
        assert mind.state.gangs.records[f"{bad}/0"].fault
    isolated.do(lambda draft: draft.apply(GangUpdated(draft.now, f"{bad}/0", priority=60)))
    assert defects(isolated, "turns") == 1


@pytest.mark.usefixtures("failing")
def test_tests_are_strict(rig: Rig) -> None:
    with pytest.raises(GanglionError, match="no such luck"):
        rig.submit("bad")
    assert "no such luck" in rig.service.trouble
    code, body = readiness(rig)
    assert (code, body["status"]) == (503, "trouble")


def test_a_report_that_fails_stops_no_other(
    isolated: Isolated, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [isolated.submit(name) for name in ("a", "b")]
    isolated.turn()
    part = Occupants.part

    def fails(occupants: Occupants, record: Any, pods: Any) -> None:
        if record.gang.name == "a":
            raise ValueError("no such luck")
        part(occupants, record, pods)

    monkeypatch.setattr(Occupants, "part", fails)
    for name in names:
        isolated.machine.end(f"{name}/0")
    isolated.turn(2)
    assert isolated.service.trouble == ""
    assert isolated.state(names[1]) == "SUCCEEDED"
    assert defects(isolated, "events") >= 1
