"""`ganglion models`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.output.formats import DASH, clock, kept, plural
from ganglion.cli.output.tables import Column, print_data, print_list

if TYPE_CHECKING:
    from ganglion.api.use import ModelRow


@click.group("models", cls=click.RichGroup, context_settings=settings())
def models() -> None:
    """List models of live workloads, and give services another one.

    A workload keeps the model that its reference meant when it was submitted. Where an alias, a
    tag or a branch has moved since, `models list` says so, and `models update` replaces the
    replicas of a service one after the other.

    Where the server keeps models, CACHE says whether the model of a workload lies on its machine.
    """


@command("list", "models list", "models list -o wide", "models list -o json")
@list_output
def list_models(form: str) -> None:
    """List live workloads with a model, and what their references mean by now."""
    with connect() as client:
        found = client.models.list()
    print_list(
        found, _columns(), form, empty="no workload has a model; `model` in a file names one"
    )


def _columns() -> "list[Column[ModelRow]]":
    return [
        Column("NAME", lambda r: r.name, key=True),
        Column("KIND", lambda r: r.kind),
        Column("MODEL", lambda r: r.model.reference if r.model else DASH),
        Column("HAS", lambda r: r.model.uri if r.model else DASH),
        Column("NOW", _now),
        Column("GANGS", _gangs, right=True),
        Column("CACHE", lambda r: kept(r.kept)),
        Column("DIGEST", lambda r: (r.model and r.model.digest) or DASH, wide=True),
        Column("ASKED", lambda r: clock(r.asked) if r.asked else DASH, wide=True),
        Column("QUEUE", lambda r: r.queue, wide=True),
        Column("TROUBLE", _trouble, wide=True),
    ]


def _trouble(row: "ModelRow") -> str:
    """Return what is not known, and what is not fetched, and why."""
    found = filter(None, (row.trouble, row.kept.trouble if row.kept else ""))
    return "; ".join(dict.fromkeys(found)) or DASH


def _now(row: "ModelRow") -> str:
    """Return what a reference means by now, where that may be another model."""
    if row.moved is None:
        return "unknown" if row.kind == "service" else "not asked"
    if not row.moved or row.now is None:
        return "the same"
    same = row.model is not None and row.now.uri == row.model.uri
    return "other content" if same else row.now.uri


def _gangs(row: "ModelRow") -> str:
    """Return how many have the model, where some have another one."""
    total = row.fresh + row.outdated
    return f"{row.fresh}/{total}" if row.outdated else str(total)


@command(
    "update",
    "models update chat",
    "models update chat --to models:/chat/5",
    "models update chat --back",
    "models update chat --surge 0",
)
@click.argument("service", shell_complete=complete_jobs)
@click.option("--to", default="", metavar="MODEL", help="A reference, as models:/chat@candidate.")
@click.option("--back", is_flag=True, help="The model before the last update.")
@click.option(
    "--surge",
    type=click.IntRange(0, 1_000),
    default=1,
    show_default=True,
    help="Replicas beyond those wanted meanwhile; 0 = one goes before another comes.",
)
@output("text", "json", "yaml")
def update(service: str, to: str, back: bool, surge: int, form: str) -> None:
    """Replace the replicas of a service by ones with another model.

    Without --to or --back it gets what its reference means now. A new replica starts; once it
    answers, an old one finishes its requests and ends; then the next. When a new one fails for
    good, the others stay. Where the fleet has no place for one more, use --surge 0.

    SERVICE is an id, the beginning of one, or a name.
    """
    if to and back:
        raise click.UsageError("--to and --back exclude each other")
    with connect() as client:
        view = client.models.update(service, to=to, back=back, surge=surge)
        # A gang's view has no digest, which alone tells two contents of one name apart.
        rows = client.models.list() if form == "text" else ()
    if form != "text":
        print_data(view, form)
        return
    old = next((plural(e.outdated, "replica") for e in rows if e.workload == view.id), "replicas")
    model = view.model.uri if view.model else DASH
    click.echo(f"{view.id}: {old} to be replaced by ones with {model}")


models.add_command(list_models)
models.add_command(update)
