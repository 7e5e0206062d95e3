"""Real server processes, started quickly and killed at will."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import psutil

from tests.effort import pause
from tests.forking import SERVER, Forked

T = TypeVar("T")

CLUSTER = """
nodes:
  - {name: n0, cpus: 16, memory: 16GB, gpus: "H100:80GB:4"}
  - {name: n1, cpus: 16, memory: 16GB, gpus: "H100:80GB:4"}
queues:
  - {name: org}
  - {name: red, parent: org, quota: {H100: 4}}
  - {name: blue, parent: org, quota: {H100: 4}}
"""


class Nursery:
    """Starts one server at a time.

    Args:
        home: Ganglion's home directory.
        port: where servers listen; 0 = anywhere.
    """

    def __init__(self, home: Path, port: int = 0) -> None:
        self.home, self.port = home, port
        self._cluster = home.parent / "cluster.yaml"
        self._cluster.write_text(CLUSTER)
        self._server: Forked | None = None

    @property
    def pid(self) -> int:
        """The server's; 0 = none runs."""
        return self._server.pid if self._server else 0

    def start(self, *more: str) -> None:
        """Begin to start a server, with more arguments."""
        line = f"--home {self.home} --cluster {self._cluster} --port {self.port}"
        with (self.home.parent / "stderr").open("ab") as out:
            self._server = Forked(
                "ganglion.server.__main__",
                [*line.split(), *more],
                out.fileno(),
                beside=SERVER,
            )

    def end(self, number: int) -> int:
        """Send a signal; returns the exit code."""
        os.kill(self.pid, number)
        return self.reap()

    def reap(self) -> int:
        """Wait until the server has ended; returns the exit code."""
        assert self._server
        server, self._server = self._server, None
        return server.wait()

    def close(self) -> None:
        """End what still runs, jobs and the router with it."""
        if self._server:
            self.end(signal.SIGKILL)
        end_all_of(self.home)


def end_all_of(home: Path) -> None:
    """End processes that outlive a server by design: supervisors of its jobs, and its router."""
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if any(part.startswith(str(home)) for part in process.cmdline()):
                process.kill()


class Api:
    """Requests to whichever server of a home lives."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._http = httpx2.Client(timeout=30)

    def close(self) -> None:
        self._http.close()

    def call(self, method: str, path: str, **others: Any) -> httpx2.Response:
        """Send one request. Raises httpx2.TransportError while no server lives."""
        record = self._home / "server.json"
        if not record.exists():
            raise httpx2.ConnectError("no server yet")
        url = httpx2.Response(200, content=record.read_bytes()).json()["url"]
        token = (self._home / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", **others.pop("headers", {})}
        return self._http.request(method, f"{url}/api/v1{path}", headers=headers, **others)

    def patiently(self, method: str, path: str, deadline_s: float = 30, **others: Any) -> Any:
        """Send until a server answers; returns the decoded answer."""

        def answered() -> Any:
            try:
                response = self.call(method, path, **others)
            except httpx2.TransportError:
                return None
            assert not response.is_error, response.text
            return response.json()

        return until(answered, deadline_s)


def living(pid: int) -> list[psutil.Process]:
    """The process of a number, or none where it has ended, its parent asked or not.

    It may end at any moment: `pid_exists` first and `Process` next raises now and then.
    """
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return [process]
    return []


def until(look: Callable[[], T | None], deadline_s: float = 30) -> T:
    """Poll until something is there."""
    begun = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < begun + deadline_s, "it did not happen in time"
        pause(begun)
