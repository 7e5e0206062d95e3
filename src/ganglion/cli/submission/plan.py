"""What `--dry-run` prints: where it would start now, or why not."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from ganglion.cli.output.explanation import grid, reason_lines, suggestion_lines
from ganglion.cli.output.formats import both, most_cost, ranges
from ganglion.cli.output.screen import note, out
from ganglion.cli.output.tables import Column, print_data, print_table, table_of

if TYPE_CHECKING:
    from ganglion.api.reasons import Verdict
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
        verb = "yields" if len(verdict.stops) == 1 else "yield"
        after = f" once {both(verdict.stops)} {verb}" if verdict.stops else " now"
        told = f" would start{after}"
        console.print(Text.assemble((name, "bold"), told, _near(verdict.placement)))
        print_table(table_of(COLUMNS, shares(verdict.placement)))
        for each in verdict.placement.held:
            console.print(str(each), soft_wrap=True)
        return
    reason = verdict.reason
    how = "can never start" if reason and reason.never else "would wait"
    why = f": {reason.message}" if reason else ""
    console.print(Text.assemble((name, "bold"), f" {how}{why}"))
    rows = (reason_lines(reason) if reason else []) + suggestion_lines(verdict.suggestions)
    print_table(grid(rows))


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
