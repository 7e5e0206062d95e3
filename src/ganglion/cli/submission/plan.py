"""What `--dry-run` prints: where it would start now, or why not."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from ganglion.cli.output.explanation import (
    grid,
    reason_lines,
    start_lines,
    suggestion_lines,
    unknown_start,
)
from ganglion.cli.output.formats import (
    DASH,
    age,
    both,
    gpu_time,
    milli,
    most_cost,
    now_ms,
    plural,
    plural_milli,
    ranges,
)
from ganglion.cli.output.screen import note, out
from ganglion.cli.output.tables import Column, print_data, print_table, table_of

if TYPE_CHECKING:
    from ganglion.api.reasons import DisplacedView, Displacement, Verdict
    from ganglion.cli.submission.documents import Document
    from ganglion.client.workload_client import WorkloadClient
    from ganglion.model.placement import Placement

FITS, WAITS = 0, 1
"""Exit codes of a dry run."""


class Share(NamedTuple):
    """What of a gang one node would hold."""

    node: str
    pods: str
    gpus: str


COLUMNS: list[Column[Share]] = [
    Column("NODE", lambda s: s.node),
    Column("PODS", lambda s: s.pods),
    Column("GPUS", lambda s: s.gpus),
]


SHOWN = 20
"""Displaced gangs listed at most."""

FATES: Mapping[str, str] = MappingProxyType(
    {
        "requeued": "stopped, waits again",
        "ended": "stopped for good",
        "moved": "goes on elsewhere",
        "shrunk": "goes on smaller",
        "waits": "loses its promise",
    }
)

UNKNOWN: Mapping[str, str] = MappingProxyType(
    {
        "blocked": "unknown: what it waits for is not room",
        "large": "unknown: the server knows too many gangs to find out before it is submitted",
    }
)


def print_verdicts(
    client: "WorkloadClient", documents: "Sequence[Document]", form: str, snapshot: str = "event"
) -> int:
    """Ask about every document, print the answers; 0 when all would start now."""
    verdicts = [client.verdict(document) for document in documents]
    if form != "text":
        print_data(verdicts[0] if len(verdicts) == 1 else verdicts, form)
    else:
        for document, verdict in zip(documents, verdicts, strict=True):
            print_verdict(subject_of(document), verdict, snapshot)
    return FITS if all(verdict.placement for verdict in verdicts) else WAITS


def subject_of(document: Mapping[str, Any]) -> str:
    """Return what the verdict is about: a gang, the first one where there are several."""
    params = document.get("params") or {}
    trials = prod(len(values) for values in params.values() if isinstance(values, list))
    gangs = trials * int(document.get("replicas", 1))
    name = str(document.get("name", "the workload"))
    return f"{name}/0, the first of {gangs}," if gangs > 1 else name


def print_verdict(name: str, verdict: "Verdict", snapshot: str = "event") -> None:
    """Print what would happen to a workload, and the plan by which only that is submitted.

    Args:
        name: of the workload.
        verdict: what would happen.
        snapshot: what the number of its snapshot counts.
    """
    _print_fate(name, verdict)
    _print_terms(verdict)
    if verdict.plan:
        sys.stdout.flush()  # where both go to one place, this line is the last
        note(f"plan {verdict.plan} of {snapshot} {verdict.snapshot}: --if-plan submits just this")


def _print_fate(name: str, verdict: "Verdict") -> None:
    console = out()
    if verdict.placement:
        told = f" would start{_after(verdict)}"
        console.print(Text.assemble((name, "bold"), told, _near(verdict.placement)))
        print_table(table_of(COLUMNS, shares(verdict.placement)))
        for each in verdict.placement.held:
            console.print(str(each), soft_wrap=True)
        if verdict.displaced:
            _print_displaced(verdict.displaced)
        return
    reason = verdict.reason
    how = "can never start" if reason and reason.never else "would wait"
    why = f": {reason.message}" if reason else ""
    console.print(Text.assemble((name, "bold"), f" {how}{why}"))
    rows = (reason_lines(reason) if reason else []) + _when(verdict, now_ms())
    print_table(grid(rows + suggestion_lines(verdict.suggestions)))
    if verdict.displaced:
        _print_displaced(verdict.displaced)


def _after(verdict: "Verdict") -> str:
    """Say who has to yield first."""
    others = verdict.displaced.others if verdict.displaced else 0
    who = (*verdict.stops, *([plural(others, "other")] if others else []))
    if not who:
        return " now"
    return f" once {both(who)} {'yields' if len(verdict.stops) + others == 1 else 'yield'}"


def _when(verdict: "Verdict", now: int) -> list[tuple[str, Text]]:
    """Return the rows that say when it would start."""
    rows = list[tuple[str, Text]]()
    if verdict.start:
        rows += start_lines(verdict.start, now)
    elif verdict.start_unknown and verdict.start_unknown != "never":
        told = UNKNOWN.get(verdict.start_unknown) or unknown_start(verdict.guesses)
        rows.append(("Expected", Text(told)))
    if verdict.takeover_ms:
        ahead = age(max(verdict.takeover_ms - now, 0))
        told = f"in {ahead}, once those in its way have saved their work, if nothing else happens"
        rows.append(("Takes over", Text(told)))
    return rows


def _print_displaced(found: "Displacement") -> None:
    """Print whom it would displace, and what they would lose."""
    if found.items:
        print_table(table_of(_displaced_columns(found), found.items[:SHOWN]))
    more = len(found.items) - SHOWN
    rest = [f"{more:,} more"] if more > 0 else []
    rest += [f"{plural(found.others, 'other')} that you may not see"] if found.others else []
    if rest:
        out().print(f"and {both(rest)}")
    cost = f", charged {_money(found.most_micro, found)}" if found.currency else ""
    lost = gpu_time(found.most_gpu_ms)
    if found.unknown:
        who = "it reports" if found.unknown == 1 else "they report"
        how = f"{plural(found.unknown, 'gang')} may lose all: {who} no checkpoints"
        lost = f"{gpu_time(found.lost_gpu_ms)} of work lost, at most {lost}{cost}; {how}"
    else:
        lost = f"{lost} of work lost{cost}"
    verb = "it gives" if len(found.items) + found.others == 1 else "they give"
    out().print(f"{verb} up {plural_milli(found.gpu_milli, 'GPU')}; {lost}", soft_wrap=True)


def _displaced_columns(found: "Displacement") -> "list[Column[DisplacedView]]":
    columns: list[Column[DisplacedView]] = [
        Column("YIELDS", lambda one: one.gang),
        Column("QUEUE", lambda one: one.queue),
        Column("USER", lambda one: one.user or DASH),
        Column("GPUS", lambda one: milli(one.gpu_milli)),
        Column("WORK LOST", _lost),
    ]
    if found.currency:
        columns.append(Column("CHARGED", lambda one: _money(one.most_micro, found)))
    return [*columns, Column("THEN", lambda one: FATES[one.fate])]


def _lost(one: "DisplacedView") -> str:
    if one.lost_gpu_ms is None:
        return f"unknown, at most {gpu_time(one.most_gpu_ms)}"
    return gpu_time(one.lost_gpu_ms) if one.lost_gpu_ms else DASH


def _money(micro: int | None, found: "Displacement") -> str:
    from ganglion.specs.grammar.money import raised_money

    return "no price" if micro is None else f"{raised_money(micro)} {found.currency}"


def _print_terms(verdict: "Verdict") -> None:
    if verdict.model:
        out().print(f"model: {verdict.model.uri}, {verdict.model.digest}", soft_wrap=True)
    if verdict.cost:
        out().print(f"cost: {most_cost(verdict.cost)}")


def _near(placement: "Placement") -> str:
    return f", within one {placement.level} ({placement.domain})" if placement.domain else ""


def shares(placement: "Placement") -> list[Share]:
    """Return what each node would hold, in the order of the placement."""
    pods: Counter[str] = Counter(pod.node for pod in placement.pods)
    sets: dict[str, Counter[str]] = {node: Counter() for node in pods}
    devices: dict[str, set[int]] = {node: set() for node in pods}
    milli: dict[str, int] = {}
    for pod in placement.pods:
        sets[pod.node][pod.pod_set] += 1
        devices[pod.node].update(pod.devices)
        milli[pod.node] = pod.milli
    return [Share(n, _pods(sets[n]), _gpus(sorted(devices[n]), milli[n])) for n in pods]


def _pods(sets: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sets.items())


def _gpus(devices: list[int], milli: int) -> str:
    if not devices:
        return "none"
    part = f" ({milli / 10:g} % of it)" if 0 < milli < 1000 else ""
    return f"{len(devices)}: {ranges(devices)}{part}"
