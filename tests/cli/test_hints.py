"""Every command line and option that a message names exists."""

import ast
import re
from collections.abc import Iterator
from functools import cache

import click
import pytest
from tools.archlint.source import Source, sources

from ganglion.cli.main import cli
from ganglion.cli.registry import COMMANDS
from ganglion.specs.cluster import schema as cluster_schema
from ganglion.specs.desired import schema as desired
from ganglion.specs.policy import bookings
from ganglion.specs.policy import schema as policy_schema
from ganglion.specs.workload import schema

pytestmark = pytest.mark.xdist_group("sources")  # one process parses the package

KEY = re.compile(r"`([A-Za-z_]+): ")
FILES = ("specs/", "compat/", "cli/")
"""Folders whose messages write out keys of files that people write."""
LINE = re.compile(r"\bganglion ((?:--debug )?[a-z][a-z-]*[^`'\";,:\n()]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
FOREIGN = ("compat", "worlds", "router", "transport", "ledger/migrations")
"""Folders whose options are those of other programs: sbatch, kubectl, servers they start."""
OTHERS = re.compile(
    r"\b(python -m|kubectl|psql|sqlite3|pip|tar|docker|git|systemctl|sbatch|nvidia-smi)\b"
)


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """(place, text) of every string that is no documentation; values in it read `X`."""
    own = (source for source in sources() if source.path.startswith("src/"))
    return tuple(each for source in own for each in texts_of(source))


def texts_of(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the texts of one file."""
    formatted = (node for node in source.nodes if isinstance(node, ast.JoinedStr))
    parts = {id(each) for node in formatted for each in node.values}
    path = source.path.removeprefix("src/ganglion/")
    if not path.startswith("cli/"):  # there docstrings are what --help prints
        parts |= {id(node.value) for node in source.nodes if isinstance(node, ast.Expr)}
    for node in source.nodes:
        if id(node) not in parts and (text := text_of(node)):
            yield f"{path}:{node.lineno}", text  # type: ignore[attr-defined]


def text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else "X" for each in node.values)
        return "".join(str(each) for each in parts)
    return ""


@cache
def command(name: str) -> click.Command | None:
    return cli.get_command(click.Context(cli), name)


def options(found: click.Command) -> set[str]:
    given = {word for each in found.params for word in (*each.opts, *each.secondary_opts)}
    return given | {"--help", "-h", "--version", "--debug"}


def walked(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """The command that words name, and the words behind it."""
    words = words[1:] if words[:1] == ["--debug"] else words
    found = command(words[0]) if words else None
    rest = words[1:]
    while isinstance(found, click.Group) and rest and rest[0] in found.commands:
        found, rest = found.commands[rest[0]], rest[1:]
    return found, rest


def wrong_in(line: str) -> str:
    """What is wrong with a command line in a message; empty = nothing."""
    words = line.split()
    if words[0] not in (*COMMANDS, "--debug"):
        return ""  # prose: `ganglion has`
    found, rest = walked(words)
    if found is None:
        return f"there is no command {line!r}" if words[0] != "--debug" else ""
    own = rest[: rest.index("--")] if "--" in rest else rest
    unknown = {word.partition("=")[0] for word in own if OPTION.match(word)} - options(found)
    return f"{line!r}: no option {', '.join(sorted(unknown))}" if unknown else ""


def every_option() -> set[str]:
    found, left = set[str](), [each for name in COMMANDS if (each := command(name))]
    while left:
        each = left.pop()
        found |= options(each)
        left += each.commands.values() if isinstance(each, click.Group) else []
    return found


def test_every_command_line_in_a_message_can_be_typed() -> None:
    lines = [(place, line) for place, text in texts() for line in LINE.findall(text)]
    assert len(lines) > 60
    assert [(place, wrong) for place, line in lines if (wrong := wrong_in(line))] == []


def test_every_option_in_a_message_is_one_of_some_command() -> None:
    known, wrong = every_option(), []
    for place, text in texts():
        own = text.partition(" -- ")[0]  # what follows is another program
        # A word alone is an argument of a program that is started, no message.
        if " " in own and not place.startswith(FOREIGN) and not OTHERS.search(own):
            wrong += [(place, each) for each in OPTION.findall(own) if each not in known]
    assert wrong == []


def every_key() -> set[str]:
    """Every key of every file that people write, and every other name of one."""
    words = [each.VOCABULARY for each in (schema, policy_schema, cluster_schema, bookings, desired)]
    keys = {key for each in words for scope in each.keys.values() for key in scope}
    return keys | {name for each in words for scope in each.aliases.values() for name in scope}


def unknown_keys(text: str, known: set[str]) -> list[str]:
    """Keys that a message writes out, as `key: value`, and that no file has."""
    return [key for key in KEY.findall(text) if key not in known]


def test_every_key_that_a_message_writes_out_is_one_of_some_file() -> None:
    known, own = every_key(), [each for each in texts() if each[0].startswith(FILES)]
    assert sum(bool(KEY.search(text)) for _, text in own) > 25
    assert [(place, wrong) for place, text in own if (wrong := unknown_keys(text, known))] == []


def test_a_key_that_is_not_there_is_found() -> None:
    assert unknown_keys("write `replica: 0..4`, or `nodes: 2`", every_key()) == ["replica"]


@pytest.mark.parametrize("line", ["cancel x --now", "policy apply x --force", "ps --al"])
def test_an_option_that_is_not_there_is_found(line: str) -> None:
    assert "no option --" in wrong_in(line)


def test_the_test_reads_values_in_messages_as_words() -> None:
    (node,) = ast.parse('f"ganglion cancel {job.id} --force"').body
    assert isinstance(node, ast.Expr)
    assert wrong_in(LINE.findall(text_of(node.value))[0]) == ""
