"""`ganglion whatif`."""

import re
from typing import TYPE_CHECKING, Any

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import HELP_STYLE, command, list_output, moment, output
from ganglion.cli.output.formats import clock, now_ms
from ganglion.cli.output.screen import bar, note
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.cli.whatif.report import print_report
from ganglion.model.errors import FieldError, StateError

if TYPE_CHECKING:
    from ganglion.api.whatif.report import WhatIf
    from ganglion.client import Client

HOUR = re.compile(r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)")
UNSENT = ("env", "secrets")
"""Keys of a workload that is not submitted: no program of it runs."""
EXAMPLES = (
    "whatif",
    "whatif --policy new.yaml --since 7d",
    "whatif --nodes +4xH100:8 --queue research=quota:H100:16,weight:2",
    "whatif --submit job.yaml --at 14:00",
    "whatif --cluster east --nodes +2xH100:8",
    "whatif show wi-1f0c77aa",
)
HELP = """Ask what would have happened, had something been otherwise.

Replay the past of the ledger twice: as it was, and with the change. How far the first replay is
from what really happened is the error bar; a difference below it is none we can see. Without any
change, print only the error bar. A process of low priority on the server does the work.

\b
Examples:
""" + "\n".join(f"  ganglion {each}" for each in EXAMPLES)


@click.group(
    "whatif",
    cls=click.RichGroup,
    invoke_without_command=True,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "rich_help_config": HELP_STYLE},
)
@click.option("--policy", metavar="FILE", help="Policy file or preset in force all the time.")
@click.option(
    "--nodes",
    multiple=True,
    metavar="NODES",
    help="Nodes that join (+4xH100:8) or leave (-2xH100); may be repeated.",
)
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME=SETTINGS",
    help="Settings of a queue, as research=quota:H100:16,limit:24,weight:2; may be repeated.",
)
@click.option(
    "--queue-rules",
    "rules",
    metavar="FILE",
    help="All rules of queues as YAML: name of a queue, and its keys of a cluster file.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="FLAVOR=AMOUNT",
    help="Price of a GPU-hour, as H100=2.50; may be repeated.",
)
@click.option("--submit", metavar="FILE", help="Workload file that is submitted as well.")
@click.option(
    "--at", default="", metavar="TIME", help="When: 14:00 (the last one), 24h (ago), or a date."
)
@click.option(
    "--since", default="7d", show_default=True, metavar="TIME", help="Begin: 7d (ago), or a date."
)
@click.option(
    "--until", default="", metavar="TIME", help="End: 1h (ago), or a date. [default: now]"
)
@click.option(
    "--cluster", default="", metavar="NAME", help="Past of a cluster that delivers to the server."
)
@click.option("-d", "--detach", is_flag=True, help="Print the id; do not wait for the answer.")
@output("text", "wide", "json", "yaml")
@click.pass_context
def whatif(ctx: click.RichContext, /, form: str, *, detach: bool, **asked: Any) -> None:  # noqa: ANN401 - of click
    """Ask what would have happened, had something been otherwise."""
    if ctx.invoked_subcommand:
        return
    with connect() as client:
        made = client.what_ifs.ask(**_question(**asked))
        if detach:
            click.echo(made.id)
            return
        _finish(client, made, form)


@command("show", "whatif show wi-1f0c77aa", "whatif show wi-1f0c77aa -o json")
@click.argument("key", metavar="ID")
@output("text", "wide", "json", "yaml")
def show_whatif(key: str, form: str) -> None:
    """Print the answer to a question; wait for it while it is worked on."""
    with connect() as client:
        _finish(client, client.what_ifs.show(key), form)


@command("list", "whatif list")
@list_output
def list_whatifs(form: str) -> None:
    """List questions, the newest first."""
    with connect() as client:
        found = client.what_ifs.list()
    print_list(found, COLUMNS, form, empty="nothing was asked")


