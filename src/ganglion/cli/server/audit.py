"""`ganglion audit`."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, output, settings, since_ms
from ganglion.cli.output.event_lines import kept
from ganglion.cli.output.formats import DASH, clock, now_ms, plural
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.cli.server.audit_trail import placement, show, trail
from ganglion.cli.server.ledger import DB, downloaded, is_elsewhere, is_served, reading
from ganglion.extras import require

if TYPE_CHECKING:
    from ganglion.api.access import HoldView
    from ganglion.api.past.trail import AnchorCopy
    from ganglion.audit.notes import PublicKey
    from ganglion.audit.verify import AuditFlaw, AuditVerdict

SHOWN = 20
"""Flaws that are printed; -o json has all of them."""

FILE = click.Path(path_type=Path, dir_okay=False)

NAME = click.argument("name")


@click.group("audit", cls=click.RichGroup, context_settings=settings())
def audit() -> None:
    """Read, export and verify the audit trail.

    The trail is the ledger of $GANGLION_HOME, or ~/.ganglion. The commands read it directly, with
    or without a running server. Where $GANGLION_URL or a login names another server, they ask
    that one, which needs role auditor or admin on the whole fleet. `export` has a running server
    sign what is new. verify FILE needs nothing but the file.
    """
    require("server")


@command(
    "export",
    "audit export audit.jsonl",
    "audit export --format csv - > audit.csv",
    "audit export --format syslog audit.log",
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "syslog"]),
    default="jsonl",
    show_default=True,
    help="jsonl proves itself; csv and syslog (RFC 5424) are for other programs.",
)
@DB
def export(file: Path, form: str, db: str) -> None:
    """Write the audit trail to a file.

    The file holds every event and the signed checkpoints, and proves itself: `ganglion audit
    verify FILE` checks it on any machine. FILE - is the standard output. Of the formats csv and
    syslog each record names the checksum of its event, and the file as a whole proves nothing.
    """
    from ganglion.audit.export import exported
    from ganglion.audit.folder import AuditFolder
    from ganglion.audit.forms import as_csv, as_syslog
    from ganglion.audit.records import records

    if form == "jsonl":
        if is_served(db):
            with connect() as client, client.access.audit_export() as parts:
                _written(file, parts)
        else:
            with reading(db) as reader:
                _written(file, exported(reader, AuditFolder(_home())))
        if str(file) != "-":
            note(f"To check it: ganglion audit verify {file}")
        return
    with trail(None, db) as (rows, context):
        found = records(rows, context)
        own = AuditFolder(_home()).public()
        host = own.name.partition("/")[0] if own else ""
        _written(file, as_csv(found) if form == "csv" else as_syslog(found, host))


@command(
    "verify",
    "audit verify",
    "audit verify audit.jsonl --key audit.pub --anchor /mnt/anchor/checkpoints",
)
@click.argument("file", metavar="[FILE]", type=FILE, required=False)
@click.option(
    "--key",
    default="",
    metavar="KEY|FILE",
    help="Public key of the log (default: the home's, else the one that the file names).",
)
@click.option(
    "--anchor",
    "anchors",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Checkpoints that lie elsewhere: a file, a syslog file, a git repository, or copies of"
    " a bucket's objects in a folder.",
)
@DB
@output("text", "json")
def verify(file: Path | None, key: str, anchors: tuple[Path, ...], db: str, form: str) -> int:
    """Check an export, or the ledger itself, and name every event that is wrong.

    Exit code 0: everything is as it was signed. 1: something is wrong. 2: there is nothing that
    could be checked. Events since the last checkpoint are not signed yet, which is no flaw.
    """
    from msgspec.structs import asdict

    from ganglion.audit.anchored import read_anchor
    from ganglion.audit.verify import named_key, verified

    with _source(file, db) as (lines, beside):
        named = named_key(lines())
        trusted = _key(key, named.name)
        held = [read_anchor(each, trusted or named) for each in anchors]
        found = verified(lines(), trusted, held)
        found.flaws += beside()
    if form == "json":
        print_data(asdict(found) | {"sound": found.sound, "unsigned": found.unsigned}, form)
    else:
        _print(found, str(file or ("the server" if is_elsewhere(db) else "")))
    return 0 if found.sound else 1


@command("anchors", "audit anchors", "audit anchors -o json")
@list_output
def anchors(form: str) -> int:
    """Say how far each anchor is, and warn of those that are late.

    UP TO is the newest event that a checkpoint in the anchor covers, with all before, and BEHIND
    how many events there are since. The command asks the running server, which verifies nothing
    for it: that is what `ganglion audit verify --anchor` does.

    Exit code 0: nothing is late. 1: an event was not signed, or is not in an anchor, twice as
    long after it was written as that may take.
    """
    with connect() as client:
        found = client.access.audit_anchors()
    columns: list[Column[AnchorCopy]] = [
        Column("ANCHOR", lambda each: each.where, key=True),
        Column("UP TO", lambda each: str(each.events or DASH), right=True),
        Column("WRITTEN", lambda each: clock(each.at) if each.at else DASH),
        Column("BEHIND", lambda each: str(each.behind), right=True),
        Column("SINCE", lambda each: clock(each.since) if each.since else DASH, wide=True),
        Column("STATE", _state, least=8),
    ]
    print_list(found.items, columns, form, empty="no anchors")
    signed = f"signed up to event {found.signed} of {found.head}"
    note(f"{signed}, for which the limit is {found.signs_within // 1000} s")
    if found.late:
        since = clock(found.unsigned_since)
        note(f"late: {plural(found.unsigned, 'event')} since {since} not signed. {found.problem}")
    if not found.items:
        note("Without an anchor the owner of the home could rewrite all of it: see audit.yaml")
    return 1 if found.late or any(each.late for each in found.items) else 0


def _state(copy: "AnchorCopy") -> str:
    """How an anchor is, in a word, and why."""
    if not copy.late:
        return copy.problem or ("ok" if copy.events else "no checkpoint yet")
    return f"late: {copy.problem}" if copy.problem else "late"


@click.group("hold", cls=click.RichGroup, context_settings=settings())
def hold() -> None:
    """Keep events in the ledger for a legal case.

    While a hold lasts, no event of its time leaves the ledger, whatever retention.json says. The
    commands ask the running server, and each is an event itself.
    """


@command(
    "add",
    "audit hold add case-117 --reason 'case 26-117'",
    "audit hold add case-117 --since 2026-10-01 --reason 'case 26-117'",
)
@NAME
@click.option("--reason", required=True, help="Why, as the name of a case.")
@click.option(
    "--since",
    metavar="TIME",
    default="all",
    show_default=True,
    help="Events at or after it stay: 24h (ago), 2026-11-01, 2026-11-01T08:00; all = every event.",
)
def add(name: str, reason: str, since: str) -> None:
    """Place a hold."""
    with connect() as client:
        made = client.access.place_hold(name, reason, since_ms(since, now_ms()))
    click.echo(f"hold {made.name}: {kept(made.since)} until it is released")


@command("release", "audit hold release case-117")
@NAME
def release(name: str) -> None:
    """End a hold; what it kept leaves as retention.json says."""
    with connect() as client:
        client.access.release_hold(name)
    click.echo(f"hold {name} is released")


@command("list", "audit hold list", "audit hold list -o json")
@list_output
def list_holds(form: str) -> None:
    """List holds that were not released."""
    columns: list[Column[HoldView]] = [
        Column("HOLD", lambda each: each.name, key=True),
        Column("SINCE", lambda each: clock(each.since) if each.since else "all"),
        Column("PLACED", lambda each: clock(each.at)),
        Column("BY", lambda each: each.by),
        Column("REASON", lambda each: each.reason, least=8),
    ]
    with connect() as client:
        print_list(client.access.holds(), columns, form, empty="no holds")


for each in (add, release, list_holds):
    hold.add_command(each)


@command("erase", "audit erase eve --reason 'request of 2030-01-07'")
@click.argument("user")
@click.option("--reason", required=True, help="Why, as a request of the user.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def erase(user: str, reason: str, yes: bool) -> None:
    """Erase the name of a user from the ledger, for good.

    The chain covers salted digests of names, so that everything that was signed verifies as
    before. Grants, tokens and sessions of the user end. It is refused while a legal hold lasts,
    and while the user has work, schedules or secrets. Exports, backups and archives that were made
    before keep the name.
    """
    from ganglion.model.errors import InputError

    if not yes:
        if not sys.stdin.isatty():
            what = f"the name {user} is erased for good"
            raise InputError(what, "there is no terminal to confirm on: add --yes")
        click.confirm(f"Erase the name {user} for good?", abort=True, err=True)
    with connect() as client:
        found = client.access.erase(user, reason)
    click.echo(f"the name is erased: events show {found.token}")
    if found.clear:
        note(f"{plural(found.clear, 'event')} of an earlier version still hold it in clear")


for each in (show, placement, export, verify, anchors, hold, erase):
    audit.add_command(each)


def _print(found: "AuditVerdict", file: str) -> None:
    span = f"events {found.first}..{found.last}" if found.events else "no events"
    click.echo(f"{file or 'ledger'}: {span} of log {found.log}, key {found.key}")
    if found.after:
        said = "events before it were cut off"
        click.echo(f"minimum index {found.after + 1}: {said}")
    click.echo(f"{plural(found.checkpoints, 'checkpoint')}, signed up to event {found.signed}")
    for where, seq in found.covered.items():
        click.echo(f"anchored up to event {seq} by {where}")
    alone = found.signed - found.anchored
    if found.covered and alone > 0:
        click.echo(
            f"signed, and in no anchor: {plural(alone, 'event')} after event {found.anchored}"
        )
    if found.unsigned:
        click.echo(f"unsigned tail: {plural(found.unsigned, 'event')} since the last checkpoint")
    if found.flaws:
        first = found.flaws[0]
        place = f"event {first.seq}" if first.seq else ""
        line = f"line {first.line}" if file and first.line else ""
        click.echo(f"first bad record: {', '.join(filter(None, (place, line))) or 'none'}")
    for flaw in found.flaws[:SHOWN]:
        click.echo(flaw.problem)
    if len(found.flaws) > SHOWN:
        click.echo(f"and {len(found.flaws) - SHOWN} more: -o json lists them all")
    click.echo("sound" if found.sound else plural(len(found.flaws), "flaw"))
    if not found.trusted:
        note("The key is what the file itself names: compare it with the owner's, or give --key")


def _home() -> Path:
    from ganglion.client.home import home

    return home()


def _key(text: str, log: str) -> "PublicKey | None":
    """The key to trust; None = only the file names one. Raises InputError: it is none."""
    from ganglion.audit.folder import AuditFolder
    from ganglion.audit.notes import key_of
    from ganglion.model.errors import InputError

    if not text:
        own = AuditFolder(_home()).public()
        return own if own and own.name == log else None
    try:
        found = key_of(Path(text).read_text("utf-8") if Path(text).is_file() else text)
    except (ValueError, OSError) as error:
        raise InputError(f"--key: {error}", "it lies in the home: audit/public-key") from error
    return found


@contextmanager
def _source(
    file: Path | None, db: str
) -> Iterator[tuple[Callable[[], Iterator[bytes]], Callable[[], "Iterable[AuditFlaw]"]]]:
    """What is checked.

    Returns:
        the lines of a file, or those that an export of the ledger would have, from the beginning;
        and what is wrong beside them.
    """
    from ganglion.audit.export import exported
    from ganglion.audit.folder import AuditFolder
    from ganglion.audit.sealing import contradicted

    if file:
        yield partial(_of_file, file), tuple
        return
    if is_elsewhere(db):
        with downloaded() as found:
            yield partial(_of_file, found), tuple
        return
    folder = AuditFolder(_home())
    with reading(db) as reader:
        yield partial(exported, reader, folder), partial(contradicted, reader, folder)


def _of_file(file: Path) -> Iterator[bytes]:
    from ganglion.audit.verify import LONGEST
    from ganglion.model.errors import FileError

    try:
        with file.open("rb") as opened:
            yield from iter(partial(opened.readline, LONGEST + 2), b"")
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}", "name an export") from error


def _written(file: Path, lines: Iterable[bytes]) -> None:
    """Write lines to a file of the owner's, which appears when it is complete."""
    from ganglion.model.errors import Conflict, EnvironmentFault

    if str(file) == "-":
        for line in lines:
            sys.stdout.buffer.write(line)
        return
    if file.exists():
        raise Conflict(f"{file} is there already", "name another file, or move it away")
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(scratch, flags, 0o600), "wb") as out:
            out.writelines(lines)
            out.flush()
            os.fsync(out.fileno())
        scratch.rename(file)
    except OSError as error:
        raise EnvironmentFault(f"cannot write {file}: {error.strerror}", "") from error
    finally:
        scratch.unlink(missing_ok=True)
