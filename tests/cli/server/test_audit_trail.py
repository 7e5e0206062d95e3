"""`ganglion audit show`, `placement` and the formats of `export`, on a home and on a file."""

import json
from pathlib import Path

import pytest
from tests.audit.test_records import EU, node, place
from tests.cli.harness import Ganglion

from ganglion.audit.folder import AuditFolder
from ganglion.audit.sealing import Sealer
from ganglion.cli.output import tables
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.events import Event, GangPlaced, GangSubmitted, NodeAdded, QueueSet
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang

AT = 1_767_225_600_000
"""2026-01-01, in ms."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("GANGLION_HOME", str(folder))
    monkeypatch.setenv("TZ", "UTC")
    ledger = Ledger.open(folder / "ledger.db")
    facts: list[Event] = [
        QueueSet(AT, Queue("health")),
        NodeAdded(AT, node("gpu-node-17.eu.example.com", EU)),
        NodeAdded(AT, node("n2", {"region": "us"})),
        GangSubmitted(AT, Gang("segmentation-41/0", "segmentation-41", "health", "ada")),
    ]
    where = place(("gpu-node-17.eu.example.com", 0), ("n2", 1))
    ledger.append(Batch(AT, facts, [GangPlaced(AT, "segmentation-41/0", 1, where)]))
    Sealer(ledger, AuditFolder(folder)).seal(ledger.head, AT, ending=True)
    ledger.close()
    return folder


@pytest.fixture
def file(ganglion: Ganglion, home: Path, tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    assert ganglion("audit", "export", str(path)).code == 0
    return path


def test_what_happened_is_shown_from_the_ledger_and_from_an_export(
    ganglion: Ganglion, file: Path
) -> None:
    words = ("audit", "show", "--since", "2026-01-01", "--queue", "health")
    done = ganglion(*words, "--actor", "ada")
    assert done.code == 0
    head, line = done.out.splitlines()
    assert head.split() == ["EVENT", "TIME", "KIND", "ACTOR", "ABOUT", "WHAT"]
    assert "gang_submitted  ada" in line
    assert "to health, priority 50" in line
    found = json.loads(ganglion(*words, "--kind", "gang_placed", "-o", "json").out)
    assert [(each["seq"], each["actor"], each["policy"]) for each in found] == [(5, "scheduler", 0)]
    again = ganglion("audit", "show", str(file), *words[2:], "--kind", "gang_placed", "-o", "json")
    assert json.loads(again.out) == found
    none = ganglion(*words, "--actor", "bob")
    assert (none.code, none.out, "no event fits" in none.err) == (0, "", True)


def test_a_table_fits_eighty_columns(
    ganglion: Ganglion, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "room", lambda: 80)
    for words in (["show"], ["placement", "--must", "region=eu"]):
        lines = ganglion("audit", *words, "--since", "all").out.splitlines()
        assert len(lines) > 1
        assert max(map(len, lines)) <= 80


def test_placements_are_listed_and_a_broken_constraint_fails(
    ganglion: Ganglion, file: Path
) -> None:
    words = ("audit", "placement", "--queue", "health", "--since", "2026-01-01")
    listed = ganglion(*words)
    assert (listed.code, len(listed.out.splitlines())) == (0, 3)
    done = ganglion(*words, "--must", "region=eu")
    assert (done.code, "2 placements, 1 broke what had to hold" in done.err) == (1, True)
    assert [line.split()[-1] for line in done.out.splitlines()] == ["BROKEN", "-", "region=us"]
    assert ganglion(*words, "--must", "region=eu,us").code == 0
    of_file = ganglion(*words[:2], str(file), "--must", "region=eu", "-o", "json")
    found = json.loads(of_file.out)
    assert of_file.code == 1
    assert [each["broken"] for each in found["stays"]] == [[], ["region=us"]]
    assert ganglion(*words, "--must", "region").code == 2
    assert ganglion(*words, "--queue", "none", "--must", "region=eu").code == 0


def test_other_formats_are_exported(ganglion: Ganglion, home: Path, tmp_path: Path) -> None:
    out = ganglion("audit", "export", "--format", "csv", "-").out.splitlines()
    assert (out[0].split(",")[:3], len(out)) == (["seq", "time", "kind"], 6)
    file = tmp_path / "audit.log"
    assert ganglion("audit", "export", "--format", "syslog", str(file)).code == 0
    assert file.read_text("utf-8").startswith("<110>1 2026-01-01T00:00:00.000Z ")
    assert ganglion("audit", "show", str(file)).code == 2
