"""The demo from end to end: as a user would see it, with real processes."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

pytestmark = pytest.mark.xdist_group("demo")

LIMIT_S = 235  # the demo promises to end within four minutes


class Run:
    """A demo that was started, and a mark by which all of its processes are found."""

    def __init__(self, tmp_path: Path) -> None:
        self.mark, self.temp = uuid4().hex, tmp_path / "temp"
        self.temp.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ganglion", "demo"],
            env=os.environ | {"DEMO_MARK": self.mark, "TMPDIR": str(self.temp)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def processes(self) -> list[str]:
        """Command lines of everything that the demo started and that still runs."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("DEMO_MARK") == self.mark:
                    found.append(" ".join(process.cmdline()))
            except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                continue
        return found

    def nothing_is_left(self) -> bool:
        """Whether all processes are gone in a moment, and no file remains."""
        deadline = time.monotonic() + 10
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        return not self.processes() and not list(self.temp.iterdir())


def test_the_demo_keeps_its_promises_and_leaves_nothing_behind(tmp_path: Path) -> None:
    run = Run(tmp_path)
    try:
        output, _ = run.process.communicate(timeout=LIMIT_S)
    finally:
        run.process.kill()
    assert run.process.returncode == 0, output
    kept = re.search(r"(\d+) of (\d+) promises kept", output)
    assert kept, output
    assert kept[1] == kept[2]
    assert "BROKEN" not in output
    assert run.nothing_is_left(), run.processes()


def test_ctrl_c_ends_the_demo_and_everything_it_started(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert run.process.stdout is not None
    try:
        for line in run.process.stdout:
            if "RUNNING" in line:
                break
        assert len(run.processes()) > 2
        run.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            run.process.wait(0.3)
        # An impatient user, in the middle of the cleaning up.
        run.process.send_signal(signal.SIGINT)
        output, _ = run.process.communicate(timeout=60)
    finally:
        run.process.kill()
    assert run.process.returncode == 130, output
    assert "Traceback" not in output
    assert run.nothing_is_left(), run.processes()
