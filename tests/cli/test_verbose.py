"""`-v` prints each request on stderr, wherever it is given, and leaves stdout alone."""

import click
import pytest
from tests.cli.harness import FakeServer, Ganglion

from ganglion.cli.main import cli
from ganglion.cli.registry import COMMANDS

START = "GET /api/v1/queues 200 "


@pytest.fixture(autouse=True)
def queues(server: FakeServer) -> None:
    server.on("GET /api/v1/queues", {"items": []})


@pytest.mark.parametrize(
    "args", [("-v", "queues"), ("queues", "-v"), ("--verbose", "queues", "-v", "-o", "json")]
)
def test_a_request_is_one_line_on_stderr_wherever_the_option_stands(
    ganglion: Ganglion, args: tuple[str, ...]
) -> None:
    plain = ganglion(*[word for word in args if word not in ("-v", "--verbose")])
    done = ganglion(*args)
    assert (done.code, done.out) == (0, plain.out)
    assert [line.startswith(START) for line in done.err.splitlines()].count(True) == 1
    assert START not in ganglion("queues").err  # the next command is silent again


def test_the_environment_asks_for_it_too(
    ganglion: Ganglion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANGLION_VERBOSE", "1")
    assert START in ganglion("queues").err
    monkeypatch.setenv("GANGLION_VERBOSE", "0")
    assert START not in ganglion("queues").err


def test_every_command_has_it_and_no_other_v() -> None:
    context, wrong = click.Context(cli), []
    left = [(name, cli.get_command(context, name)) for name in COMMANDS]
    while left:
        path, command = left.pop()
        assert command is not None
        found = [param.name for param in command.params if "-v" in param.opts]
        wrong += [path] if found != ["verbose"] else []
        if isinstance(command, click.Group):
            left += [(f"{path} {name}", each) for name, each in command.commands.items()]
    assert wrong == []


def test_debug_counts_behind_it_too(ganglion: Ganglion, server: FakeServer) -> None:
    server.on("GET /api/v1/queues", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ganglion("-v", "--debug", "queues")
