"""Notices to people, read from the ledger."""

import json
from pathlib import Path

import pytest

from ganglion.model.errors import FileError
from ganglion.server.notify import notifier as notifying
from ganglion.server.notify.notifier import Notifier
from ganglion.server.notify.settings import NotifySettings, WatchedSettings
from tests.server.conftest import Rig

TO = "ada@example.org"


def collected(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> tuple[Notifier, list[tuple[str, str]]]:
    """A notifier whose notices are noted, not sent."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(notifying, "send", lambda n, *_: sent.append((n.workload, n.event)))
    made = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    return made, sent


def test_a_preemption_is_told_and_a_workload_that_does_not_ask_is_not(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifier, sent = collected(rig, monkeypatch)
    notify = {"on": ["preemption", "start"], "mail": TO}
    for name in ("a", "b"):
        rig.submit(name, resources={"gpus": 8}, priority=10, notify=notify if name == "a" else None)
    rig.turn(3)
    for name in ("c", "d"):
        rig.submit(name, resources={"gpus": 8}, priority=90)
    rig.turn(6)
    notifier._gather()
    notifier._deliver()
    assert sent == [("a-1", "start"), ("a-1", "preemption")]


def test_the_past_is_not_told_and_the_queue_is_bounded(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.submit("old", notify=TO)
    rig.turn(3)
    rig.machine.end("old-1/0")
    rig.turn(2)
    notifier, sent = collected(rig, monkeypatch)
    monkeypatch.setattr(notifying, "MOST", 2)
    for n in range(3):
        workload = rig.submit(f"new{n}", notify=TO)
        rig.turn(2)
        rig.machine.end(f"{workload}/0")
        rig.turn(2)
    notifier._gather()
    notifier._deliver()
    assert sent == [("new1-3", "end"), ("new2-4", "end")]
    assert "dropped" in notifier.failures("new0-2")
    kept = json.loads((rig.home.root / "notify.json").read_text())
    assert (kept["pending"], kept["seq"]) == ([], rig.ledger.head)


def test_the_settings_are_read_when_they_have_changed(tmp_path: Path) -> None:
    watched = WatchedSettings(tmp_path)
    assert watched.read() == NotifySettings()
    file = tmp_path / "notify.yaml"
    file.write_text("commands: true")
    first = watched.read()
    assert first.commands
    assert watched.read() is first
    file.write_text("commands: maybe")
    for _ in range(2):
        with pytest.raises(FileError, match=r"notify\.yaml"):
            watched.read()
    file.unlink()
    assert watched.read() == NotifySettings()
