"""`ganglion queues`."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import rich_click as click

from ganglion.cli.connection.connect import complete_queues, connect
from ganglion.cli.options import command, list_output, settings
from ganglion.cli.output.formats import DASH, memory, milli
from ganglion.cli.output.tables import Column, print_list
from ganglion.cli.queues.describe import describe_queue, tightest
from ganglion.model.errors import InputError, Stale

if TYPE_CHECKING:
    from ganglion.api.queues import Amount, QueueView
    from ganglion.client import Client

Document = dict[str, Any]

TRIES = 5
"""How often a change is made anew because another editor was faster."""
AMOUNT = re.compile(r"(?:(?P<flavor>[^:\s]+):)?(?P<gpus>\d+(\.\d{1,3})?)")


@click.group(
    "queues", cls=click.RichGroup, invoke_without_command=True, context_settings=settings()
)
@list_output
@click.pass_context
def queues(ctx: click.Context, form: str) -> None:
    """List, describe, set and delete queues.

    Without a command below, they are listed. QUOTA is guaranteed, LIMIT the most they may use,
    both in GPUs by flavor; * is all flavors together. With -o wide, DESERVED is what they are
    entitled to now, AT RISK what others may reclaim, BINDS the limit of GPUs that leaves least
    now, with the queue above whose rule it is, and PAST the GPUs that past use counts like.
    """
    if ctx.invoked_subcommand:
        return
    with connect() as client:
        print_list(_in_tree_order(client.queues()), COLUMNS, form, empty="no queues")


@command(
    "set",
    "queues set research --parent acme --quota H100:8 --limit 12",
    "queues set research --weight 2",
    "queues set research --file research.yaml",
)
@click.argument("name", shell_complete=complete_queues)
@click.option("--parent", metavar="NAME", shell_complete=complete_queues, help="Parent queue.")
@click.option("--quota", multiple=True, metavar="GPUS", help="Guaranteed: 8, or H100:8 by flavor.")
@click.option("--limit", multiple=True, metavar="GPUS", help="Most it may use: 12, or H100:12.")
@click.option("--weight", type=click.IntRange(0), help="Weight in dividing what is beyond quotas.")
@click.option("--priority", type=int, help="Priority in that division; higher first.")
@click.option("--max-pending", type=click.IntRange(0), help="Most waiting workloads; 0 = no bound.")
@click.option(
    "--file",
    metavar="FILE",
    help="All its rules as YAML, in keys of a cluster file; - = standard input.",
)
def set_queue(
    name: str,
    quota: Sequence[str],
    limit: Sequence[str],
    file: str | None,
    **flags: str | int | None,
) -> None:
    """Make a queue, or change one.

    Options that are left out keep what an existing queue has. Of a file everything counts: what
    it leaves out is as for a new queue.
    """
    changes = {key: value for key, value in flags.items() if value is not None}
    amounts = {"quota": dict(map(_amount, quota)), "limit": dict(map(_amount, limit))}
    if file and (changes or any(amounts.values())):
        raise InputError("a file gives all rules of a queue", "leave the other options out")
    with connect() as client:
        if file:
            client.set_queue(name, _read(file))
        else:
            _change(client, name, changes, amounts)
    click.echo(f"queue {name} set")


@command("delete", "queues delete research")
@click.argument("name", shell_complete=complete_queues)
def delete_queue(name: str) -> None:
    """Delete a queue that has no workloads and no queues below it."""
    with connect() as client:
        client.delete_queue(name)
    click.echo(f"queue {name} deleted")


queues.add_command(describe_queue)
queues.add_command(set_queue)
queues.add_command(delete_queue)


def _read(file: str) -> Document:
    """Read the rules of a queue from a file. Raises FileError, FieldError."""
    from ganglion.specs.reading.text import decode, read
    from ganglion.specs.reading.yaml import parse_document
    from ganglion.specs.wording import first_of

    raw, name = read(file)
    found = parse_document(decode(raw, name), name, "queue")
    if found.problems:
        raise first_of(found.problems)
    return dict(found.data)


def _amount(text: str) -> tuple[str, Document]:
    """Read `8` or `H100:8` as (flavor, amount)."""
    found = AMOUNT.fullmatch(text)
    if not found:
        raise InputError(f"not a number of GPUs: {text!r}", "as 8, or H100:8")
    return found["flavor"] or "*", {"gpus": found["gpus"]}


def _change(
    client: "Client", name: str, changes: Document, amounts: Document, tries: int = TRIES
) -> None:
    """Change what was asked for and keep the rest, whatever another editor changes meanwhile."""
    found = next((queue for queue in client.queues() if queue.name == name), None)
    document: Document = {"quota": {}, "limit": {}} | (found.document if found else {}) | changes
    for key, given in amounts.items():
        document[key] = document[key] | given
    try:
        client.set_queue(name, document, etag=found.etag if found else "")
    except Stale:
        if tries <= 1:
            raise
        _change(client, name, changes, amounts, tries - 1)


def _in_tree_order(found: "Sequence[QueueView]") -> "list[QueueView]":
    """Return parents before their children, each family by name."""
    names = {queue.name: queue for queue in found}

    def path(queue: "QueueView") -> tuple[str, ...]:
        parent = names.get(queue.parent)
        return (*(path(parent) if parent else ()), queue.name)

    return sorted(found, key=path)


def _amounts(amounts: "dict[str, Amount]") -> str:
    """Return amounts in short: `H100:8 *:64cpu`."""
    parts = []
    for flavor, amount in amounts.items():
        if amount.gpu_milli is not None:
            parts.append(f"{flavor}:{milli(amount.gpu_milli)}")
        if amount.cpu_milli is not None:
            parts.append(f"{flavor}:{milli(amount.cpu_milli)}cpu")
        if amount.memory_mib is not None:
            parts.append(f"{flavor}:{memory(amount.memory_mib)}")
    return " ".join(parts) or DASH


def _binds(queue: "QueueView") -> str:
    """Return the limit that leaves least, and whose it is: `12 of acme`."""
    bound = tightest(queue)
    if bound is None:
        return DASH
    flavor = "" if bound.flavor == "*" else f"{bound.flavor}:"
    origin = "" if bound.queue == queue.name else f" of {bound.queue}"
    return f"{flavor}{milli(bound.most)}{origin}"


COLUMNS: "list[Column[QueueView]]" = [
    Column("QUEUE", lambda q: q.name),
    Column("PARENT", lambda q: q.parent or DASH),
    Column("QUOTA", lambda q: _amounts(q.quota), least=12),
    Column("LIMIT", lambda q: _amounts(q.limit), least=12),
    Column("USED", lambda q: milli(q.gpu_used_milli), right=True),
    Column("DESERVED", lambda q: milli(q.deserved_gpu_milli), right=True, wide=True),
    Column("AT RISK", lambda q: milli(q.reclaimable_gpu_milli), right=True, wide=True),
    Column("BINDS", _binds, wide=True),
    Column("PAST", lambda q: milli(q.past.gpu_milli) if q.past else DASH, right=True, wide=True),
    Column("RUNNING", lambda q: str(q.running), right=True),
    Column("WAITING", lambda q: str(q.waiting), right=True),
    Column("WEIGHT", lambda q: str(q.over_quota_weight), right=True, wide=True),
    Column("PRIORITY", lambda q: str(q.priority), right=True, wide=True),
    Column("LEND LIMIT", lambda q: _amounts(q.lend_limit), wide=True),
    Column("MAX PENDING", lambda q: str(q.max_pending or DASH), right=True, wide=True),
]
