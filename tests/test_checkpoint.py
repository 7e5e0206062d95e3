"""What programs use to stop, to say what they saved, and to go on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ganglion import checkpoint
from ganglion.checkpoint import Resume
from ganglion.lifecycle.reports.line import ReportLine, SavedCheckpoint, read

NAMES = ("REPORT_FILE", "STOP_FILE", "STOP_SIGNAL", "RESUME_STEP", "RESUME_PATH", "ATTEMPT")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A program that has not begun to listen; signals are as before afterwards."""
    for name in (*NAMES, "CHECKPOINT_DIR"):
        monkeypatch.delenv(f"GANGLION_{name}", raising=False)
    monkeypatch.setattr(checkpoint, "_ears", checkpoint._Ears())
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The report file of pod 0 of an attempt."""
    path = tmp_path / "reports" / "0.jsonl"
    path.parent.mkdir()
    monkeypatch.setenv("GANGLION_REPORT_FILE", str(path))
    monkeypatch.setenv("GANGLION_CHECKPOINT_DIR", str(tmp_path / "ck"))
    monkeypatch.setenv("GANGLION_ATTEMPT", "3")
    (tmp_path / "ck").mkdir()
    return path


def lines(path: Path) -> list[ReportLine]:
    found = [read(line) for line in path.read_bytes().splitlines()]
    return [line for line in found if isinstance(line, ReportLine)]


# --- saying -----------------------------------------------------------------------------------


def test_what_is_said_is_what_is_heard(told: Path) -> None:
    before = 1_000 * time.time() - 1
    assert checkpoint.committed(100, Path("step-100.pt"))
    assert checkpoint.committed(90, "s3://b/90", at=1_700_000_000.5, rewind=True)
    assert checkpoint.report(step=100, loss=0.25)
    assert checkpoint.busy()
    first, second, third, fourth = lines(told)
    assert first.checkpoint == SavedCheckpoint(100, "step-100.pt")
    assert first.at is not None
    assert before <= first.at <= 1_000 * time.time() + 1
    assert (second.checkpoint, second.at) == (
        SavedCheckpoint(90, "s3://b/90", True),
        1_700_000_000_500,
    )
    assert third.metrics == {"step": 100, "loss": 0.25}
    assert fourth.busy


def test_values_that_are_no_numbers_are_said_to_be_none(told: Path) -> None:
    checkpoint.report(step=1, loss=float("nan"), grad=float("inf"))
    assert lines(told)[0].metrics == {"step": 1, "loss": None, "grad": None}


def test_without_ganglion_nothing_is_said_and_nothing_found() -> None:
    assert not checkpoint.committed(1, "a")
    assert not checkpoint.report(loss=1)
    assert checkpoint.resume() is None
    assert (checkpoint.attempt(), checkpoint.should_stop()) == (1, False)


def test_a_full_disk_warns_and_the_program_goes_on(
    told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLION_REPORT_FILE", "/dev/full")
    with pytest.warns(RuntimeWarning, match="cannot report to Ganglion"):
        assert not checkpoint.committed(1, "a")
    assert not told.exists()


def test_lines_of_many_processes_do_not_mix(told: Path) -> None:
    source = (
        "from ganglion import checkpoint\n"
        "for step in range(1, 300): checkpoint.report(step=step, **{'m' * 40: step})"
    )
    command = [sys.executable, "-c", source]
    ranks = [subprocess.Popen(command, env=os.environ | {"PYTHONPATH": _path()}) for _ in range(4)]
    assert [rank.wait(60) for rank in ranks] == [0] * 4
    assert len(lines(told)) == 4 * 299 == len(told.read_bytes().splitlines())


# --- going on ---------------------------------------------------------------------------------


def test_it_goes_on_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANGLION_RESUME_STEP", "300")
    monkeypatch.setenv("GANGLION_RESUME_PATH", "/ck/300.pt")
    monkeypatch.setenv("GANGLION_ATTEMPT", "2")
    assert checkpoint.resume() == Resume(300, "/ck/300.pt", 2)


def test_workers_that_a_launcher_starts_anew_go_on_where_this_attempt_was_saved(
    told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLION_RESUME_STEP", "300")
    folder = Path(os.environ["GANGLION_CHECKPOINT_DIR"])
    (folder / "400.pt").touch()
    (folder / "450.pt").touch()
    checkpoint.committed(400, "400.pt", at=1.0)
    other = json.dumps({"checkpoint": {"step": 450, "path": "450.pt"}, "at": 2_000})
    told.with_name("1.jsonl").write_text(f"nonsense\n[]\n{other}\n")
    checkpoint.committed(500, "gone.pt", at=3.0)
    assert checkpoint.resume() == Resume(450, str(folder / "450.pt"), 3)


def test_only_the_end_of_a_long_report_is_read(told: Path) -> None:
    told.write_bytes(b"x" * (checkpoint.LAST_BYTES + 1))
    told.write_bytes(told.read_bytes() + b'\n{"checkpoint": {"step": 5}, "at": 1}\n')
    assert checkpoint.resume() == Resume(5, "", 3)


# --- stopping ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "usr1", "10"])
def test_the_signal_of_the_contract_asks_to_stop(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLION_STOP_SIGNAL", name)
    assert not checkpoint.should_stop()
    os.kill(os.getpid(), signal.SIGTERM if name == "SIGTERM" else signal.SIGUSR1)
    assert checkpoint.should_stop()


def test_so_does_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = tmp_path / "stop"
    monkeypatch.setenv("GANGLION_STOP_FILE", str(note))
    assert not checkpoint.should_stop()
    note.write_text("preempted\n")
    assert checkpoint.should_stop()


def test_a_handler_that_was_there_before_is_called_as_well() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
    checkpoint.resume()
    os.kill(os.getpid(), signal.SIGTERM)
    assert checkpoint.should_stop()
    assert heard == [signal.SIGTERM]


def test_workers_that_were_forked_die_of_the_signal_as_ever() -> None:
    source = (
        "import os, signal, time\n"
        "from ganglion import checkpoint\n"
        "checkpoint.should_stop()\n"
        "up, ready = os.pipe()\n"
        "pid = os.fork()\n"
        "if not pid: os.write(ready, b'.')\n"
        "while not pid: time.sleep(0.01)\n"
        "os.read(up, 1)\n"
        "os.kill(pid, signal.SIGTERM)\n"
        "print(os.waitpid(pid, 0)[1], checkpoint.should_stop())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source],
        env=os.environ | {"PYTHONPATH": _path()},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == (f"{int(signal.SIGTERM)} False\n", "")


# --- weight -----------------------------------------------------------------------------------


def test_programs_that_use_it_import_nothing_but_the_standard_library() -> None:
    source = (
        "import sys\nfrom ganglion import checkpoint\n"
        "mine = {n.partition('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(mine - {'__main__', 'sitecustomize'}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", source],
        env={"PYTHONPATH": _path()},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "['ganglion']\n"


def _path() -> str:
    return str(Path(checkpoint.__file__).parents[1])
