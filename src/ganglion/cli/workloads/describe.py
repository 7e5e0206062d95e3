"""`ganglion describe`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.options import command, output
from ganglion.cli.output.life import print_life
from ganglion.cli.output.tables import print_data

if TYPE_CHECKING:
    from ganglion.api.events import SessionView
    from ganglion.api.workloads import GangView, WorkloadDetail

MOST_GANGS = 20
"""Gangs shown one by one; of larger workloads the rest is counted."""


@command("describe", "describe train", "describe sweep-12 -o json", "describe node n1")
@click.argument(
    "words", nargs=-1, required=True, metavar="JOB | node NAME", shell_complete=complete_jobs
)
@context_options
@output("text", "json", "yaml")
def describe(words: tuple[str, ...], form: str, where: ChosenCluster | None) -> None:
    """Describe a workload or a node in full.

    For a workload: its state and times, where its gangs run, why they wait, how they grew and
    shrank, their checkpoints, what was changed between their attempts, the last sessions in
    their pods, and the submitted file. For a node: what runs on it, what waits for it, and the
    command that opens it for work again.

    JOB is an id, the beginning of one, or a name.
    """
    kind, name = ("job", words[0]) if len(words) == 1 else words[:2]
    if len(words) > 2 or kind not in ("job", "node"):
        raise click.UsageError("give one JOB, or: node NAME")
    if kind == "node":
        from ganglion.cli.fleet.node import describe_node

        describe_node(name, form, where)
        return
    _describe_job(name, form, where)


def _describe_job(job: str, form: str, where: ChosenCluster | None) -> None:
    with connect(where=where) as client:
        view = client.workload(job)
    if form == "text":
        _print(view)
    else:
        print_data(view, form)


def _print(view: "WorkloadDetail") -> None:
    from rich.text import Text

    from ganglion.cli.output.explanation import grid
    from ganglion.cli.output.screen import out
    from ganglion.cli.output.tables import print_table
    from ganglion.client.states import style

    title = Text.assemble((view.id, "bold"), " ", (view.state, style(view.state)))
    out().print(title)
    print_table(grid([(name, Text(value)) for name, value in _facts(view) if value]))
    _print_gangs(view)
    print_life(_chosen(view.gangs))
    _print_sessions(view)
    _print_document(view)


def _facts(view: "WorkloadDetail") -> list[tuple[str, str]]:
    from ganglion.cli.output.explanation import waited
    from ganglion.cli.output.formats import age, clock, cost, preempted
    from ganglion.cli.workloads.ps import progress

    took = age(view.ended - view.started) if view.started and view.ended else ""
    code = "" if view.exit_code is None else str(view.exit_code)
    return [
        ("Kind", view.kind),
        ("Queue", view.queue),
        ("User", view.user),
        ("Priority", str(view.priority)),
        ("GPUs", _gpus(view)),
        ("Model", _model(view)),
        ("Cache", _kept(view)),
        ("Image", view.image),
        ("Reason", ": ".join(filter(None, (view.reason, view.message)))),
        ("Scheduler", f"silent since {clock(view.silent_since)}" if view.silent_since else ""),
        ("Gangs", progress(view)),
        ("Held", "\n".join(_held(view))),
        ("Waited for", waited(part for gang in view.gangs for part in gang.waited)),
        ("Position", str(view.position) if view.position else ""),
        ("Time limit", _limit(view)),
        ("Preempted", preempted(view.preemptions, view.lost_gpu_ms) if view.preemptions else ""),
        ("Cost", cost(view.cost, over=view.over)),
        ("Checkpoint", _saved(view)),
        ("Submitted", clock(view.submitted)),
        ("Started", clock(view.started) if view.started else ""),
        ("Ended", f"{clock(view.ended)} after {took}" if took else ""),
        ("Exit code", code),
        ("URL", view.url),
        ("Use", view.use),
        ("Endpoints", ", ".join(gang.endpoint for gang in view.gangs if gang.endpoint)),
        ("Replicas", _replicas(view)),
        ("Alarms", "\n".join(f"{alarm}: {said}" for alarm, said in sorted(view.alarms.items()))),
    ]


def _held(view: "WorkloadDetail") -> list[str]:
    """Return what nodes had of what its gangs load, for those that are shown."""
    places = (gang.placement for gang in _chosen(view.gangs))
    return [*dict.fromkeys(str(each) for place in places if place for each in place.held)]


def _limit(view: "WorkloadDetail") -> str:
    """Return the time limit that holds, and the one of the submission where they differ."""
    from ganglion.cli.output.formats import age

    first = view.submitted_limit_ms
    if not (view.time_limit_ms or first):
        return ""
    limit = age(view.time_limit_ms) if view.time_limit_ms else "none"
    if first is None:
        return limit
    return f"{limit}; submitted with {age(first) if first else 'none'}"


def _gpus(view: "WorkloadDetail") -> str:
    """Return the GPUs that it asks for, and those it holds where they differ."""
    held = f"; holds {view.gpus_held:g}" if view.gpus_held not in (0, view.gpus) else ""
    return f"{view.gpus:g} in {view.pods} pod{'s' * (view.pods != 1)}{held}"


def _model(view: "WorkloadDetail") -> str:
    """Return what a reference meant, and replicas that have another model."""
    found = view.model
    if found is None:
        return ""
    said = found.uri if found.uri == found.reference else f"{found.reference} = {found.uri}"
    others = dict.fromkeys(g.model for g in view.gangs if not g.ended and g.model != found.uri)
    more = f"; {', '.join(filter(None, others))} until they are replaced" if others else ""
    return f"{said}, {found.digest}{more}"


def _kept(view: "WorkloadDetail") -> str:
    """Return whether the model lies on the machine of the server, and why it does not."""
    from ganglion.cli.output.formats import kept

    found = view.model_kept
    if found is None:
        return ""
    return ": ".join(filter(None, (kept(found), found.trouble)))


def _replicas(view: "WorkloadDetail") -> str:
    """Return how many a service is to have, why, and which of them are about to go."""
    from ganglion.cli.output.formats import clock

    found = view.scaling
    if found is None:
        return ""
    bounds = f" of {found.floor}..{found.ceiling}" if found.ceiling else ""
    since = f" since {clock(found.at)}: {found.cause}" if found.at else ""
    going = [gang.rpartition("/")[2] for gang in found.draining]
    return f"{found.wanted}{bounds}{since}" + (f"; {', '.join(going)} drain" if going else "")


def _saved(view: "WorkloadDetail") -> str:
    """Return the newest checkpoint of a workload that is a single gang."""
    from ganglion.cli.output.formats import clock

    saved = view.gangs[0].saved if len(view.gangs) == 1 else None
    if saved is None:
        return ""
    step = f"step {saved.step:,}, " if saved.step else ""
    where = f", in {saved.path}" if saved.path else ""
    return f"{step}saved {clock(saved.at)}{where}"


def _print_gangs(view: "WorkloadDetail") -> None:
    from ganglion.cli.output.formats import DASH
    from ganglion.cli.output.screen import out
    from ganglion.cli.output.tables import Column, print_table, table_of

    columns: list[Column[GangView]] = [
        Column("GANG", lambda g: str(g.index), right=True),
        Column("PHASE", lambda g: "draining" if g.draining else g.phase),
        Column("ATTEMPT", lambda g: str(g.attempt or DASH), right=True),
        Column("OUTCOME", lambda g: g.outcome or DASH),
        Column("EXIT", lambda g: DASH if g.exit_code is None else str(g.exit_code), right=True),
        Column("WHERE", _where, least=20),
        Column(
            "MESSAGE", lambda g: (g.reason.message if g.reason else g.message) or DASH, least=20
        ),
    ]
    if any(gang.params for gang in view.gangs):
        columns.insert(1, Column("PARAMS", _params, least=12))
    out().print("\nGangs", style="bold")
    print_table(table_of(columns, _chosen(view.gangs)))
    if len(view.gangs) > MOST_GANGS:
        out().print(f"… and {len(view.gangs) - MOST_GANGS} more; all with -o json")


def _print_sessions(view: "WorkloadDetail") -> None:
    from msgspec import to_builtins

    from ganglion.cli.output.event_lines import session_end, session_what
    from ganglion.cli.output.formats import DASH, clock
    from ganglion.cli.output.screen import out
    from ganglion.cli.output.tables import Column, print_table, table_of

    if not view.sessions:
        return
    columns: list[Column[SessionView]] = [
        Column("BEGAN", lambda s: clock(s.at)),
        Column("HOW", lambda s: s.verb),
        Column("USER", lambda s: s.user),
        Column("GANG", lambda s: s.gang.rpartition("/")[2], right=True),
        Column("POD", lambda s: str(s.pod), right=True),
        Column("STAGE", lambda s: s.stage),
        Column("WHAT", lambda s: session_what(to_builtins(s)) or DASH, least=20),
        Column("END", lambda s: session_end(to_builtins(s)) or DASH, least=20),
    ]
    out().print("\nLast sessions in its pods", style="bold")
    print_table(table_of(columns, view.sessions))


def _chosen(gangs: "Sequence[GangView]") -> "list[GangView]":
    """Return those to show: all of a few; of many first what runs, then what went wrong."""
    if len(gangs) <= MOST_GANGS:
        return list(gangs)
    return sorted(sorted(gangs, key=_interest)[:MOST_GANGS], key=lambda gang: gang.index)


def _interest(gang: "GangView") -> int:
    if gang.phase in ("starting", "running", "stopping"):
        return 0
    if gang.phase == "ended":
        return 3 if gang.outcome in ("succeeded", "stopped_early") else 1
    return 2


def _params(gang: "GangView") -> str:
    return " ".join(f"{name}={value}" for name, value in gang.params.items())


def _where(gang: "GangView") -> str:
    """Return the nodes and devices of a gang, or of its promise: `node-0[0-7], node-1[0,2]`."""
    from ganglion.cli.output.formats import ranges

    place = gang.promise if gang.phase == "reserved" else gang.placement
    if place is None:
        return "-"
    devices: dict[str, set[int]] = {}
    for pod in place.pods:
        devices.setdefault(pod.node, set()).update(pod.devices)
    return ", ".join(
        f"{node}[{ranges(sorted(used))}]" if used else node for node, used in devices.items()
    )


def _print_document(view: "WorkloadDetail") -> None:
    from ganglion.cli.output.screen import out
    from ganglion.cli.output.tables import yaml_text

    if view.document:
        out().print("\nSubmitted as", style="bold")
        text = yaml_text(view.document)
        out().print("".join(f"  {line}" for line in text.splitlines(keepends=True)), end="")
