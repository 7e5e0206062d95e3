"""One real server with pretend GPUs, and the command line in this process and in others."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ganglion.cli.main import run
from ganglion.cli.output import screen
from ganglion.client import Client
from ganglion.client.home import read_server
from tests.server.process import Nursery, until

PROGRAM = [sys.executable, "-c", "from ganglion.cli.main import main; main()"]


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


class Site:
    """A server of its own home, and clients of it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.nursery = Nursery(self.home)
        self.nursery.start()
        until(lambda: read_server(self.home))

    def client(self) -> Client:
        return Client.from_home()

    def restart(self, *more: str) -> None:
        """Kill the server and start another one."""
        self.nursery.end(signal.SIGKILL)
        (self.home / "server.json").unlink()
        self.nursery.start(*more)
        until(lambda: read_server(self.home))

    def program(self, *args: str, **others: object) -> "subprocess.Popen[bytes]":
        """Run the command line in a process of its own."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*PROGRAM, *args], **(pipes | others))  # type: ignore[call-overload, no-any-return]  # pipes of bytes

    def submit(self, name: str, command: str, **document: object) -> str:
        """Submit a shell line; returns the id."""
        with self.client() as client:
            body = {"name": name, "run": command, "queue": "blue", **document}
            return client.submit(body).id

    def reach(self, job: str, state: str) -> None:
        """Wait until a job is in a state."""
        with self.client() as client:
            until(lambda: client.workload(job).state == state)

    def accesses(self, job: str) -> list[dict[str, Any]]:
        """Sessions in pods of a job, as the stream of events tells them."""
        with self.client() as client:
            found = [each.event for each in client.events(0, follow=False)]
        return [e for e in found if e["type"] == "pod_access" and e["gang"].startswith(job)]


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GANGLION_HOME", str(folder / "home"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        for name in ("GANGLION_URL", "GANGLION_TOKEN", "COLUMNS", "FORCE_COLOR", "NO_COLOR"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("daily")
    with _environment(folder):
        site = Site(folder)
    yield site
    with _environment(folder):
        run(["cancel", "--all", "--force", "-y"])
        with site.client() as client:
            until(lambda: not client.workloads().items)
    site.nursery.close()


@pytest.fixture
def site(_site: Site) -> Iterator[Site]:
    """A running server with two nodes of four pretend GPUs each."""
    with _environment(_site.home.parent):
        yield _site


@pytest.fixture
def ganglion(capfdbinary: pytest.CaptureFixture[bytes]) -> "Ganglion":
    """Run `ganglion` with these arguments in this process."""
    return Ganglion(capfdbinary)


class Ganglion:
    """The command line in this process."""

    def __init__(self, capture: "pytest.CaptureFixture[bytes]") -> None:
        self._capture = capture

    def __call__(self, *args: str) -> Done:
        screen.out.cache_clear()
        screen.err.cache_clear()
        self._capture.readouterr()
        code = run(list(args))
        captured = self._capture.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())
