"""`ganglion audit`: offline, on a home or a file."""

import json
from pathlib import Path

import httpx2
import pytest
from tests.audit.trail import cut, lines_of, signed, write
from tests.cli.harness import FakeServer, Ganglion, refusal

from ganglion.audit.folder import AuditFolder
from ganglion.ledger.ledger import Ledger


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("GANGLION_HOME", str(folder))
    signed(folder, 2, 3)
    ledger = Ledger.open(folder / "ledger.db")
    write(ledger, 1)
    ledger.close()
    return folder


def test_an_export_verifies_where_the_home_is_not(
    ganglion: Ganglion, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "audit.jsonl"
    assert ganglion("audit", "export", str(file)).code == 0
    assert file.stat().st_mode & 0o077 == 0
    assert ganglion("audit", "export", str(file)).code == 1  # it is there
    own = ganglion("audit", "verify", str(file))
    assert (own.code, "the file itself names" in own.err) == (0, False)
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "other"))
    done = ganglion("audit", "verify", str(file))
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith(f"{file}: events 1..12 of log ")
    assert lines[1:] == [
        "2 checkpoints, signed up to event 10",
        "unsigned tail: 2 events since the last checkpoint",
        "sound",
    ]
    assert "the file itself names" in done.err
    public = home / "audit" / "public-key"
    for key in (str(public), public.read_text("utf-8").strip()):
        found = json.loads(ganglion("audit", "verify", str(file), "--key", key, "-o", "json").out)
        assert (found["sound"], found["trusted"], found["unsigned"]) == (True, True, 2)


def test_an_export_after_a_cut_names_its_minimum_index(
    ganglion: Ganglion, home: Path, tmp_path: Path
) -> None:
    cut(home, 4)
    file = tmp_path / "cut.jsonl"
    assert ganglion("audit", "export", str(file)).code == 0
    done = ganglion("audit", "verify", str(file))
    assert (done.code, "minimum index 5: events before it were cut off" in done.out) == (0, True)


def test_an_export_goes_to_the_standard_output_too(ganglion: Ganglion, home: Path) -> None:
    lines = ganglion("audit", "export", "-").out.splitlines()
    assert lines[0].startswith('{"format":2')
    assert lines[-1].startswith('{"events":12')


