"""`node-power`: how few nodes have to be on, and how seldom they are too few.

Replays how many nodes of a cluster had work in every minute. See docs/benchmarks/node-power.md.
"""

import csv
import gzip
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct, to_builtins

from benchmarks.common.traces import main_file
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
    compared,
)
from ganglion.lifecycle.power import Peak, replayed
from ganglion.model.errors import FieldError, FileError

MINUTES = 60
WAKES = (1, 5)
"""Minutes from the decision until a node is on; the published protocol has one."""

NOTES = (
    "short: minutes in which more nodes had work than were on. bound: a node is on exactly while"
    " it has work, known beforehand.",
    "missing: node-minutes of work that found no node on. wakes: nodes switched on.",
)


class Demand(Struct, frozen=True):
    """Nodes with work, and nodes that exist, by minute."""

    needed: list[int]
    there: list[int]


class Figures(Struct, frozen=True):
    """What a policy came to.

    Attributes:
        node_hours: for how long nodes were on.
        of_bound: that, in terms of the lower bound.
        short_pct: minutes with too few nodes on, in per cent.
        missing: node-minutes that were missing in them.
        wakes: nodes switched on.
    """

    node_hours: float
    of_bound: float
    short_pct: float
    missing: int
    wakes: int


Policy = Callable[[Demand, int], list[int]]
"""Nodes on in every minute, from a demand and the minutes that it takes to wake one."""


def _window(minutes: int, more: int) -> Policy:
    """Keep the maximum of the last minutes and some more."""

    def policy(demand: Demand, wake: int) -> list[int]:
        peak, wanted, found = Peak(minutes), deque[int](), list[int]()
        for now, (need, most) in enumerate(zip(demand.needed, demand.there, strict=True)):
            found.append(most if now < wake else min(wanted.popleft(), most))
            wanted.append(peak.add(need) + more)
        return found

    return policy


def _all_on(demand: Demand, wake: int) -> list[int]:
    del wake
    return list(demand.there)


def _adaptive(demand: Demand, wake: int) -> list[int]:
    return replayed(demand.needed, demand.there, wake)


POLICIES: dict[str, Policy] = {
    "all-on": _all_on,
    "window-60+5": _window(60, 5),
    "window-180+5": _window(180, 5),
    "adaptive": _adaptive,
}
"""Ours is the last one; the windows are the references."""


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark on the minutes that the trace holds.

    Raises:
        FieldError: no traces were given, or an unknown policy.
        FileError: the file cannot be read.
    """
    if options.traces is None:
        raise FieldError("node-power replays a trace", hint="give its folder with --traces")
    policies = check_policies(BENCH, options.policies)
    demand = read(main_file(options.traces, "nodes_per_minute"))
    steps = [(wake, name) for wake in WAKES for name in policies]
    found: dict[int, dict[str, Figures]] = {wake: {} for wake in WAKES}
    for done, (wake, name) in enumerate(steps):
        progress(done, len(steps), name)
        found[wake][name] = judged(demand, POLICIES[name](demand, wake))
    progress(len(steps), len(steps), "done")
    data: dict[str, Any] = {
        "bench": "node-power",
        "minutes": len(demand.needed),
        "bound_node_hours": sum(demand.needed) / MINUTES,
        "wake_minutes": {str(wake): to_builtins(each) for wake, each in found.items()},
    }
    return Report(data, tuple(_table(wake, each) for wake, each in found.items()), NOTES)


def judged(demand: Demand, on: Sequence[int]) -> Figures:
    """Judge how many nodes were on."""
    bound = sum(demand.needed)
    gaps = [need - up for need, up in zip(demand.needed, on, strict=True) if need > up]
    return Figures(
        sum(on) / MINUTES,
        sum(on) / bound,
        100 * len(gaps) / len(on),
        sum(gaps),
        sum(max(after - before, 0) for before, after in pairwise(on)),
    )


def read(path: Path) -> Demand:
    """The minutes of a trace, in order.

    Raises:
        FileError: it has other columns, other values, or no minutes.
    """
    needed, there = list[int](), list[int]()
    try:
        with _opened(path) as file:
            for need, most in _rows(csv.DictReader(file)):
                needed.append(need)
                there.append(most)
    except (OSError, EOFError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{path} cannot be read: {error!r}",
            "it should have the columns minute, active_nodes and total_nodes",
        ) from error
    if not sum(needed):
        raise FileError(f"{path} has no minute with work")
    return Demand(needed, there)


def _rows(rows: "csv.DictReader[str]") -> Iterator[tuple[int, int]]:
    for row in rows:
        yield int(row["active_nodes"]), int(row["total_nodes"])


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


_COLUMNS = {
    "node-hours": ("node_hours", "{:,.0f}"),
    "x bound": ("of_bound", "{:.3f}"),
    "short %": ("short_pct", "{:.3f}"),
    "missing": ("missing", "{:,}"),
    "wakes": ("wakes", "{:,}"),
}


def _table(wake: int, found: dict[str, Figures]) -> Table:
    unit = "minute" if wake == 1 else "minutes"
    entries = {name: to_builtins(each) for name, each in found.items()}
    return compared(f"a node is on {wake} {unit} after the decision", "policy", _COLUMNS, entries)


BENCH = Bench(
    "node-power",
    "Node-hours with idle nodes switched off, and minutes in which nodes were short.",
    run,
    tuple(POLICIES),
)
