"""`ganglion doctor` finds what commonly goes wrong, with the server up or down."""

import json
import os
import resource
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import FakeServer, Ganglion

from ganglion import __version__
from ganglion.cli.server import checkup, checkup_server
from ganglion.ledger.ledger import Ledger

SECRET = "s3cr3t-value"
NO_PID = 2**22 + 1
"""Beyond the largest number of a process."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home as `ganglion up` makes it, on a machine without proxies."""
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    (made / "token").write_text(SECRET)
    (made / "token").chmod(0o600)
    monkeypatch.setenv("GANGLION_HOME", str(made))
    for name in (*checkup.PROXIES, "NO_PROXY", "GANGLION_URL", "GANGLION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return made


def found(ganglion: Ganglion) -> tuple[int, dict[str, dict[str, Any]]]:
    done = ganglion("doctor", "-o", "json")
    assert SECRET not in done.out + done.err
    rows = json.loads(done.out)
    assert all(row["hint"] for row in rows if row["status"] != "ok")
    return done.code, {row["check"]: row for row in rows}


def test_a_sound_home_without_a_server(ganglion: Ganglion, home: Path) -> None:
    code, rows = found(ganglion)
    assert code == 0
    assert rows["home"]["status"] == rows["ledger"]["status"] == rows["python"]["status"] == "ok"
    assert (rows["server"]["message"], rows["server"]["hint"]) == ("none is running", "ganglion up")
    expected = {"proxies", "disk", "open files", "shared memory", "cgroups", "gpus", "port"}
    assert expected <= set(rows)


@pytest.mark.parametrize(
    ("record", "status", "said"),
    [
        ({"url": "http://127.0.0.1:1", "host": "127.0.0.1"}, "", ""),
        ({"url": "http://127.0.0.1:1"}, "", ""),
        ({"url": "https://127.0.0.1:1", "host": "0.0.0.0"}, "ok", "0.0.0.0, with TLS"),
        ({"url": "http://192.0.2.7:1", "host": "192.0.2.7"}, "warn", "a proxy has to speak it"),
    ],
)
def test_who_reaches_the_server_is_said(
    ganglion: Ganglion, home: Path, record: dict[str, str], status: str, said: str
) -> None:
    (home / "server.json").write_text(json.dumps({"pid": os.getpid(), **record}))
    _, rows = found(ganglion)
    row = rows.get("server: address", {"status": "", "message": ""})
    assert row["status"] == status
    assert said in row["message"]


def test_lines_fit_eighty_columns(
    ganglion: Ganglion, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.chmod(0o755)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@proxy:3128")
    done = ganglion("doctor")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "warn  home" in done.out
    assert SECRET not in done.out


def test_a_home_that_others_may_read(ganglion: Ganglion, home: Path) -> None:
    (home / "token").chmod(0o644)
    _, rows = found(ganglion)
    assert rows["home"]["status"] == "warn"
    assert "token" in rows["home"]["message"]
    assert rows["home"]["hint"] == f"chmod -R go= {home}"


def test_a_home_that_cannot_be_written(
    ganglion: Ganglion, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    code, rows = found(ganglion)
    assert (code, rows["home"]["status"]) == (1, "fail")


def test_a_server_that_died_without_a_word(ganglion: Ganglion, home: Path) -> None:
    record = {"pid": NO_PID, "url": "http://127.0.0.1:9", "started_ms": 1}
    (home / "server.json").write_text(json.dumps(record))
    _, rows = found(ganglion)
    assert rows["server"]["status"] == "warn"
    assert rows["server"]["message"] == f"server.json names process {NO_PID}, which is gone"


def test_a_record_that_is_none(ganglion: Ganglion, home: Path) -> None:
    (home / "server.json").write_text("{")
    code, rows = found(ganglion)
    assert (code, rows["server"]["status"]) == (1, "fail")
    assert "remove the file" in rows["server"]["hint"]


def test_a_server_that_lives_and_does_not_answer(ganglion: Ganglion, home: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        record = {"pid": os.getpid(), "url": url, "started_ms": 1}
        (home / "server.json").write_text(json.dumps(record))
        code, rows = found(ganglion)
    assert (code, rows["server"]["status"]) == (1, "fail")


def test_a_running_server_tells_its_checks(
    ganglion: Ganglion, home: Path, server: FakeServer
) -> None:
    record = {"pid": os.getpid(), "url": "http://127.0.0.1:7077", "started_ms": 1}
    (home / "server.json").write_text(json.dumps(record))
    server.on("GET /version", {"version": "0.0.9"}, {"version": __version__})
    checks = [
        {"name": "ledger", "status": "fail", "message": "the disk is full"},
        {"name": "set_apart", "status": "warn", "message": "a-1/0 (seek: broken)"},
    ]
    server.on("GET /readyz", {"status": "ok", "trouble": "", "checks": checks})
    code, rows = found(ganglion)
    assert code == 1
    assert rows["server"]["message"] == f"it is version 0.0.9, this command {__version__}"
    assert rows["server: ledger"]["status"] == "fail"
    assert rows["server: set_apart"]["message"] == "a-1/0 (seek: broken)"
    _, rows = found(ganglion)
    assert rows["server"]["status"] == "ok"


def test_a_port_that_is_taken(
    ganglion: Ganglion, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(checkup_server, "PORT", taken.getsockname()[1])
        _, rows = found(ganglion)
    assert (rows["port"]["status"], "is in use" in rows["port"]["message"]) == ("warn", True)


def test_ledgers_sound_damaged_and_from_the_future(ganglion: Ganglion, home: Path) -> None:
    path = home / "ledger.db"
    Ledger.open(path).close()
    path.chmod(0o600)
    _, rows = found(ganglion)
    assert rows["ledger"]["message"].startswith("0 events")
    with closing(sqlite3.connect(path)) as opened, opened:
        opened.execute("INSERT INTO cycles VALUES (1, 9, 1)")
        columns = [row[1] for row in opened.execute("PRAGMA table_info(events)")]
        late = {"seq": 1, "at": 4_000_000_000_000, "cycle": 1, "kind": "x"}
        values = [late.get(name, b"") for name in columns]
        opened.execute(f"INSERT INTO events VALUES ({','.join('?' * len(values))})", values)
    _, rows = found(ganglion)
    assert (rows["clock"]["status"], rows["ledger"]["message"][:8]) == ("warn", "1 events")
    path.write_bytes(b"no database at all" * 100)
    code, rows = found(ganglion)
    assert (code, rows["ledger"]["status"]) == (1, "fail")


def test_proxies_that_catch_loopback_are_named_without_their_passwords(
    ganglion: Ganglion, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", f"http://me:{SECRET}@proxy:3128")
    _, rows = found(ganglion)
    assert rows["proxies"]["status"] == "warn"
    assert rows["proxies"]["message"].startswith("HTTPS_PROXY also catches localhost")
    monkeypatch.setenv("NO_PROXY", "localhost, 127.0.0.1")
    _, rows = found(ganglion)
    assert rows["proxies"]["status"] == "ok"


def test_variables_that_lead_elsewhere_are_named(
    ganglion: Ganglion, home: Path, monkeypatch: pytest.MonkeyPatch, server: FakeServer
) -> None:
    monkeypatch.setenv("GANGLION_URL", f"http://{SECRET}:1")
    _, rows = found(ganglion)
    assert rows["variables"]["hint"] == "unset GANGLION_URL"


def test_few_open_files_and_little_disk(
    ganglion: Ganglion, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (256, 1024))
    monkeypatch.setattr(checkup, "LEAST_FREE", 1 << 60)
    code, rows = found(ganglion)
    assert (rows["open files"]["status"], rows["disk"]["status"]) == ("warn", "warn")
    monkeypatch.setattr(checkup, "NO_ROOM", 1 << 59)
    code, rows = found(ganglion)
    assert (code, rows["disk"]["status"]) == (1, "fail")


def test_a_check_that_fails_by_itself_stops_no_other(
    ganglion: Ganglion, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("odd")

    monkeypatch.setattr(checkup, "CHECKS", (broken, checkup.python))
    done = ganglion("doctor", "-o", "json")
    rows = {row["check"]: row for row in json.loads(done.out)}
    assert rows["broken"]["message"] == "could not be checked: ValueError: odd"
    assert rows["python"]["status"] == "ok"
