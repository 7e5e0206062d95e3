"""`ganglion policy` and `ganglion booking`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harness import NOW_S, FakeServer, Ganglion, refusal

API = "/api/v1"
NOW = NOW_S * 1000
HOUR = 3_600_000
CHANGES = [
    {"key": "evict.restart", "before": "1m", "after": "2m"},
    {"key": "queues.red", "before": None, "after": ""},
    {"key": "queues.old", "before": "", "after": None},
]
OUTCOME: dict[str, Any] = {"version": 4, "changes": CHANGES, "warnings": ["no node has B300"]}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "policy.yaml"
    path.write_text("evict: {restart: 2m}\n")
    return str(path)


def test_a_difference_is_a_line_with_its_sign(
    ganglion: Ganglion, server: FakeServer, file: str
) -> None:
    server.on(f"POST {API}/policy/check", OUTCOME)
    done = ganglion("policy", "diff", file)
    assert done.code == 0
    assert done.out.splitlines() == [
        "~ evict.restart  1m -> 2m",
        "+ queues.red",
        "- queues.old",
    ]
    assert "Warning: no node has B300" in done.err
    (body,) = server.bodies(f"POST {API}/policy/check")
    assert body == {"text": "evict: {restart: 2m}\n", "file": file}


def test_differences_are_coloured_for_people_only(
    ganglion: Ganglion, server: FakeServer, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on(f"POST {API}/policy/check", OUTCOME)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[33m~ evict" in ganglion("policy", "diff", file).out
    assert "\x1b[32m+ queues.red" in ganglion("policy", "diff", file).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in ganglion("policy", "diff", file).out


def test_a_preset_is_as_good_as_a_file(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"PUT {API}/policy", OUTCOME)
    done = ganglion("policy", "apply", "kueue", "--allow-unknown-flavors")
    assert done.out.splitlines()[-1] == "policy version 4 is in force"
    (body,) = server.bodies(f"PUT {API}/policy")
    assert body == {"text": "preset: kueue\n", "file": "", "allow_unknown_flavors": True}


def test_applying_what_is_in_force_says_so(
    ganglion: Ganglion, server: FakeServer, file: str
) -> None:
    server.on(f"PUT {API}/policy", {"version": 4, "changes": [], "warnings": []})
    assert ganglion("policy", "apply", file).out == ("nothing differs: version 4 stays in force\n")


def test_a_refusal_is_told_and_sets_the_exit_code(
    ganglion: Ganglion, server: FakeServer, file: str
) -> None:
    said = ("p.yaml:2:3: evict.restat: unknown key `restat`", "did you mean `restart`?")
    server.on(f"PUT {API}/policy", refusal(422, "input.field", *said))
    done = ganglion("policy", "apply", file)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"Error: {said[0]}\nHint: {said[1]}\n"
    done = ganglion("policy", "apply", file, "-o", "json")
    told = json.loads(done.err)
    assert len(told.pop("request")) == 32
    assert told == {"code": "input.field", "message": said[0], "hint": said[1]}


def test_checking_works_without_a_server(ganglion: Ganglion, file: str) -> None:
    done = ganglion("policy", "check", file)
    assert done.code == 0
    assert "is fine" in done.out
    assert "No server runs" in done.err
    Path(file).write_text("evict:\n  restat: 2m\n")
    done = ganglion("policy", "check", file)
    assert done.code == 2
    assert f"{file}:2:3: evict.restat: unknown key `restat`" in done.err
    assert "`restart`?" in done.err


def test_warnings_are_errors_when_asked(ganglion: Ganglion, server: FakeServer, file: str) -> None:
    server.on(f"POST {API}/policy/check", OUTCOME)
    done = ganglion("policy", "check", file)
    assert done.code == 0
    assert "3 changes: evict.restart, queues.red, queues.old" in done.out
    done = ganglion("policy", "check", file, "--strict")
    assert done.code == 2
    assert "Error: no node has B300" in done.err


def test_what_is_in_force_is_shown_in_full_or_as_it_was_written(
    ganglion: Ganglion, server: FakeServer
) -> None:
    view = {
        "version": 3,
        "at": NOW,
        "user": "ada",
        "cause": "applied",
        "text": "preset: kai # ours\n",
        "document": {"order": "fair", "evict": {"restart": "1m"}},
        "etag": '"3-x"',
    }
    server.on(f"GET {API}/policy", view)
    server.on(f"GET {API}/policy/versions/3", view)
    head = "# version 3, applied by ada at 2027-01-15 08:00:00\n"
    assert ganglion("policy", "show").out == f"{head}order: fair\nevict:\n  restart: 1m\n"
    assert ganglion("policy", "show", "3", "--source").out == f"{head}preset: kai # ours\n"
    assert json.loads(ganglion("policy", "show", "-o", "json").out) == view


def test_the_history_is_a_list_with_the_newest_first(
    ganglion: Ganglion, server: FakeServer
) -> None:
    items = [
        {"version": 1, "at": NOW, "user": "ada", "cause": "applied", "changes": CHANGES},
        {"version": 2, "at": NOW, "user": "bob", "cause": "rolled back to 0", "changes": []},
    ]
    server.on(f"GET {API}/policy/versions", {"items": items})
    lines = ganglion("policy", "history").out.splitlines()
    assert lines[1].split()[0] == "2"
    assert lines[2].endswith("applied           3 changes: evict.restart, queues.red, queues.old")
    assert json.loads(ganglion("policy", "history", "-o", "json").out) == items[::-1]


def test_going_back_says_which_version_is_new(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"POST {API}/policy/rollback", OUTCOME)
    done = ganglion("policy", "rollback", "2")
    assert done.out.splitlines()[-1] == "policy version 4 is in force"
    assert server.bodies(f"POST {API}/policy/rollback") == [{"version": 2}]


BOOKING: dict[str, Any] = {
    "name": "cooling",
    "nodes": ["n0", "n1"],
    "begin": NOW + HOUR,
    "end": NOW + 5 * HOUR,
    "queues": [],
    "users": [],
    "reason": "new pump",
    "state": "planned",
    "clears": False,
}


def test_a_booking_is_made_from_flags(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"PUT {API}/bookings/cooling", BOOKING)
    flags = ["--in", "rack=r1", "--node", "n9", "--from", "+1h", "--for", "4h"]
    done = ganglion("booking", "add", "cooling", *flags, "--reason", "new pump")
    assert done.out == ("booking cooling: n0, n1 from 2027-01-15 09:00:00 to 2027-01-15 13:00:00\n")
    assert server.bodies(f"PUT {API}/bookings/cooling") == [
        {
            "begin": "2027-01-15T09:00:00Z",
            "nodes": ["n9"],
            "within": ["rack=r1"],
            "length": "4h",
            "reason": "new pump",
        }
    ]
    done = ganglion("booking", "add", "x", "--node", "n1", "--from", "noon", "--for", "1h")
    assert (done.code, "`noon` is not a date and time" in done.err) == (2, True)


def test_bookings_are_listed_and_removed(ganglion: Ganglion, server: FakeServer) -> None:
    server.on(f"GET {API}/bookings", {"items": [BOOKING]})
    server.on(f"DELETE {API}/bookings/cooling", {})
    line = ganglion("booking", "list").out.splitlines()[1]
    assert line.split()[:2] == ["cooling", "planned"]
    assert "maintenance" in line
    assert ganglion("booking").out == ganglion("booking", "list").out
    assert json.loads(ganglion("booking", "list", "-o", "json").out) == [BOOKING]
    assert ganglion("booking", "remove", "cooling").out == "booking cooling removed\n"


def test_a_policy_is_applied_only_to_the_version_that_the_user_looked_at(
    ganglion: Ganglion, server: FakeServer, file: str
) -> None:
    server.on(f"GET {API}/policy", {"version": 3, "user": "bob", "etag": '"3-x"'})
    server.on(f"PUT {API}/policy", OUTCOME)
    assert ganglion("policy", "apply", file, "--base", "3").code == 0
    assert server.requests[-1].headers["if-match"] == '"3-x"'
    late = ganglion("policy", "apply", file, "--base", "2")
    assert late.code == 1
    assert late.err.splitlines() == [
        "Error: version 3 by bob is in force, not 2",
        "Hint: see the differences: ganglion policy diff FILE",
    ]
    assert [r.method for r in server.requests] == ["GET", "PUT", "GET"]
    assert ganglion("policy", "apply", file).code == 0
    assert "if-match" not in server.requests[-1].headers
    server.on(f"POST {API}/policy/rollback", OUTCOME)
    assert ganglion("policy", "rollback", "1", "--base", "3").code == 0
    assert server.requests[-1].headers["if-match"] == '"3-x"'
