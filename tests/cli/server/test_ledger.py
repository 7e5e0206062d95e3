"""`ganglion ledger`: offline, on a home or another database."""

import json
import sqlite3
from pathlib import Path

import pytest
import structlog
from tests.cli.harness import Ganglion

from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.events import NodeAdded, NodeLost
from ganglion.model.fleet.node import Node


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("GANGLION_HOME", str(folder))
    ledger = Ledger.open(folder / "ledger.db")
    ledger.append(Batch(1, [NodeAdded(1, Node(f"n{each}", 1_000, 1_024)) for each in range(3)]))
    ledger.append(Batch(2, [NodeLost(2, "n1")]))
    ledger.close()
    return folder


def test_a_sound_ledger_is_called_that(ganglion: Ganglion, home: Path) -> None:
    done = ganglion("ledger", "verify")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == f"{home / 'ledger.db'}: 4 events, head 4"
    assert lines[-1] == "sound"


def test_an_edited_row_is_named_and_the_exit_code_says_so(ganglion: Ganglion, home: Path) -> None:
    with sqlite3.connect(home / "ledger.db") as raw:
        raw.execute(
            "UPDATE events SET body = replace(CAST(body AS TEXT), 'n1', 'n2') WHERE seq = 4"
        )
    raw.close()
    done = ganglion("ledger", "verify", "-o", "json")
    found = json.loads(done.out)
    assert (done.code, found["sound"]) == (1, False)
    (flaw,) = found["flaws"]
    assert (flaw["seq"], flaw["kind"]) == (4, "node_lost")
    assert "checksum" in flaw["problem"]
    assert "event 4 node_lost: the checksum does not fit" in ganglion("ledger", "verify").out


def test_a_home_moves(
    ganglion: Ganglion, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ledger.jsonl.gz"
    assert ganglion("ledger", "export", str(file)).code == 0
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "other"))
    assert "4 events read" in ganglion("ledger", "import", str(file)).out
    assert ganglion("ledger", "verify").code == 0
    again = ganglion("ledger", "import", str(file))
    assert again.code == 1
    assert "is not empty" in again.err


def test_a_backup_is_a_ledger(ganglion: Ganglion, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    assert ganglion("ledger", "backup", str(file)).code == 0
    assert ganglion("ledger", "verify", "--db", str(file)).out.endswith("sound\n")


def test_a_home_without_a_ledger_is_named(
    ganglion: Ganglion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "none"))
    done = ganglion("ledger", "verify")
    assert done.code == 1
    assert "there is no ledger" in done.err
    with structlog.testing.capture_logs() as logged:
        structlog.get_logger().warning("logs are quiet only while a ledger is read")
    assert len(logged) == 1
