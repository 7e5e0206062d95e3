"""Runs the command line in this process against a fake server."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import time_machine
from tests.cli.harness import NOW_S, URL, Done, FakeServer, Ganglion

from ganglion.cli.main import run
from ganglion.cli.output import screen
from ganglion.client import Client


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A home and settings of its own, UTC, a clock that stands still."""
    monkeypatch.setenv("GANGLION_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in (
        "GANGLION_URL",
        "GANGLION_TOKEN",
        "COLUMNS",
        "FORCE_COLOR",
        "NO_COLOR",
        "GANGLION_DEBUG",
        "GANGLION_VERBOSE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    screen.out.cache_clear()
    screen.err.cache_clear()
    with time_machine.travel(NOW_S, tick=False):
        yield
    screen.out.cache_clear()
    screen.err.cache_clear()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """A server that every command finds."""
    fake = FakeServer()

    def from_home(*, timeout_s: float = 30.0) -> Client:
        return Client(URL, "secret", timeout_s=timeout_s, transport=httpx2.MockTransport(fake))

    monkeypatch.setattr(Client, "from_home", from_home)
    return fake


@pytest.fixture
def ganglion(capfdbinary: pytest.CaptureFixture[bytes]) -> Ganglion:
    """Run `ganglion` with these arguments."""

    def call(*args: str) -> Done:
        screen.out.cache_clear()
        screen.err.cache_clear()
        code = run(list(args))
        captured = capfdbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return call
