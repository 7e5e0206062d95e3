"""Real server processes, started quickly and killed at will."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx2

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

# Importing takes a server longer than starting: this one has imported everything already and
# becomes, by fork, the same process as `python -m ganglion.server`, again and again.
_NURSERY = """
import os, sys
from ganglion.server.__main__ import main
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.close(0)
        sys.exit(main(line.split()))
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
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
        with (home.parent / "stderr").open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _NURSERY],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.pid = 0

    def start(self, *more: str) -> None:
        """Begin to start a server, with more arguments."""
        assert self._process.stdin
        assert self._process.stdout
        line = f"--home {self.home} --cluster {self._cluster} --port {self.port}"
        self._process.stdin.write(" ".join([line, *more]) + "\n")
        self._process.stdin.flush()
        self.pid = int(self._process.stdout.readline())

    def end(self, number: int) -> int:
        """Send a signal; returns the wait status."""
        os.kill(self.pid, number)
        return self.reap()

    def reap(self) -> int:
        """Wait until the server has ended; returns the wait status."""
        assert self._process.stdout
        status = int(self._process.stdout.readline())
        self.pid = 0
        return status

    def close(self) -> None:
        """End what still runs."""
        if self.pid:
            self.end(signal.SIGKILL)
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process.wait()


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


def until(look: Callable[[], T | None], deadline_s: float = 30) -> T:
    """Poll until something is there."""
    give_up = time.monotonic() + deadline_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < give_up, "it did not happen in time"
        time.sleep(0.02)
