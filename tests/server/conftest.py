"""Servers over a world in memory."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import structlog
from fastapi.testclient import TestClient

from ganglion.ledger.ledger import Ledger
from ganglion.model.fleet.node import Device, Node
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.app import guarded, make_app
from ganglion.server.commands import live
from ganglion.server.commands.submission import submit
from ganglion.server.controllers.controller import Controller
from ganglion.server.loop.asked import AskedCommand
from ganglion.server.loop.service import Service
from ganglion.server.notify.choices import NoticeChoices
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.listening.home import Home
from ganglion.server.state.feed import Feed
from ganglion.server.state.transaction import Transaction
from ganglion.server.telemetry.metrics import Metrics
from ganglion.server.views.workloads import detail
from ganglion.worlds.local.run_files.secret_store import SecretStore
from tests.server.fake import FakeWorld, Machine

NODES = tuple(Node(f"n{i}", 64_000, 1 << 20, (Device("H100", 81_920),) * 8) for i in range(2))


class Rig:
    """A machine, a ledger, and the server that manages both; turns are taken by hand.

    Args:
        folder: home of the server.
        keepers: called for every server that starts.
        database: URL of the ledger; empty = a file in the home.
        effects: what the server asks of its machine.
    """

    isolate = False

    def __init__(
        self,
        folder: Path,
        keepers: Callable[[], Sequence[Controller]] = tuple,
        database: str = "",
        effects: Effects = SYSTEM,
    ) -> None:
        self.home, self.effects = Home(folder, effects), effects
        self.keepers, self.database = keepers, database
        self.machine = Machine()
        self.queues: tuple[Queue, ...] = ()
        self.start()

    def start(self) -> None:
        self.ledger = Ledger.open(self.database or self.home.ledger, effects=self.effects)
        self.feed = Feed(self.ledger)
        self.world = FakeWorld(self.machine, NODES)
        self.metrics = Metrics()
        self.service = Service(
            self.ledger,
            self.world,
            Policy(),
            self.feed.publish,
            self.metrics,
            self.keepers(),
            secrets=SecretStore(self.home.root),
            isolate=self.isolate,
            clock=self.effects.clock,
        )
        self.service.begin()
        self.do(lambda draft: live.keep_queues(draft, self.queues))

    def crash(self) -> None:
        """The server dies; nothing it holds in memory survives, and a new one starts."""
        self.ledger.close()
        self.start()

    def ask(self, command: Callable[[Transaction], Any]) -> Future[Any]:
        """Ask without waiting for the turn."""
        asked = AskedCommand(command)
        self.service._asked.put(asked)
        return asked.answer

    def do(self, command: Callable[[Transaction], Any]) -> Any:
        """Ask, take a turn, and return or raise the answer."""
        answer = self.ask(command)
        self.service.turn()
        return answer.result(0)

    def submit(self, name: str, key: str = "", force: bool = False, **document: Any) -> str:
        """Submit a workload of one GPU; returns its id."""
        data = {"name": name, "run": "true", "resources": {"gpus": 1}, **document}
        digest = sha256(str(data).encode()).hexdigest()
        request = submit.checked(data, user="ada", key=key, digest=digest, force=force)
        return str(self.do(lambda draft: submit.submit(draft, request)).id)

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.service.turn()

    def state(self, workload: str) -> str:
        """The state users see."""
        with self.service.read() as mind:
            if workload in mind.book.entries:
                return detail(mind, workload).state
        filed = self.ledger.history.by_id(workload)
        assert filed is not None
        return filed.state


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Expected failures are no reason to print their tracebacks in colour."""
    with structlog.testing.capture_logs():
        yield


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A server over two nodes of 8 GPUs."""
    made = Rig(tmp_path / "home")
    yield made
    made.ledger.close()


@pytest.fixture
def context(rig: Rig) -> Iterator[ServerContext]:
    """What a running server consists of."""
    rig.service.start()
    halted: list[bool] = []
    yield ServerContext(
        *(rig.service, rig.home, rig.feed, rig.metrics, "ada", lambda: halted.append(True)),
        notices=NoticeChoices(rig.home.root),
    )
    rig.service.stop()


@pytest.fixture
def client(context: ServerContext) -> Iterator[TestClient]:
    """A client that knows the token."""
    app = guarded(make_app(context), "secret", loopback=True)
    headers = {"Authorization": "Bearer secret"}
    with TestClient(
        app, "http://localhost", headers=headers, raise_server_exceptions=False
    ) as made:  # type: ignore[arg-type]
        yield made
