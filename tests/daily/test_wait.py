"""`ganglion wait` and `ganglion history` against a real server."""

import json
from pathlib import Path

import psutil

from tests.daily.conftest import Ganglion, Site
from tests.server.process import until


def held(folder: Path, name: str, code: int = 0) -> tuple[str, Path]:
    """A command that ends with a code once a file appears, and the file."""
    gate = folder / name
    return f"until [ -e {gate} ]; do sleep 0.02; done; exit {code}", gate


def test_wait_ends_with_the_code_of_the_job(site: Site, ganglion: Ganglion, tmp_path: Path) -> None:
    command, gate = held(tmp_path, "gate", 3)
    job = site.submit("coded", command, retry={"limit": 0})
    waiting = site.program("wait", job)
    site.reach(job, "RUNNING")
    gate.touch()
    out, _ = waiting.communicate(timeout=30)
    assert (waiting.returncode, out.decode()) == (3, f"{job} FAILED\n")
    assert ganglion("wait", job).code == 3
    assert ganglion("wait", job, "--for", "failed").code == 0
    assert ganglion("wait", job, "--for", "succeeded").code == 1


def test_any_is_met_by_the_first_and_all_by_the_last(
    site: Site, ganglion: Ganglion, tmp_path: Path
) -> None:
    slow, gate = held(tmp_path, "gate")
    first, second = site.submit("slow", slow), site.submit("fast", "true")
    assert ganglion("wait", first, second, "--any").out == f"{second} SUCCEEDED\n"
    every = site.program("wait", first, second, "-o", "json")
    assert ganglion("wait", first, "--for", "running").code == 0
    gate.touch()
    out, _ = every.communicate(timeout=30)
    assert every.returncode == 0
    assert {each["id"] for each in json.loads(out)} == {first, second}


def test_a_wait_that_takes_too_long_says_so(site: Site, ganglion: Ganglion, tmp_path: Path) -> None:
    command, gate = held(tmp_path, "gate")
    job = site.submit("late", command)
    done = ganglion("wait", job, "--timeout", "10ms")
    gate.touch()
    assert done.code == 124
    assert f"the time is over; not ended: {job}" in done.err


def test_a_wait_outlives_the_server(site: Site, tmp_path: Path) -> None:
    command, gate = held(tmp_path, "gate")
    job = site.submit("patient", command)
    site.reach(job, "RUNNING")
    waiting = site.program("wait", job)
    until(lambda: _is_listening(waiting.pid))
    site.restart()
    gate.touch()
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out.decode()) == (0, f"{job} SUCCEEDED\n"), err


def _is_listening(pid: int) -> bool:
    """Whether a client holds the stream of events and a second connection to look with."""
    return len(psutil.Process(pid).net_connections(kind="all")) > 1


def test_history_lists_what_ended_with_totals(site: Site, ganglion: Ganglion) -> None:
    job = site.submit("counted", "true", resources={"gpus": 2})
    ganglion("wait", job)
    shown = ganglion("history", "count*", "--state", "succeeded")
    assert shown.out.splitlines()[0].split() == [
        *("ID", "QUEUE", "GPUS", "STATE", "EXIT", "TRIES", "WAIT", "RUN", "GPU-H")
    ]
    assert shown.out.splitlines()[1].split()[:6] == [job, "blue", "2", "SUCCEEDED", "0", "1"]
    assert "1 workload: 1 succeeded; 0.00 GPU-hours, mean wait 0s" in shown.err
    (item,) = json.loads(ganglion("history", "counted", "-o", "json").out)
    assert item["spent"]["gpu_ms"] > 0
    assert ganglion("history", "counted", "-o", "csv").out.count("\n") == 2
    assert ganglion("history", "counted", "--until", "1h").out == ""
    refused = ganglion("history", "--since", "yesterday")
    assert refused.code == 2
    assert "--since" in refused.err
