"""What differs between two policies, as text for people."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ganglion.cli.output.formats import plural
from ganglion.cli.output.screen import is_coloured

if TYPE_CHECKING:
    from ganglion.api.policies import PolicyChange

SHOWN = 3
"""Most changes that a summary names."""


def print_changes(changes: "Sequence[PolicyChange]") -> None:
    """Print one line per change: `~` differs, `+` is new, `-` is gone."""
    width = max((len(each.key) for each in changes), default=0)
    for each in changes:
        for sign, colour, text in _lines(each, width):
            line = f"{sign} {text}".rstrip()
            click.echo(click.style(line, fg=colour), color=is_coloured())


def _lines(change: "PolicyChange", width: int) -> Iterator[tuple[str, str, str]]:
    key = change.key.ljust(width)
    if change.before is None:
        yield "+", "green", f"{key}  {change.after}"
    elif change.after is None:
        yield "-", "red", f"{key}  {change.before}"
    else:
        yield "~", "yellow", f"{key}  {change.before} -> {change.after}"


def summary(changes: "Sequence[PolicyChange]") -> str:
    """Say in short what differs: `2 changes: evict.restart, order`."""
    if not changes:
        return "it changes nothing"
    named = ", ".join(each.key for each in changes[:SHOWN])
    more = ", …" if len(changes) > SHOWN else ""
    return f"{plural(len(changes), 'change')}: {named}{more}"