whatif.add_command(show_whatif)
whatif.add_command(list_whatifs)


def policy_question(client: "Client", text: str, file: str) -> None:
    """Ask what a policy would have done in the last seven days, and print the answer."""
    _finish(client, client.what_ifs.ask(policy=text, file=file), "text")


def _question(
    policy: str | None,
    submit: str | None,
    at: str,
    since: str,
    until: str,
    cluster: str,
    rules: str | None,
    **lists: tuple[str, ...],
) -> dict[str, Any]:
    """What is sent: files read, and times in ms."""
    from ganglion.specs.policy.policy import source_of

    now = now_ms()
    found: dict[str, Any] = {**lists, "since": str(moment(since, now, "--since"))}
    if cluster:
        found["cluster"] = cluster
    if until:
        found["until"] = str(moment(until, now, "--until"))
    if rules:
        found["rules"] = _rules(rules)
    if policy:
        found["policy"], found["file"] = source_of(policy)
    if submit:
        found["workload"], found["at"] = _workload(submit), str(_hour(at, now))
    elif at:
        raise FieldError("there is nothing to submit", key="--at", hint="add --submit FILE")
    return found


def _rules(file: str) -> dict[str, Any]:
    """Read the rules of queues by their names. Raises FileError, FieldError."""
    from ganglion.specs.reading.text import decode, read
    from ganglion.specs.reading.yaml import parse_document
    from ganglion.specs.wording import first_of

    raw, name = read(file)
    found = parse_document(decode(raw, name), name, "rules of queues")
    if found.problems:
        raise first_of(found.problems)
    for queue, rules in found.data.items():
        if not isinstance(rules, dict | None):
            raise FieldError(
                f"{name}: queue {queue} has no rules", key="--queue-rules", hint="as weight: 2"
            )
    return {queue: rules or {} for queue, rules in found.data.items()}


def _workload(path: str) -> dict[str, Any]:
    from ganglion.cli.submission.documents import from_files

    jobs = from_files([path], {})
    if len(jobs) != 1:
        raise FieldError(f"{path} has {len(jobs)} workloads", key="--submit", hint="give just one")
    return {key: each for key, each in jobs[0].document.items() if key not in UNSENT}


def _hour(text: str, now: int) -> int:
    """Read `14:00`, the last one before now, or what `moment` reads."""
    from datetime import datetime, timedelta

    if not text:
        hint = "as --at 14:00, or --at 24h"
        raise FieldError("say when it would have been submitted", key="--at", hint=hint)
    found = HOUR.fullmatch(text.strip())
    if not found:
        return moment(text, now, "--at")
    here = datetime.fromtimestamp(now / 1000).astimezone()
    wanted = here.replace(
        hour=int(found["hour"]), minute=int(found["minute"]), second=0, microsecond=0
    )
    if wanted > here:
        wanted -= timedelta(days=1)
    return int(wanted.timestamp() * 1000)


def _finish(client: "Client", made: "WhatIf", form: str) -> None:
    """Wait for the answer, and print it."""
    with bar() as drawn:
        found = client.what_ifs.wait(
            made.id, lambda each: drawn(each.done_permille, 1000, f"{each.id} {each.state}")
        )
    if found.state == "failed":
        raise StateError(found.message)
    if form in ("json", "yaml"):
        print_data(found, form)
        return
    print_report(found, wide=form == "wide")
    note(f"kept as {found.id}: ganglion whatif show {found.id}")
    if found.url:
        note(f"in the portal: {client.url if found.url.startswith('/') else ''}{found.url}")


COLUMNS: "list[Column[WhatIf]]" = [
    Column("ID", lambda each: each.id, key=True),
    Column("ASKED", lambda each: clock(each.at)),
    Column("USER", lambda each: each.user),
    Column("STATE", lambda each: each.state),
    Column("CHANGES", lambda each: "; ".join(each.changes) or "nothing", least=20),
]
