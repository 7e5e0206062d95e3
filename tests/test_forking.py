"""A forked program is as one that was started: its arguments, streams, folder, and its end."""

import atexit
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread

import pytest

from ganglion import __version__
from tests.forking import Forked, ganglion, shell_command


def main(args: list[str]) -> int:
    """What is forked here: says where it is and what it was given, or waits for a signal."""
    if args == ["wait"]:
        signal.pause()
    if args == ["session"]:
        print(os.getsid(0))  # noqa: T201 - its output
        return 0
    if args == ["fail"]:
        raise ValueError("it failed")
    if args == ["refuse"]:
        sys.exit("it refused")
    if args == ["end"]:
        atexit.register(print, "at exit")
        Thread(target=lambda: print("last of a thread")).start()  # noqa: T201 - its output
        sys.exit(3)
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


@pytest.mark.parametrize(
    ("does", "code", "said"),
    [
        ("fail", 1, ["ValueError: it failed"]),
        ("refuse", 1, ["it refused"]),
        ("end", 3, ["last of a thread", "at exit"]),
    ],
)
def test_whatever_it_leaves_to_its_end_is_done_and_its_exit_code_is_told(
    does: str, code: int, said: list[str]
) -> None:
    with TemporaryFile("w+") as out:
        made = Forked(__name__, [does], out.fileno())
        assert made.wait(60) == code
        out.seek(0)
        assert out.read().splitlines()[-len(said) :] == said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_is_told(number: signal.Signals) -> None:
    with TemporaryFile() as out:
        made = Forked(__name__, ["wait"], out.fileno())
        with pytest.raises(subprocess.TimeoutExpired):
            made.wait(0.1)
        made.send_signal(number)
        assert made.wait(60) == -number
        made.kill()


@pytest.mark.parametrize("alone", [False, True])
def test_alone_it_has_a_session_of_its_own(alone: bool) -> None:
    with TemporaryFile("w+") as out:
        made = Forked(__name__, ["session"], out.fileno(), alone=alone)
        assert (made.wait(60), made.poll()) == (0, 0)
        out.seek(0)
        assert (int(out.read()) == made.pid) == alone


def test_the_command_line_says_what_it_says_when_it_is_started() -> None:
    done = ganglion("--version")
    assert (done.returncode, done.stdout) == (0, f"ganglion {__version__}\n")
    wrong = ganglion("fly")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no such command: fly" in wrong.stderr


def test_in_a_shell_it_has_the_streams_and_the_exit_code_of_one_that_is_started() -> None:
    wrong = subprocess.run([*shell_command(), "fly"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no such command: fly" in wrong.stderr
    piped = shlex.join([*shell_command(), "schema"]) + " | head -n 1; echo ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "{"
    assert done.stderr == ""


def test_in_a_shell_a_signal_goes_on_to_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environ = os.environ | {"GANGLION_URL": url, "GANGLION_TOKEN": "secret"}
        with subprocess.Popen([*shell_command(), "ps"], env=environ) as running:
            asked, _ = silent.accept()
            running.send_signal(signal.SIGTERM)
            assert running.wait(60) == 128 + signal.SIGTERM
            asked.close()
