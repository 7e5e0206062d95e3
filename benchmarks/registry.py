"""The benchmarks by name, and what each of them gets and returns.

A benchmark is one module with a `BENCH`; nothing of it is imported before it is asked for.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from ganglion.model.errors import FieldError, NotFound

BENCHES: dict[str, str] = {
    "pack-openb": "benchmarks.packing.openb:BENCH",
    "jct-itp": "benchmarks.completion.itp:BENCH",
    "jct-muri": "benchmarks.completion.muri:BENCH",
    "backfill-swf": "benchmarks.backfill.swf:BENCH",
    "bands": "benchmarks.backfill.start_bands:BENCH",
    "tenant-philly": "benchmarks.tenants.philly:BENCH",
    "deadlines": "benchmarks.completion.deadlines:BENCH",
    "churn-openb": "benchmarks.packing.churn:BENCH",
    "preempt": "benchmarks.preemption.preempt:BENCH",
    "reclaim": "benchmarks.preemption.reclaim:BENCH",
    "fairness": "benchmarks.tenants.fairness:BENCH",
    "decisions": "benchmarks.speed.decisions:BENCH",
    "kubernetes": "benchmarks.kubernetes.binding:BENCH",
    "deep-queues": "benchmarks.kubernetes.deep_queues:BENCH",
    "idle": "benchmarks.idle.workspaces:BENCH",
    "router": "benchmarks.router.overhead:BENCH",
    "lists": "benchmarks.speed.lists:BENCH",
    "serve-genai": "benchmarks.serving.genai:BENCH",
    "serve-tokens": "benchmarks.serving.tokens:BENCH",
    "node-power": "benchmarks.idle.node_power:BENCH",
    "failures": "benchmarks.failures.lost_time:BENCH",
    "access": "benchmarks.speed.access:BENCH",
    "audit": "benchmarks.speed.audit_trail:BENCH",
    "usage": "benchmarks.speed.usage:BENCH",
    "budgets": "benchmarks.speed.budgets:BENCH",
    "whatif": "benchmarks.speed.whatif:BENCH",
    "portal": "benchmarks.portal.screens:BENCH",
}
"""Name -> `module:attribute`, in the order they are listed."""

SIZES = ("nodes", "pods", "gangs", "days")
"""Fields of `BenchOptions` that say how large something is."""


class Progress(Protocol):
    """Called with how far a benchmark is; may be called as often as is convenient."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """`done` of `total` steps are over; `label` says what is being done, as `fgd seed 42`."""


class BenchOptions(Struct, frozen=True):
    """What a person asked for.

    Attributes:
        traces: folder of one source of traces; None = synthetic input, where there is any.
        workload: which of its workloads; None = the benchmark's own choice.
        seeds: how many seeds to repeat random protocols with.
        policies: names of policies to compare; empty = the benchmark's own choice.
        nodes: how many nodes; None = the benchmark's own choice.
        pods: how many pods; None = the benchmark's own choice.
        gangs: how many gangs; None = the benchmark's own choice.
        days: first and last day of a trace, from 0; None = all of them.
    """

    traces: Path | None = None
    workload: str | None = None
    seeds: int = 3
    policies: tuple[str, ...] = ()
    nodes: int | None = None
    pods: int | None = None
    gangs: int | None = None
    days: tuple[int, int] | None = None


class Table(Struct, frozen=True):
    """A table for people.

    Attributes:
        title: what it shows.
        columns: headings.
        rows: one text per column.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Forms = Mapping[str, tuple[str, str]]
"""Heading -> (figure, how it is written)."""


def compared(
    title: str, what: str, forms: Forms, entries: Mapping[str, Mapping[str, Any]]
) -> Table:
    """One row of figures per entry; `what` heads the names."""
    rows = [
        (name, *(form.format(entry[key]) for key, form in forms.values()))
        for name, entry in entries.items()
    ]
    return Table(title, (what, *forms), tuple(rows))


class Report(Struct, frozen=True):
    """The outcome of a benchmark.

    Attributes:
        data: figures by name, JSON types only.
        tables: the same for people.
        notes: sentences that belong under the tables.
    """

    data: dict[str, Any]
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = field(default_factory=tuple)


class Bench(Struct, frozen=True):
    """A benchmark.

    Attributes:
        name: as it is called on the command line.
        help: one line on what it measures.
        run: does it; raises from the tree of `ganglion.model.errors`.
        policies: names that `BenchOptions.policies` may hold.
        sizes: of `SIZES`, those that `BenchOptions` may say.
    """

    name: str
    help: str
    run: Callable[[BenchOptions, Progress], Report]
    policies: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()


def load(name: str) -> Bench:
    """The benchmark of that name.

    Raises:
        NotFound: there is none.
    """
    if name not in BENCHES:
        raise NotFound(f"no benchmark {name!r}", f"there are: {', '.join(BENCHES)}")
    module, attribute = BENCHES[name].split(":")
    bench: Bench = getattr(import_module(module), attribute)
    return bench


def check_policies(bench: Bench, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The policies to run: those wanted, or all that the benchmark has.

    Raises:
        FieldError: one of them is unknown.
    """
    for name in wanted:
        if name not in bench.policies:
            known = ", ".join(bench.policies)
            raise FieldError(f"{bench.name} has no policy {name!r}", hint=f"it has: {known}")
    return tuple(dict.fromkeys(wanted)) or bench.policies


def check_size(bench: Bench, options: BenchOptions) -> None:
    """Refuse numbers of nodes, pods or gangs that the benchmark would ignore.

    Raises:
        FieldError: they are given, and it has its own.
    """
    for key in SIZES:
        if getattr(options, key) is not None and key not in bench.sizes:
            raise FieldError(f"{bench.name} has its own number of {key}", key=key)


def silent(done: int, total: int, label: str) -> None:
    """A `Progress` that shows nothing."""
    del done, total, label
