"""`ganglion helper`."""

import os
import sys
from pathlib import Path

import rich_click as click

import ganglion
from ganglion.cli.options import command
from ganglion.helper.policy import PATH

MODULE = "ganglion.helper.__main__"


@command("helper", "helper", "helper --policy /etc/ganglion/helper.toml")
@click.option(
    "--policy",
    default=str(PATH),
    show_default=True,
    metavar="FILE",
    help="Whose programs are started, and who may ask; only root may be able to write it.",
)
def helper(policy: str) -> None:
    """Start programs as the users who submitted them (root).

    A shared host needs it beside the server, which has no rights of its own. It runs until it is
    ended; what it started goes on without it.
    """
    python = [sys.executable, "-S", "-P", "-m", MODULE, str(Path(policy).absolute())]
    packages = {"PYTHONPATH": str(Path(ganglion.__file__).parents[1])}
    os.execve(sys.executable, python, {"PATH": os.defpath} | packages)
