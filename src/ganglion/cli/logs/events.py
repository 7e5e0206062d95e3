"""`ganglion events`."""

import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, get_args

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.options import command, output
from ganglion.cli.output.event_lines import concerns, line_of

if TYPE_CHECKING:
    from ganglion.api.events import EventView
    from ganglion.client.workload_client import WorkloadClient


def _known(_: click.Context, __: click.Parameter, types: tuple[str, ...]) -> frozenset[str]:
    """Check types of events. Raises BadParameter with those there are."""
    if not types:
        return frozenset()
    from ganglion.model.events import Event
    from ganglion.specs.wording import meant

    there = sorted(str(each.__struct_config__.tag) for each in get_args(Event))
    if wrong := [each for each in types if each not in there]:
        near = meant(wrong[0], there) or f"there are {', '.join(there)}"
        raise click.BadParameter(f"no such type: {', '.join(wrong)}; {near}")
    return frozenset(types)


@command("events", "events --follow", "events train --type pod_access", "events -o json -n 50")
@click.argument("job", required=False, shell_complete=complete_jobs)
@click.option("-f", "--follow", is_flag=True, help="Follow until Ctrl-C.")
@click.option(
    "--after", type=click.IntRange(min=0), default=0, help="Only events after this number."
)
@click.option(
    "--type", "types", multiple=True, callback=_known, help="Only this type, as pod_access."
)
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Most rows to print.")
@output("text", "json")
def events(
    job: str | None,
    follow: bool,
    after: int,
    types: frozenset[str],
    limit: int | None,
    form: str,
) -> None:
    """Print events, past and new.

    Every change of the state is one event with a number. With -o json each is one line of JSON.

    JOB is an id, the beginning of one, or a name; without it, the events of all.
    """
    with connect() as client:
        found = _found(client, job or "", after, follow=follow)
        chosen = (view for view in found if not types or view.event["type"] in types)
        for view in islice(chosen, limit):
            _print(view, form)


def print_history(client: "WorkloadClient", job: str, *, follow: bool) -> None:
    """Print the events of one workload, or of one gang of it."""
    for view in _found(client, job, 0, follow=follow):
        _print(view, "text")


def _found(
    client: "WorkloadClient", job: str, after: int, *, follow: bool
) -> "Iterator[EventView]":
    """Yield the events of a workload, of `JOB/3` alone, or of all without a job."""
    ref, slash, index = job.partition("/")
    wanted = f"{client.workload(ref).id}{slash}{index}" if job else ""
    found = client.events(after, follow=follow)
    return (view for view in found if not job or concerns(view.event, wanted))


def _print(view: "EventView", form: str) -> None:
    import msgspec

    text = msgspec.json.encode(view).decode() if form == "json" else line_of(view)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
