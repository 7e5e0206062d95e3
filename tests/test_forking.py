"""A forked program is as one that was started: its arguments, streams, folder, and its end."""

import os
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from ganglion import __version__
from tests.forking import Forked, ganglion


def main(args: list[str]) -> int:
    """What is forked here: says where it is and what it was given, or waits for a signal."""
    if args == ["wait"]:
        signal.pause()
    print(*args, Path.cwd(), os.environ.get("GIVEN"), input(), flush=True)  # noqa: T201 - its output
    return 7


def test_it_has_what_it_was_given_and_its_exit_code_is_told(tmp_path: Path) -> None:
    with TemporaryFile("w+") as given, TemporaryFile("w+") as out:
        given.write("a line\n")
        given.seek(0)
        made = Forked(
            __name__,
            ["x", "y"],
            out.fileno(),
            given=given.fileno(),
            folder=tmp_path,
            environ={"GIVEN": "1"},
        )
        assert made.wait(60) == 7
        out.seek(0)
        assert out.read() == f"x y {tmp_path} 1 a line\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_is_told(number: signal.Signals) -> None:
    with TemporaryFile() as out:
        made = Forked(__name__, ["wait"], out.fileno())
        with pytest.raises(subprocess.TimeoutExpired):
            made.wait(0.1)
        made.send_signal(number)
        assert made.wait(60) == -number
        made.kill()


def test_the_command_line_says_what_it_says_when_it_is_started() -> None:
    done = ganglion("--version")
    assert (done.returncode, done.stdout) == (0, f"ganglion {__version__}\n")
    wrong = ganglion("fly")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no such command: fly" in wrong.stderr
