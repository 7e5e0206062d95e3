"""`ganglion role`, `ganglion whocan` and `ganglion whoami`."""

import time
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.output.formats import clock
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.specs.grammar.money import cut_money
from ganglion.specs.grammar.names import ROLES
from ganglion.specs.grammar.times.durations import parse_duration

if TYPE_CHECKING:
    from ganglion.api.access import GrantView, HolderView, SpendCap

VERBS = ("view", "submit", "update", "stop", "enter", "change", "grant", "audit", "halt")
RESOURCES = ("workload", "queue", "fleet", "policy", "secret", "access", "token", "server")
FLEET = "the whole fleet"

on_queue = click.option(
    "-q", "--queue", default="", help="Queue, with all queues under it; default: the whole fleet."
)


@click.group("role", cls=click.RichGroup, context_settings=settings())
def role() -> None:
    """Grant and revoke roles on queues.

    A subject is a user, as eve or user:eve, or a group, as group:research.
    """


@command(
    "grant",
    "role grant eve viewer",
    "role grant group:ml submitter -q research --for 30d",
    "role grant eve admin --break-glass",
)
@click.argument("subject")
@click.argument("name", metavar="ROLE", type=click.Choice(ROLES))
@on_queue
@click.option("--for", "lasting", default="", help="How long it lasts, as 8h or 30d.")
@click.option(
    "--break-glass",
    is_flag=True,
    help="It gives nothing until a holder breaks the glass (ganglion break-glass).",
)
def grant(subject: str, name: str, queue: str, lasting: str, break_glass: bool) -> None:
    """Grant a role, or change when a grant ends."""
    until = round(time.time() * 1000) + parse_duration(lasting) if lasting else None
    with connect() as client:
        made = client.access.grant(_subject(subject), name, queue, until, break_glass=break_glass)
    ends = f" until {clock(made.until)}" if made.until else ""
    what = f"role {made.role} on {made.queue or FLEET}{ends}"
    if made.break_glass:
        click.echo(f"{made.subject} may break the glass for {what}")
    else:
        click.echo(f"{made.subject} has {what}")


@command("revoke", "role revoke eve viewer", "role revoke group:ml submitter -q research")
@click.argument("subject")
@click.argument("name", metavar="ROLE", type=click.Choice(ROLES))
@on_queue
def revoke(subject: str, name: str, queue: str) -> None:
    """Take a grant back."""
    with connect() as client:
        client.access.revoke(_subject(subject), name, queue)
    click.echo(f"{_subject(subject)} has role {name} on {queue or FLEET} no more")


@command("list", "role list", "role list -o json")
@list_output
def list_roles(form: str) -> None:
    """List grants."""
    with connect() as client:
        grants = client.access.roles()
    columns: list[Column[GrantView]] = [
        Column("SUBJECT", lambda each: each.subject),
        Column("ROLE", lambda each: each.role),
        Column("QUEUE", lambda each: each.queue or FLEET),
        Column("UNTIL", lambda each: clock(each.until) if each.until else ""),
        Column("GLASS", glass_of, wide=not any(map(glass_of, grants))),
        Column("BY", lambda each: each.by),
    ]
    print_list(grants, columns, form, empty="no grants")


def glass_of(grant: "GrantView") -> str:
    """Return what is said of the glass of a grant; empty = it has none."""
    if not grant.break_glass:
        return ""
    broken = (f"broken by {each.user} until {clock(each.until)}" for each in grant.broken)
    return ", ".join(broken) or "dormant"


role.add_command(grant)
role.add_command(revoke)
role.add_command(list_roles)


@command("whocan", "whocan stop workload -q research", "whocan change policy")
@click.argument("verb", type=click.Choice(VERBS))
@click.argument("resource", type=click.Choice(RESOURCES))
@on_queue
@list_output
def whocan(verb: str, resource: str, queue: str, form: str) -> None:
    """List the grants that allow something."""
    with connect() as client:
        found = client.access.whocan(verb, resource, queue)
    columns: list[Column[HolderView]] = [
        Column("SUBJECT", lambda each: each.subject),
        Column("ROLE", lambda each: each.role),
        Column("GRANTED ON", lambda each: each.queue or FLEET),
        Column("REACHES", lambda each: "its own" if each.own else "all"),
        Column("UNTIL", lambda each: clock(each.until) if each.until else ""),
        Column("GLASS", _glass_of_holder, wide=not any(map(_glass_of_holder, found.items))),
    ]
    print_list(found.items, columns, form, empty="no subject")


def _glass_of_holder(holder: "HolderView") -> str:
    return "dormant" if holder.dormant else holder.broken_by and f"broken by {holder.broken_by}"


@command("whoami", "whoami", "whoami -o json")
@output("text", "json")
def whoami(form: str) -> None:
    """Say who the server takes you for, and what you may do."""
    from ganglion.client.logins import chosen_login

    login = chosen_login()
    with connect() as client:
        me, url = client.access.whoami(), client.url
    if form == "json":
        import msgspec

        print_data(msgspec.to_builtins(me) | {"url": url, "login": login is not None}, form)
        return
    groups = f", of {', '.join(me.groups)}" if me.groups else ""
    how = "the owner of the server" if me.owner else f"by token {me.token}"
    how = f"by account {me.token}" if me.token.startswith("uid-") else how
    click.echo(f"{me.user}{groups}: {how}")
    if login:
        click.echo(f"signed in to {url} with ganglion login")
    if me.limit:
        click.echo(f"the token is limited to {me.limit}, until {clock(me.until)}")
    if me.spend_cap:
        click.echo(cap_line(me.spend_cap))
    for each in me.grants:
        ends = f" until {clock(each.until)}" if each.until else ""
        glass = f" ({glass_of(each)})" if each.break_glass else ""
        click.echo(f"{each.subject} has role {each.role} on {each.queue or FLEET}{ends}{glass}")
    if not me.grants:
        click.echo("no role was granted; ask the owner of the server: ganglion role grant")


def cap_line(cap: "SpendCap") -> str:
    """Say how the spending cap of the caller's token stands."""
    return (
        f"the spending cap of the token is {cut_money(cap.micro)} {cap.currency}:"
        f" {cut_money(cap.spent_micro)} spent, {cut_money(cap.reserved_micro)} reserved,"
        f" {cut_money(cap.left_micro)} left"
    )


def _subject(text: str) -> str:
    return text if ":" in text else f"user:{text}"
