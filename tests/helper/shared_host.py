"""A helper that runs, and throw-away accounts: only root has such tests."""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import ganglion
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.supervision.children import HelpedChildren

SERVER = "daemon"
"""An account that every Linux has; the server of these tests runs as it."""
PACKAGES = str(Path(ganglion.__file__).parents[1])

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("useradd"),
    reason="needs root and useradd: programs are started as another account",
)


class Account(NamedTuple):
    """A throw-away account."""

    name: str
    uid: int
    home: Path


@contextlib.contextmanager
def account(number: int, *, password: str = "*", shell: str = "/bin/sh") -> Iterator[Account]:
    """Make an account with a home of its own, and remove both."""
    uid = 20_000 + os.getpid() % 10_000 * 4 + number
    name = f"gnt{uid}"
    home = Path(tempfile.mkdtemp(prefix="ganglion-user-", dir="/tmp"))
    command = ["useradd", "-M", "-N", "-g", "users", "-u", str(uid), "-d", str(home)]
    subprocess.run([*command, "-s", shell, "-p", password, name], check=True)
    os.chown(home, uid, pwd.getpwnam(name).pw_gid)
    try:
        yield Account(name, uid, home)
    finally:
        subprocess.run(["userdel", name], check=True, capture_output=True)
        shutil.rmtree(home)


class RunningHelper:
    """A helper, in a folder that only root can write.

    Attributes:
        folder: with its policy and its socket.
        socket: where it listens.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.policy = folder, folder / "helper.toml"
        self.socket = folder / "run" / "helper.sock"
        self.allow()
        self._process: subprocess.Popen[bytes] | None = None

    def allow(self, rules: str = "") -> None:
        """Write its policy."""
        self.policy.write_text(f'server = "{SERVER}"\nsocket = "{self.socket}"\n{rules}\n')

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.socket.unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-P", "-m", "ganglion.helper.__main__", str(self.policy)],
                env={"PYTHONPATH": PACKAGES},
                stderr=log,
            )
        awaited(lambda: "listens at" in self.log() and self.socket.exists())

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        if self._process:
            self._process.kill()
            self._process.wait()
            (self.folder / "log").write_text("")

    def log(self) -> str:
        """What it has said."""
        return (self.folder / "log").read_text()

    def asked(self, user: Account, attempt: str = "job-1.0.1") -> Record:
        """What a spec says for it."""
        return {
            "socket": str(self.socket),
            "attempt": attempt,
            "uid": user.uid,
            "limits": {"memory_bytes": 0, "cpu_milli": 0, "open_files": 0},
            "devices": None,
            "folders": [],
        }


@contextlib.contextmanager
def running_helper() -> Iterator[RunningHelper]:
    """A helper for as long as a test lasts."""
    with tempfile.TemporaryDirectory(prefix="ganglion-helper-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        made = RunningHelper(folder)
        try:
            yield made
        finally:
            made.kill()
            for each in _STARTED:
                for source in each.children.sources:
                    source.close()
            _STARTED.clear()


@contextlib.contextmanager
def as_uid(uid: int) -> Iterator[None]:
    """Connections that are made meanwhile are those of another user."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def server_uid() -> int:
    """Of the account that the server of these tests runs as."""
    return pwd.getpwnam(SERVER).pw_uid


class Started(NamedTuple):
    """A program that was started through the helper."""

    children: HelpedChildren
    pid: int

    def output(self) -> int:
        """Its exit code, once it has ended; -N after signal N."""
        found: list[int] = []

        def over() -> bool:
            found.extend(s for pid, s in self.children.reap() if pid == self.pid)
            return bool(found)

        awaited(over)
        return os.waitstatus_to_exitcode(found[0])


_STARTED: list[Started] = []


def started(asked: Record, line: str, log: Path, **env: str) -> Started:
    """Start a line of a shell as the user, with what it writes in a log."""
    children = HelpedChildren(asked)
    with log.open("ab") as out, Path(os.devnull).open("rb") as nothing, as_uid(server_uid()):
        pid = children.start(
            ["sh", "-c", line],
            {"PATH": "/usr/bin:/bin", **env},
            "/",
            (nothing.fileno(), out.fileno(), out.fileno()),
            umask=0o077,
            terminal=False,
        )
    _STARTED.append(Started(children, pid))
    return _STARTED[-1]


def awaited(found: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something is so."""
    give_up = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < give_up, "it did not happen"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
