"""The root command: lists all commands without importing one of them."""

import importlib
from difflib import get_close_matches

import click

from ganglion.cli.registry import COMMANDS, MOVED, SECTIONS
from ganglion.cli.verbose import with_verbose


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called.

    It is a plain Click group on purpose: drawing help with Rich costs more than the whole
    start-up budget. The commands themselves are drawn by rich-click in the same layout.
    """

    # Click fixes the arguments.
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All listed command names, in the order of the registry."""
        return list(COMMANDS)

    # Click fixes the arguments.
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command. None when no such command exists."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return with_verbose(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of `args`, or fail with the names that come close."""
        name = args[0]
        if name.startswith("-") or name in COMMANDS:
            return super().resolve_command(ctx, args)
        if name in MOVED:
            raise click.UsageError(f"no such command: {name}; {MOVED[name]}", ctx)
        near = get_close_matches(name, COMMANDS, n=3, cutoff=0.7)
        raise click.UsageError(f"no such command: {name}{_meant(near)}", ctx)

    # Click fixes the arguments.
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the commands by section, from the registry alone."""
        width = max(map(len, COMMANDS))
        for section in SECTIONS:
            rows = [
                (name.ljust(width), entry.help)
                for name, entry in COMMANDS.items()
                if entry.section == section
            ]
            with formatter.section(section):
                formatter.write_dl(rows)


def _meant(near: list[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""
