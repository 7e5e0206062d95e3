"""Schedules, and what failed once more."""

import json
from pathlib import Path

from tests.cli import answers
from tests.cli.harness import FakeServer, Ganglion

API = "/api/v1"
NIGHTLY = {
    "name": "nightly",
    "user": "ada",
    "cron": "0 3 * * *",
    "zone": "Europe/Berlin",
    "overlap": "forbid",
    "next": 1_800_000_000_000,
    "last": 1_799_913_600_000,
    "run": "nightly-41",
    "live": ["nightly-41"],
    "message": "left out: nightly-41 has not ended",
}


def test_schedules_are_listed_with_the_next_date(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(f"GET {API}/schedules", {"items": [NIGHTLY]})
    head, line = ganglion("schedules").out.splitlines()
    assert head.split() == ["NAME", "SCHEDULE", "ZONE", "NEXT", "LAST", "RUN", "LIVE", "MESSAGE"]
    assert line.startswith("nightly  0 3 * * *  Europe/Berlin  2027-01-15 ")
    assert line.endswith("nightly-41     1  left out: nightly-41 has not ended")
    assert json.loads(ganglion("schedules", "-o", "json").out) == [NIGHTLY]


def test_without_any_it_is_said_how_to_make_one(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(f"GET {API}/schedules", {"items": []})
    found = ganglion("schedules")
    assert (found.out, found.err) == ("", "no schedules; `schedule` in a file makes one\n")


def test_a_schedule_is_taken_back(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(f"DELETE {API}/schedules/nightly", {"ok": True})
    assert ganglion("schedules", "--remove", "nightly").out == "schedule nightly removed\n"


def test_what_failed_is_submitted_once_more(server: FakeServer, ganglion: Ganglion) -> None:
    answer = {"id": "s-2", "name": "s", "gangs": 3, "next": []}
    server.on(f"POST {API}/workloads/s-1/retry", answer)
    found = ganglion("retry", "s-1")
    assert found.out == "s-2\n"
    assert found.err.startswith("3 gangs of s-1 once more.\n  ganglion why s-2")
    assert json.loads(ganglion("retry", "s-1", "-o", "json").out)["gangs"] == 3


def test_a_schedule_is_not_followed_but_its_first_date_is_said(
    server: FakeServer, ganglion: Ganglion, tmp_path: Path
) -> None:
    answer = {"id": "n", "name": "n", "gangs": 1, "next": [], "due": 1_800_000_000_000}
    server.on(f"POST {API}/workloads", answer)
    file = tmp_path / "n.yaml"
    file.write_text("name: n\nrun: x\nschedule: 0 3 * * *\n")
    found = ganglion("submit", str(file))
    assert found.out == "n\n"
    assert "first on 2027-01-15" in found.err
    assert found.code == 0


def trial(index: int, phase: str, outcome: str | None = None) -> dict[str, object]:
    first: dict[str, object] = answers.DETAIL["gangs"][0]
    found = first | {"id": f"s-1/{index}", "index": index}
    return found | {"phase": phase, "outcome": outcome, "params": {"lr": "1e-4", "x": str(index)}}


def test_a_large_sweep_is_told_by_its_counts_and_by_what_runs_and_failed(
    server: FakeServer, ganglion: Ganglion
) -> None:
    trials = [trial(n, "pending") for n in range(40)]
    trials[31], trials[35] = trial(31, "running"), trial(35, "ended", "failed")
    counts = {"running": 1, "waiting": 38, "succeeded": 0, "stopped_early": 4, "failed": 1}
    server.on(
        f"GET {API}/workloads/s-1",
        answers.DETAIL | counts | {"id": "s-1", "kind": "sweep", "gangs": trials},
    )
    shown = ganglion("describe", "s-1").out
    assert "1 run, 38 wait, 4 stopped early, 1 failed" in shown
    rows = [line.split() for line in shown.splitlines() if "lr=1e-4" in line]
    assert len(rows) == 20
    assert [row[0] for row in rows[-2:]] == ["31", "35"]
    assert rows[-1][1:4] == ["lr=1e-4", "x=35", "ended"]