def test_a_changed_event_is_named_and_the_exit_code_says_so(
    ganglion: Ganglion, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "audit.jsonl"
    ganglion("audit", "export", str(file))
    text = file.read_text("utf-8")
    file.write_text(text.replace("n3000", "n3001", 1), "utf-8")
    done = ganglion("audit", "verify", str(file))
    assert done.code == 1
    lines = done.out.splitlines()
    place = lines.index("first bad record: event 5, line 7")
    assert lines[place + 1] == "event 5 does not fit its checksum: it is not as it was written"
    found = json.loads(ganglion("audit", "verify", str(file), "-o", "json").out)
    assert (found["sound"], found["flaws"][0]["seq"]) == (False, 5)


def test_the_ledger_itself_is_checked_against_an_anchor(
    ganglion: Ganglion, home: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "checkpoints"
    notes.write_text("\n".join(each.note for each in AuditFolder(home).sealed()), "utf-8")
    done = ganglion("audit", "verify", "--anchor", str(notes))
    assert (done.code, "anchored up to event 10" in done.out) == (0, True)
    ledger = Ledger.open(home / "ledger.db")
    with ledger.writing() as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE seq > 8")
    ledger.close()
    done = ganglion("audit", "verify", "--anchor", str(notes))
    assert done.code == 1
    assert "holds a checkpoint of event 10, and this ends at 8" in done.out


def test_what_cannot_be_checked_ends_with_2(ganglion: Ganglion, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "other"
    file.write_text("hello\n", "utf-8")
    for words in (
        [str(file)],
        [str(tmp_path / "none")],
        ["--key", "nonsense"],
        ["--anchor", str(file)],
    ):
        assert ganglion("audit", "verify", *words).code == 2


def test_a_home_without_a_signed_event_says_what_to_do(
    ganglion: Ganglion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path))
    Ledger.open(tmp_path / "ledger.db").close()
    done = ganglion("audit", "verify")
    assert (done.code, "nothing of this ledger was signed yet" in done.err) == (1, True)


EXPORT, ERASE = "GET /api/v1/audit/export", "POST /api/v1/users:erase"


@pytest.fixture
def elsewhere(home: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A server on another machine; what it exports. This machine has no ledger."""
    whole = b"".join(lines_of(home))
    server.on(EXPORT, httpx2.Response(200, content=whole))
    monkeypatch.setenv("GANGLION_HOME", str(home.parent / "none"))
    monkeypatch.setenv("GANGLION_URL", "https://gpu.example.org")
    monkeypatch.setenv("GANGLION_TOKEN", "gng_x")
    return whole


def test_a_server_elsewhere_is_exported_shown_and_verified(
    ganglion: Ganglion, elsewhere: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "audit.jsonl"
    assert ganglion("audit", "export", str(file)).code == 0
    assert file.read_bytes() == elsewhere
    done = ganglion("audit", "verify")
    assert (done.code, done.out.splitlines()[-1]) == (0, "sound")
    assert done.out.startswith("the server: events 1..12 of log ")
    assert "the file itself names" in done.err
    shown = ganglion("audit", "show", "--since", "all", "--kind", "node_added", "-o", "json")
    assert len(json.loads(shown.out)) == 6
    assert ganglion("audit", "placement").code == 0
    csv = ganglion("audit", "export", "--format", "csv", "-").out
    assert len(csv.splitlines()) == 13


def test_a_changed_event_of_a_server_elsewhere_is_named(
    ganglion: Ganglion, elsewhere: bytes, server: FakeServer
) -> None:
    server.on(EXPORT, httpx2.Response(200, content=elsewhere.replace(b"n3000", b"n3001")))
    done = ganglion("audit", "verify")
    assert (done.code, "first bad record: event 5, line" in done.out) == (1, True)


def test_a_refusal_of_a_server_elsewhere_leaves_no_file(
    ganglion: Ganglion, elsewhere: bytes, server: FakeServer, tmp_path: Path
) -> None:
    server.on(EXPORT, refusal(403, "access", "bob may not: audit access", "see: ganglion whoami"))
    for words in (("export", str(tmp_path / "audit.jsonl")), ("show",), ("verify",)):
        done = ganglion("audit", *words)
        assert (done.code, "bob may not: audit access" in done.err) == (1, True)
    assert not (tmp_path / "audit.jsonl").exists()


def test_a_name_is_erased_once_it_was_confirmed(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(ERASE, {"token": "p~abc", "clear": 2})
    done = ganglion("audit", "erase", "eve", "--reason", "request 7", "--yes")
    assert (done.code, done.out) == (0, "the name is erased: events show p~abc\n")
    assert "2 events of an earlier version still hold it in clear" in done.err
    assert server.bodies(ERASE) == [{"user": "eve", "reason": "request 7"}]
    done = ganglion("audit", "erase", "eve", "--reason", "request 7")
    assert (done.code != 0, "add --yes" in done.err) == (True, True)
    assert len(server.bodies(ERASE)) == 1


ANCHORS = {
    "now": 10_000_000,
    "head": 40,
    "signed": 38,
    "unsigned": 2,
    "unsigned_since": 9_990_000,
    "signs_within": 60_000,
    "late_after": 120_000,
}


@pytest.mark.parametrize(
    ("copies", "code", "said"),
    [
        ([], 0, "no anchors"),
        ([{"where": "git /srv/anchor", "events": 38, "at": 9_980_000, "behind": 2}], 0, "ok"),
        (
            [{"where": "file /a", "behind": 40, "since": 1, "late": True, "problem": "no space"}],
            1,
            "late: no space",
        ),
    ],
)
def test_a_late_anchor_is_named_and_the_exit_code_says_so(
    ganglion: Ganglion, server: FakeServer, copies: list[object], code: int, said: str
) -> None:
    server.on("GET /api/v1/audit/anchors", ANCHORS | {"items": copies})
    done = ganglion("audit", "anchors")
    assert (done.code, said in done.out + done.err) == (code, True), done
    assert "signed up to event 38 of 40" in done.err
