"""`ganglion mcp`."""

import os

import rich_click as click

from ganglion.cli.options import command
from ganglion.model.errors import InputError


@command("mcp", "mcp", "mcp --read-only")
@click.option("--read-only", is_flag=True, help="Leave out the tools that change something.")
def mcp(read_only: bool) -> None:
    """Let an agent look, ask and submit by the Model Context Protocol.

    A program that acts for you starts this command, writes requests to its stdin, and reads answers
    from its stdout; see docs/agents.md. It has the rights that commands have here: your own on the
    socket of a server of yours, or those of $GANGLION_TOKEN at $GANGLION_URL.

    `submit` and `cancel` do only what was shown before: they take the plan of `would_start`, or of
    a `cancel` without one.
    """
    if os.environ.get("GANGLION_TOKEN") and not os.environ.get("GANGLION_URL"):
        raise InputError(
            "GANGLION_TOKEN is set and GANGLION_URL is not: the token would not be sent, and the"
            " agent would have all of your own rights",
            "set both, as ganglion token create says",
        )
    from ganglion.extras import require

    require("mcp")
    from ganglion.cli.agents.serving import serve

    serve(read_only=read_only)
