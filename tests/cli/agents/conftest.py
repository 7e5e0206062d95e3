"""One real server, and agents that reach it by `ganglion mcp`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import Implementation
from tests.forking import shell_command
from tests.ports import unused

from ganglion.client import Client as GanglionClient


class Machine:
    """A machine with a server of its owner.

    Args:
        folder: home of the owner; programs run there.
    """

    def __init__(self, folder: Path) -> None:
        self.port = unused()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self.env = {
            "HOME": str(folder),
            "GANGLION_HOME": str(folder / "home"),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }

    def ganglion(self, *args: str) -> str:
        done = subprocess.run(
            [*shell_command(), *args],
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def client(self) -> GanglionClient:
        """The SDK, as the owner has it."""
        return GanglionClient.of_home(self.folder / "home")

    def agent(
        self, *args: str, mode: str = "auto", **env: str
    ) -> AbstractAsyncContextManager[Client]:
        """A client that has started `ganglion mcp`."""
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "ganglion", "mcp", *args],
            env=self.env | env,
            cwd=self.folder,
        )
        return Client(
            command, client_info=Implementation(name="test-agent", version="1.0"), mode=mode
        )


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("agents"))
    (made.folder / "cluster.yaml").write_text(
        "nodes:\n- {name: n0, gpus: 'H100:8', cpus: 16, memory: 64GB}\n"
        "queues:\n- {name: research}\n- {name: secret}\n"
    )
    made.ganglion("up", "--cluster", "cluster.yaml", "--port", str(made.port))
    try:
        with made.client() as client:
            client.money.set_price("H100", 2_000_000, currency="EUR")
        yield made
    finally:
        made.ganglion("down", "--cancel")
