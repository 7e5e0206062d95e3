"""`ganglion secret`."""

import sys
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, settings
from ganglion.cli.output.formats import clock
from ganglion.cli.output.tables import Column, print_list
from ganglion.model.errors import InputError

if TYPE_CHECKING:
    from ganglion.api.server import SecretView


@click.group("secret", cls=click.RichGroup, context_settings=settings())
def secret() -> None:
    """Keep secrets for workloads by name.

    Workloads that name one under `secrets`, or bare in `env`, get its value as a variable of that
    name, unless the shell that they are submitted from has one.
    """


@command("set", "secret set HF_TOKEN", "secret set HF_TOKEN < token.txt")
@click.argument("name")
def set_secret(name: str) -> None:
    """Keep a value, asked for or read from standard input.

    It is never taken from the command line, which others on this machine can read.
    """
    value = _value(name)
    if not value:
        raise InputError("the value is empty", f"to forget the secret: ganglion secret rm {name}")
    with connect() as client:
        client.secrets.set(name, value)
    click.echo(f"secret {name} set; attempts that start from now on get it")


@command("list", "secret list", "secret list -o json")
@list_output
def list_secrets(form: str) -> None:
    """List the names of secrets that are kept."""
    columns: list[Column[SecretView]] = [
        Column("SECRET", lambda s: s.name),
        Column("SET", lambda s: clock(s.at)),
    ]
    with connect() as client:
        print_list(client.secrets.list(), columns, form, empty="no secrets")


@command("rm", "secret rm HF_TOKEN")
@click.argument("name")
def remove_secret(name: str) -> None:
    """Delete a secret; running attempts keep its value."""
    with connect() as client:
        client.secrets.remove(name)
    click.echo(f"secret {name} removed")


secret.add_command(set_secret)
secret.add_command(list_secrets)
secret.add_command(remove_secret)


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"Value of {name}", hide_input=True, err=True))
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")
