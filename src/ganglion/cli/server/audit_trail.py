"""`ganglion audit show` and `ganglion audit placement`."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ganglion.cli.options import command, list_output, moment, output, since_ms
from ganglion.cli.output.event_lines import details, subject
from ganglion.cli.output.formats import DASH, clock, now_ms, plural
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_data, print_list, print_pages
from ganglion.cli.server.ledger import DB, downloaded, is_elsewhere, reading

if TYPE_CHECKING:
    from ganglion.audit.export import ExportedEvent as Row
    from ganglion.audit.placements import Stay
    from ganglion.audit.records import AuditRecord, DecisionContext
    from ganglion.ledger.reader import Reader
    from ganglion.lifecycle.clusters import ClusterBooks
    from ganglion.model.events import GangPlaced

PAGE = 1_000
"""Records of one page of a table."""

FILE = click.argument(
    "file",
    metavar="[FILE]",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    required=False,
)
UNTIL = click.option("--until", metavar="TIME", help="Before: 1h (ago), 2026-12-01.")


def columns() -> "list[Column[AuditRecord]]":
    """Return the columns of a list of records."""
    return [
        Column("EVENT", lambda r: str(r.seq), right=True),
        Column("TIME", lambda r: clock(r.at)),
        Column("KIND", lambda r: r.kind),
        Column("ACTOR", lambda r: r.actor or DASH),
        Column("TOKEN", lambda r: r.token or DASH, wide=True),
        Column("AGENT", lambda r: r.agent or DASH, wide=True),
        Column("QUEUE", lambda r: r.queue or DASH, wide=True),
        Column("ABOUT", lambda r: _of(r.cluster, subject(r.event)) or DASH, key=True),
        Column("REQUEST", lambda r: r.request or DASH, wide=True),
        Column("POLICY", lambda r: DASH if r.policy is None else str(r.policy), wide=True),
        Column("SOFTWARE", lambda r: r.software or DASH, wide=True),
        Column("RULE", lambda r: r.rule or DASH, wide=True),
        Column("IMAGE", lambda r: r.image or DASH, wide=True),
        Column("MODEL", lambda r: r.model or DASH, wide=True),
        Column("RAN", lambda r: r.ran or DASH, wide=True),
        Column("OWNER", lambda r: r.owner or DASH, wide=True),
        Column("WHAT", lambda r: r.problem or details(r.event) or DASH, least=8),
    ]


@command(
    "show",
    "audit show --since 1h",
    "audit show --actor ada --queue research --since 2026-11-01",
    "audit show --node node-1 --since 7d",
    "audit show audit.jsonl --kind policy_set --kind node_cordoned -o json",
)
@FILE
@click.option(
    "--since",
    metavar="TIME",
    default="24h",
    show_default=True,
    help="At or after: 24h (ago), 2026-11-01, 2026-11-01T08:00; all = ever.",
)
@UNTIL
@click.option(
    "--actor",
    "actors",
    multiple=True,
    metavar="NAME",
    help="Only of this user, or `scheduler` for decisions; may be repeated.",
)
@click.option("-q", "--queue", default="", metavar="NAME", help="Only this queue and those below.")
@click.option(
    "--workload", default="", metavar="NAME", help="Only this workload: its id, name, or a gang."
)
@click.option(
    "--node",
    default="",
    metavar="NAME",
    help="Only this node, and attempts that have or had it; of a cluster CLUSTER:NODE.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Only events of this type, as policy_set; may be repeated.",
)
@click.option("--glass", is_flag=True, help="Only what broken glass allowed (break-glass).")
@DB
@list_output
def show(
    file: Path | None,
    since: str,
    until: str | None,
    actors: tuple[str, ...],
    queue: str,
    workload: str,
    node: str,
    kinds: tuple[str, ...],
    glass: bool,
    db: str,
    form: str,
) -> None:
    """List who did what, and what was decided, from the ledger or from an export.

    ACTOR is the user that an event names, `scheduler` for decisions, and a dash where the event
    names none. Nothing is verified: that is what `ganglion audit verify` does.
    """
    from ganglion.audit.records import WantedRecords, records

    begin, end = _period(since, until)
    wanted = WantedRecords(
        begin, end, frozenset(actors), frozenset(kinds), queue, workload, glass, node
    )
    with trail(file, db) as (rows, context):
        found = records(rows, context, wanted)
        print_pages(_pages(found), columns(), form, empty="no event fits")


@command(
    "placement",
    "audit placement --queue health --since 2026-11-01 --must region=eu",
    "audit placement audit.jsonl --must region=eu --must tier=gold,silver -o json",
)
@FILE
@click.option("-q", "--queue", default="", metavar="NAME", help="Only this queue and those below.")
@click.option(
    "--since",
    metavar="TIME",
    default="all",
    show_default=True,
    help="Stays that lasted at or after: 24h (ago), 2026-11-01; all = ever.",
)
@UNTIL
@click.option(
    "--must",
    "must",
    multiple=True,
    metavar="KEY=VALUE",
    help="Label, or level as region, that nodes had to have; values may be several: eu,ch.",
)
@DB
@output("table", "wide", "json", "yaml", "csv")
def placement(
    file: Path | None,
    queue: str,
    since: str,
    until: str | None,
    must: tuple[str, ...],
    db: str,
    form: str,
) -> int:
    """List every placement of a period; fail if one broke what had to hold.

    What had to hold are --must and the gang's own constraints on labels.

    One row per gang and node, from the decision until its end, with the labels that the node had
    at that time; a node that got other labels meanwhile begins another row. A label that the
    trail does not know counts as broken.

    Exit code 0: all of them fulfil it. 1: one does not, or an event cannot be read.
    """
    from ganglion.audit.placements import must_of, placements

    begin, end = _period(since, until)
    needed = must_of(must)
    with trail(file, db) as (rows, context):
        found = placements(rows, context, queue, needed, begin, end)
    if form in ("json", "yaml"):
        print_data(found, form)
    else:
        print_list(found.stays, _stays(needed), form, empty="nothing was placed")
    count = f"{plural(len(found.stays), 'placement')}, {len(found.broken)} broke what had to hold"
    note(count if must else plural(len(found.stays), "placement"))
    if found.unread:
        note(f"{plural(len(found.unread), 'event')} cannot be read, the first is {found.unread[0]}")
    return 1 if found.broken or found.unread else 0


def _of(cluster: str, name: str) -> str:
    """Return a name with the cluster that it is of, if it is of one."""
    return f"{cluster}:{name}" if cluster else name


def _stays(must: Iterable[str]) -> "list[Column[Stay]]":
    return [
        Column("GANG", lambda s: _of(s.cluster, s.gang), key=True),
        Column("TRY", lambda s: str(s.attempt), right=True, wide=True),
        Column("QUEUE", lambda s: s.queue or DASH, wide=True),
        Column("USER", lambda s: s.user or DASH, wide=True),
        Column("NODE", lambda s: s.node),
        Column("GPUS", lambda s: ",".join(map(str, s.devices)) or DASH),
        Column("FROM", lambda s: clock(s.begin)),
        Column("TO", lambda s: clock(s.end)),
        Column("IMAGE", lambda s: s.image or DASH, wide=True),
        Column("MODEL", lambda s: s.model or DASH, wide=True),
        Column("RAN", lambda s: s.ran or DASH, wide=True),
        Column("HELD", lambda s: s.held or DASH, wide=True),
        Column("OWNER", lambda s: s.owner or DASH, wide=True),
        *(Column(key.upper(), _label(key)) for key in must),
        Column("BROKEN", lambda s: ", ".join(s.broken) or DASH, style=_style),
        Column("LABELS", _labels, wide=True),
    ]


def _label(key: str) -> "Callable[[Stay], str]":
    return lambda stay: stay.labels.get(key, DASH)


def _style(stay: "Stay") -> str:
    return "red" if stay.broken else ""


def _labels(stay: "Stay") -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(stay.labels.items())) or DASH


def _period(since: str, until: str | None) -> tuple[int, int]:
    now = now_ms()
    return since_ms(since, now), moment(until, now, "--until") if until else 0


def _pages(found: "Iterator[AuditRecord]") -> "Iterator[list[AuditRecord]]":
    while page := list(islice(found, PAGE)):
        yield page


@contextmanager
def trail(file: Path | None, db: str) -> "Iterator[tuple[Iterable[Row], DecisionContext]]":
    """Events of an export, of the server or of the ledger, and what was in force before them."""
    from ganglion.audit.export import rows_in, rows_of
    from ganglion.audit.records import DecisionContext

    if file:
        with file.open("rb") as opened:
            after, rows = rows_in(opened)
            yield rows, DecisionContext(policy=None if after else 0)
        return
    if is_elsewhere(db):
        with downloaded() as found, trail(found, "") as made:
            yield made
        return
    with reading(db) as reader:
        base = reader.base()
        yield rows_of(reader, base.seq if base else 0), begun(reader)


def begun(reader: "Reader") -> "DecisionContext":
    """What was in force before the first event of a ledger: of one that was cut, at the cut."""
    from ganglion.audit.records import DecisionContext, RecordOwner
    from ganglion.server.recovery.checkpoint import Unusable, read

    base = reader.base()
    if base is None:
        return DecisionContext(policy=0)
    kept = next((each for each in reader.snapshots() if each.seq == base.seq), None)
    try:
        known = read(kept.body) if kept else None
    except Unusable:
        known = None
    if known is None:  # what it would say is shown as unknown
        return DecisionContext()
    state, policy = known.parts["state"], known.policy
    gangs = [each["gang"] for each in state["gangs"]]
    return DecisionContext(
        {each.id: RecordOwner(each.queue, each.user, "", each.constraints) for each in gangs},
        {each.name: each for each in state["nodes"]},
        {each.name: each.parent for each in state["queues"]},
        policy.version if policy else 0,
        tuple(_running(state["gangs"])),
        clusters=_clusters(known.parts["book"].get("clusters")),
    )


def _clusters(books: "ClusterBooks | None") -> "dict[str, DecisionContext]":
    """What was in force in clusters that deliver; their nodes are not known."""
    from ganglion.audit.records import DecisionContext, RecordOwner
    from ganglion.model.events import GangPlaced

    return {
        name: DecisionContext(
            {
                each.gang.id: RecordOwner(
                    *(each.gang.queue, each.gang.user, each.image),
                    each.gang.constraints,
                    each.owner,
                    each.gang.model,
                    each.images,
                )
                for each in book.gangs.values()
            },
            parents=dict(book.parents),
            running=tuple(
                GangPlaced(each.placed, each.gang.id, each.number, each.placement)
                for each in book.gangs.values()
                if each.holds and each.placement
            ),
            software=book.version,
        )
        for name, book in (books.of if books else {}).items()
    }


def _running(records: "list[dict[str, Any]]") -> "Iterator[GangPlaced]":
    """What gangs of a checkpoint hold, pods that have not left yet included."""
    from ganglion.model.events import GangPlaced
    from ganglion.model.placement import Placement

    for each in records:
        if place := each.get("placement"):
            pods = (*place.pods, *each.get("leaving", ()))
            at, gang = each.get("placed_at", 0), each["gang"].id
            yield GangPlaced(at, gang, each.get("attempt", 0), Placement(pods))
