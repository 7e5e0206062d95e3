"""Report files of real processes."""

import contextlib
import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.faults.clock import HandClock
from tests.faults.files import FaultyFiles
from tests.faults.plan import FaultPlan
from tests.worlds.local.jobs import Jobs, python, until

from ganglion.lifecycle.reports import hearing
from ganglion.lifecycle.reports.hearing import BROKEN, FLOOD
from ganglion.model.events import AlarmSet, CheckpointCommitted, Event, MetricReported
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import reports
from ganglion.worlds.local.run_files.reports import BURST, MOST_BEHIND, Tail

SAY = """
import json, os, sys, time
def say(**line):
    with open(os.environ["GANGLION_REPORT_FILE"], "a") as file:
        file.write(json.dumps(line) + "\\n")
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report every checkpoint, however short a time it is after the last one."""
    monkeypatch.setattr(hearing, "QUIET_MS", 0)


def told(jobs: Jobs, kind: type[Event]) -> list[Any]:
    return [fact for fact in jobs.look() if isinstance(fact, kind)]


def report_file(jobs: Jobs, gang: str, pod: int = 0) -> Path:
    return jobs.directory(gang) / "reports" / f"{pod}.jsonl"


# --- real processes ---------------------------------------------------------------------------


def test_what_a_job_reports_is_heard_while_it_runs(jobs: Jobs) -> None:
    body = (
        "say(checkpoint={'step': 3, 'path': '3.pt'}, metrics={'step': 3, 'loss': 0.5}, busy=True)\n"
        "time.sleep(60)"
    )
    gang = jobs.run(python(SAY + body))
    (saved,) = until(lambda: told(jobs, CheckpointCommitted))
    assert (saved.gang, saved.attempt, saved.step) == (gang, 1, 3)
    assert saved.path == str(jobs.home / "checkpoints" / gang / "3.pt")
    (metric,) = told(jobs, MetricReported)
    assert (metric.name, metric.step, metric.value) == ("loss", 3, 0.5)
    activity = jobs.world.activity(gang)
    assert activity is not None
    assert activity.busy


def test_every_pod_has_a_file_of_its_own(jobs: Jobs) -> None:
    gang = jobs.run(python(SAY + "say(metrics={'rank' + os.environ['RANK']: 1})"), pods=2, procs=2)
    jobs.end(gang)
    assert {fact.name for fact in told(jobs, MetricReported)} == {f"rank{r}" for r in range(4)}
    assert [path.name for path in sorted(report_file(jobs, gang).parent.iterdir())] == [
        "0.jsonl",
        "1.jsonl",
    ]


def test_what_was_said_last_is_heard_before_the_end(jobs: Jobs) -> None:
    body = "open(os.environ['GANGLION_REPORT_FILE'], 'a').write('{\"checkpoint\": {\"step\": 9}}')"
    gang = jobs.run(python(SAY + body))
    end = jobs.end(gang)
    (saved,) = told(jobs, CheckpointCommitted)
    assert saved.step == 9
    assert saved.at <= end.at
    assert jobs.facts.index(saved) < jobs.facts.index(end)


def test_a_new_server_hears_of_what_was_reported_while_there_was_none(jobs: Jobs) -> None:
    body = (
        "print('ready', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.02)\n"
        "say(checkpoint={'step': 1, 'path': 'a'})\nsay(checkpoint={'step': 2, 'path': 'b'})\n"
        "print('said', flush=True)\ntime.sleep(60)"
    )
    gang = jobs.run(python(SAY + body))
    jobs.says(gang, "ready")
    (jobs.home / "go").touch()
    until(lambda: "said" in jobs.log(gang))
    jobs.restart(running={gang: 1})
    (saved,) = until(lambda: told(jobs, CheckpointCommitted))
    assert saved.step == 2


def test_a_liar_is_heard_with_an_alarm_and_its_neighbours_and_its_end_are_not_harmed(
    jobs: Jobs,
) -> None:
    nonsense = (
        "line = b'x' * 99 + b'\\n'\n"
        "with open(os.environ['GANGLION_REPORT_FILE'], 'ab') as file:\n"
        "    while not os.path.exists('stop'): file.write(line * 10_000)\n"
        "say(checkpoint={'step': 5})"
    )
    liar = jobs.run(python(SAY + nonsense), name="liar")
    honest = jobs.run(python(SAY + "say(checkpoint={'step': 1})\ntime.sleep(60)"), name="honest")
    until(lambda: {fact.alarm for fact in told(jobs, AlarmSet)} == {BROKEN, FLOOD})
    until(lambda: report_file(jobs, liar).stat().st_size > 4 * MOST_BEHIND)
    begun = time.process_time()
    for _ in range(20):
        jobs.look()
    assert time.process_time() - begun < 1.0
    (jobs.home / "stop").touch()
    jobs.end(liar)
    saved = {fact.gang: fact.step for fact in told(jobs, CheckpointCommitted)}
    assert saved == {liar: 5, honest: 1}
    assert all(fact.gang != honest for fact in told(jobs, AlarmSet) if hasattr(fact, "gang"))
    assert {fact.subject for fact in told(jobs, AlarmSet)} == {liar}


