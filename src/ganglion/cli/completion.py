"""`ganglion completion`."""

import os
from pathlib import Path

import rich_click as click
from click.shell_completion import get_completion_class

from ganglion.cli.options import command
from ganglion.model.errors import InputError

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_GANGLION_COMPLETE"


@command(
    "completion",
    'completion bash >> ~/.bashrc        # or: eval "$(ganglion completion bash)"',
    "completion zsh >> ~/.zshrc",
    "completion fish > ~/.config/fish/completions/ganglion.fish",
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print a completion script for your shell.

    Commands, options and the names of live workloads, queues and nodes are completed.
    Without SHELL, the shell you use is taken.
    """
    from ganglion.cli.main import cli

    name = shell or Path(os.environ.get("SHELL", "")).name
    found = get_completion_class(name)
    if found is None:
        raise InputError(f"no completion for the shell {name!r}", f"one of: {', '.join(SHELLS)}")
    click.echo(found(cli, {}, "ganglion", VARIABLE).source())
