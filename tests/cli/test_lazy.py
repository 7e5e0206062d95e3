"""The table of commands tells the truth about the commands."""

from collections import defaultdict

import click
import pytest

from ganglion.cli.lazy import LazyGroup
from ganglion.cli.main import cli
from ganglion.cli.registry import COMMANDS, SECTIONS

CONTEXT = click.Context(cli)
KNOWN = ("apply", "-f")
"""As in other tools that apply files; elsewhere -f follows."""


def load(name: str) -> click.Command:
    found = cli.get_command(CONTEXT, name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_loads_and_its_help_starts_as_listed(name: str) -> None:
    assert load(name).name == name
    assert (load(name).help or "").splitlines()[0] == COMMANDS[name].help


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_in_a_section_that_is_shown(name: str) -> None:
    assert COMMANDS[name].section in SECTIONS


def test_every_command_is_in_the_help_of_the_root() -> None:
    text = cli.get_help(CONTEXT)
    assert [name for name in COMMANDS if f"\n  {name} " not in text] == []


def test_a_letter_means_the_same_in_every_command_but_apply_f_which_people_know() -> None:
    meanings: dict[str, set[str]] = defaultdict(set)
    for name in COMMANDS:
        for param in walk(load(name)):
            for letter in [o for o in param.opts if len(o) == 2 and (name, o) != KNOWN]:
                meanings[letter].add(max(param.opts, key=len))
    assert {letter: names for letter, names in meanings.items() if len(names) > 1} == {}


def walk(command: click.Command) -> list[click.Option]:
    """Visible options of a command and of all commands below it."""
    own = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    if isinstance(command, click.Group) and not isinstance(command, LazyGroup):
        own += [option for child in command.commands.values() for option in walk(child)]
    return own
