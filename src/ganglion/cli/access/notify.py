"""`ganglion notify`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, settings
from ganglion.cli.output.formats import DASH
from ganglion.cli.output.tables import Column, print_list
from ganglion.model.behaviour import WAITING
from ganglion.model.errors import InputError

if TYPE_CHECKING:
    from ganglion.api.access import NoticeChoice

HINT = "as ada@example.org=failure,preemption or secret:SLACK_HOOK=end"


@click.group(
    "notify", cls=click.RichGroup, invoke_without_command=True, context_settings=settings()
)
@list_output
@click.pass_context
def notify(ctx: click.Context, form: str) -> None:
    """Choose what you are notified of.

    It counts for your workloads that do not say `notify` in their file. Without a choice, what
    notify.yaml of the server says is sent. Without a command below, the choice is listed.
    """
    if ctx.invoked_subcommand:
        return
    columns: list[Column[NoticeChoice]] = [
        Column("ON", _events),
        Column("MAIL", lambda each: ", ".join(each.mail) or DASH),
        Column("WEBHOOK", lambda each: ", ".join(each.webhook) or DASH),
        Column("SIGNING KEY", lambda each: each.signing_key or DASH, wide=True),
    ]
    with connect() as client:
        found = client.access.notices()
        print_list(found, columns, form, empty="nothing chosen: what the server says is sent")


@command(
    "set",
    "notify set ada@example.org=failure,preemption",
    "notify set ada@example.org=failure secret:SLACK_HOOK=start,end",
    "notify set ada@example.org=waiting:30m",
)
@click.argument("choices", metavar="RECIPIENT=EVENTS...", nargs=-1, required=True)
@click.option(
    "--signing-key",
    default="",
    metavar="secret:NAME",
    help="Key that signs what they get.",
)
def set_notices(choices: tuple[str, ...], signing_key: str) -> None:
    """Choose which events reach which recipients, in place of what was chosen before.

    RECIPIENT is a mail address, a URL, or secret:NAME, a secret of yours that holds a URL. EVENTS
    are start, end, failure, preemption, budget and waiting, with commas between; waiting:30m is
    sent once a workload has waited for 30 minutes, waiting after an hour.
    """
    items = [_choice(each, signing_key) for each in choices]
    with connect() as client:
        client.access.set_notices(items)
    click.echo(f"notified from now on: {', '.join(each.rpartition('=')[0] for each in choices)}")


@command("off", "notify off")
def off() -> None:
    """Choose nothing: what notify.yaml of the server says is sent."""
    with connect() as client:
        client.access.set_notices([])
    click.echo("nothing chosen: what the server says is sent")


notify.add_command(set_notices)
notify.add_command(off)


def _events(choice: "NoticeChoice") -> str:
    timed = {WAITING: f"{WAITING}:{choice.waiting}"} if choice.waiting else {}
    return ", ".join(timed.get(each, each) for each in choice.on)


def _choice(text: str, signing_key: str) -> dict[str, object]:
    """Read RECIPIENT=EVENTS. Raises InputError."""
    recipient, _, events = text.rpartition("=")
    if not recipient or not events:
        raise InputError(f"{text!r} does not say whom to notify of what", HINT)
    named = dict(each.strip().partition(":")[::2] for each in events.split(","))
    waits = {"waiting": named[WAITING]} if named.get(WAITING) else {}
    if odd := next((name for name, rest in named.items() if rest and name != WAITING), None):
        raise InputError(f"{odd!r} has no length of time", "only waiting has one, as waiting:30m")
    on = list(named)
    if "@" in recipient and "://" not in recipient:
        return {"on": on, "mail": [recipient], **waits}
    signed = {"signing_key": signing_key} if signing_key else {}
    return {"on": on, "webhook": [recipient], **signed, **waits}