@pytest.mark.parametrize("kind", ["directory", "fifo", "device"])
def test_a_report_file_that_is_none_is_an_alarm_and_blocks_nobody(jobs: Jobs, kind: str) -> None:
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    path = report_file(jobs, gang)
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    (alarm,) = until(lambda: told(jobs, AlarmSet))
    assert (alarm.alarm, alarm.subject) == (BROKEN, gang)
    assert "no plain file" in alarm.message


# --- files ------------------------------------------------------------------------------------


def write(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def test_lines_are_whole_however_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl"
    tail = Tail(path)
    assert list(tail.lines()) == []
    write(path, b"one\ntw")
    assert list(tail.lines()) == [b"one"]
    write(path, b"o\n")
    assert list(tail.lines()) == [b"two"]
    write(path, b"{}")
    assert list(tail.lines()) == []
    assert list(tail.lines(over=True)) == [b"{}"]


def test_half_a_last_line_of_a_killed_program_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl"
    write(path, b'{"checkpoint": {"st')
    tail = Tail(path)
    assert list(tail.lines(over=True)) == []


def test_a_file_that_is_cut_short_or_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl"
    tail = Tail(path)
    write(path, b"one\ntwo\n")
    assert len(list(tail.lines())) == 2
    path.write_bytes(b"three\n")
    assert list(tail.lines()) == [b"three"]
    scratch = tmp_path / "new"
    scratch.write_bytes(b"four\nfive\n")
    scratch.replace(path)
    assert list(tail.lines()) == [b"four", b"five"]


def test_no_more_is_read_than_the_pace_allows(tmp_path: Path) -> None:
    clock = HandClock()
    path = tmp_path / "0.jsonl"
    write(path, b"0123456\n" * (MOST_BEHIND // 8))
    tail = Tail(path, clock)
    read = 8 * len(list(tail.lines()))
    assert BURST - 8 <= read <= BURST
    assert list(tail.lines()) == []
    clock.sleep(1)
    assert abs(8 * len(list(tail.lines())) - reports.RATE) <= 8


def test_what_cannot_be_read_in_time_is_left_out_whole_lines_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl"
    tail = Tail(path)
    write(path, b"first\n")
    assert list(tail.lines()) == [b"first"]
    write(path, b"0123456\n" * MOST_BEHIND)
    write(path, b"last\n")
    lines = list(tail.lines(over=True))
    assert set(lines[:-1]) == {b"0123456"}
    assert lines[-1] == b"last"
    assert tail.trouble is not None
    assert tail.trouble[0] == FLOOD


def test_a_line_without_end_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "0.jsonl"
    tail = Tail(path)
    write(path, b"x" * 100_000)
    assert len(list(tail.lines())) == 1  # as the broken line that it is
    write(path, b"y" * 10_000)
    assert list(tail.lines()) == []
    write(path, b"\n" + json.dumps({"busy": True}).encode() + b"\n")
    assert list(tail.lines()) == [b'{"busy": true}']


@pytest.mark.parametrize("seed", range(5))
def test_every_line_comes_once_and_in_order_although_reads_fail(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, path = FaultPlan(seed, 0.3), tmp_path / "0.jsonl"
    monkeypatch.setattr(host, "files", FaultyFiles(plan, errno.EIO))
    tail, written, found = Tail(path), list[bytes](), list[bytes]()
    for number in range(60):
        written.append(b'{"number": %d}' % number)
        with path.open("ab") as file:
            file.write(written[-1] + b"\n")
        with contextlib.suppress(OSError):
            found += tail.lines()
    plan.calm = True
    assert [*found, *tail.lines(over=True)] == written
    assert plan.struck["stat"]
    assert plan.struck["open"]
    assert plan.struck["pread"]


def test_a_report_file_that_another_account_has_closed_is_an_alarm_and_holds_nothing_up(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = FaultPlan(7, 1.0)
    monkeypatch.setattr(host, "files", FaultyFiles(plan, errno.EACCES, among="0.jsonl"))
    gang = jobs.run("echo x > $GANGLION_REPORT_FILE")
    assert jobs.end(gang).outcome == "succeeded"
    (alarm,) = told(jobs, AlarmSet)
    assert (alarm.alarm, alarm.subject) == (BROKEN, gang)
    assert "may not be read by the server" in alarm.message
