"""`serve-genai`: replicas of an image service follow its requests.

Alibaba's trace of image generation, every request twenty times; one request per replica. See
docs/benchmarks/serve-genai.md.
"""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from time import process_time
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
    compared,
)
from benchmarks.serving.fleet import COLD_START_MS, Fleet, Idle, Policy, Rules, Served, Stack
from benchmarks.serving.hpa import Hpa
from benchmarks.serving.kpa import Kpa
from benchmarks.serving.models import LOAD, MADE_UP, Loaded, Quantiles, drawn, read_quantiles
from benchmarks.serving.ours import Ours
from benchmarks.serving.policies import (
    CURVE,
    Oracle,
    Reactive,
    SquareRoot,
    curve_name,
    curve_note,
    over_curve,
)
from benchmarks.serving.requests import (
    Request,
    busy_hours,
    made_up,
    read_requests,
    repeated,
    within_days,
)
from ganglion.model.behaviour import Scaling
from ganglion.model.errors import FieldError
from ganglion.worlds.simulated.metrics.records import quantile

EVERY_MS = 15_000
LATE_MS = 10_000
BOOT_MS = 30_000
"""What a start takes before a model is loaded, where loading takes different times."""

SCALING = Scaling(
    floor=0,
    ceiling=1_000,
    start_within_ms=LATE_MS,
)
"""What the owner of the service asks of Ganglion; the rest is left at its defaults."""

AWAKE = "ganglion-floor-1"
"""The same with one replica that never sleeps, as the square-root rule keeps one."""

Make = Callable[[Sequence[Request]], Policy]


def _square_root(factor: float, requests: Sequence[Request]) -> Policy:
    del requests
    return SquareRoot(factor)


POLICIES: dict[str, Make] = {
    "ganglion": lambda _: Ours(SCALING),
    AWAKE: lambda _: Ours(replace(SCALING, floor=1)),
    "reactive": lambda _: Reactive(80, 300_000),
    "hpa": lambda _: Hpa(),
    "knative": lambda _: Kpa(),
    **{curve_name(factor): partial(_square_root, factor) for factor in CURVE},
    "oracle": lambda requests: Oracle(requests, COLD_START_MS + EVERY_MS),
    "reactive-100-60s": lambda _: Reactive(100, 60_000),
    "reactive-80-60s": lambda _: Reactive(80, 60_000),
    "reactive-60-300s": lambda _: Reactive(60, 300_000),
}
"""Ways to scale, by name."""

USUAL = ("ganglion", "reactive", "hpa", "knative", *map(curve_name, CURVE), "oracle")
"""Those that run when none is named."""

WITHOUT_MODELS = ("fixed", "learnt")

WORKLOADS = (*WITHOUT_MODELS, "any-model", "affinity")
"""How replicas start and which of them serves a request."""


class _Setting(Struct, frozen=True):
    """One seed of one workload: the requests, and how long what takes."""

    requests: Sequence[Request]
    loads: Quantiles
    workload: str
    seed: int

    def rules(self) -> Rules:
        """Starts always take the same, or they take a boot and a model's loading."""
        if self.workload != "learnt":
            return Rules(EVERY_MS, LATE_MS, lambda: COLD_START_MS)
        return Rules(EVERY_MS, LATE_MS, drawn(self.loads, self.seed, BOOT_MS))

    def idle(self) -> Idle:
        """Every replica serves every request, or has to load its model first."""
        if self.workload in WITHOUT_MODELS:
            return Stack()
        return Loaded(drawn(self.loads, self.seed), affinity=self.workload == "affinity")


_NOTES = (
    "on time: requests that were begun within 10 s of their arrival. busy: replica-hours over those"
    " that requests need.",
)
_ORACLE = "oracle: knows the requests of the next 75 s; no policy can do with much less."


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file, workload or policy, or a value of the file.
    """
    workload = _workload(options)
    policies = check_policies(BENCH, options.policies or _usual(workload))
    source = read_requests(options.traces) if options.traces else None
    loads = read_quantiles(options.traces, LOAD) if options.traces else MADE_UP
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in policies}
    steps = [(seed, name) for seed in range(options.seeds) for name in policies]
    setting = None
    for done, (seed, name) in enumerate(steps):
        progress(done, len(steps), f"{name} seed {seed}")
        if setting is None or setting.seed != seed:
            requests = repeated(within_days(source or made_up(seed), options.days), seed)
            setting = _Setting(requests, loads, workload, seed)
        runs[name].append(_once(setting, POLICIES[name]))
    progress(len(steps), len(steps), "done")
    means = {name: _mean(entries) for name, entries in runs.items()}
    return Report(_data(options, workload, means, runs), (_table(workload, means),), _notes(means))


def _workload(options: BenchOptions) -> str:
    wanted = options.workload or WORKLOADS[0]
    if wanted not in WORKLOADS:
        known = ", ".join(WORKLOADS)
        raise FieldError(f"serve-genai has no workload {wanted!r}", hint=f"it has: {known}")
    return wanted


def _usual(workload: str) -> tuple[str, ...]:
    """The oracle does not know how long models load: beside them it would be no bound."""
    return tuple(name for name in USUAL if workload in WITHOUT_MODELS or name != "oracle")


def _once(setting: _Setting, make: Make) -> dict[str, Any]:
    idle, began = setting.idle(), process_time()
    served = Fleet(setting.requests, make(setting.requests), setting.rules(), idle).run()
    entry = _figures(served, busy_hours(setting.requests))
    loads = {"loads": idle.loads} if isinstance(idle, Loaded) else {}
    return entry | loads | {"cpu_s": process_time() - began}


def _figures(served: Served, busy: float) -> dict[str, Any]:
    waits = sorted(served.waits)
    return {
        "requests": len(waits),
        "on_time_pct": 100 * sum(wait <= LATE_MS for wait in waits) / len(waits),
        "replica_hours": served.replica_hours,
        "over_busy": served.replica_hours / busy,
        "loading_hours": served.preparing_hours,
        "p50_wait_s": quantile(waits, 50) / 1000,
        "p99_wait_s": quantile(waits, 99) / 1000,
        "mean_wait_s": fmean(waits) / 1000,
        "most_replicas": served.most,
        "starts": served.starts,
    }


def _mean(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {key: fmean(entry[key] for entry in entries) for key in entries[0]}


def _data(
    options: BenchOptions,
    workload: str,
    means: dict[str, dict[str, Any]],
    runs: dict[str, list[dict[str, Any]]],
) -> dict[str, Any]:
    return {
        "bench": "serve-genai",
        "source": str(options.traces) if options.traces else "synthetic",
        "synthetic": options.traces is None,
        "workload": workload,
        "days": options.days,
        "seeds": list(range(options.seeds)),
        "policies": means,
        "hours_over": _over(means),
        "hours_over_curve": over_curve(means),
        "per_seed": runs,
    }


def _over(means: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Ganglion's replica-hours over those of each other policy."""
    ours = means.get("ganglion")
    return {
        name: ours["replica_hours"] / entry["replica_hours"]
        for name, entry in means.items()
        if ours and name != "ganglion"
    }


def _notes(means: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    listed = ", ".join(f"{over:.2f} x {name}" for name, over in _over(means).items())
    bound = (_ORACLE,) if "oracle" in means else ()
    more = (*curve_note(means), *((f"Replica-hours of ganglion: {listed}.",) if listed else ()))
    return (*_NOTES, *bound, *more)


_COLUMNS = {
    "on time %": ("on_time_pct", "{:.2f}"),
    "replica-hours": ("replica_hours", "{:,.0f}"),
    "/ busy": ("over_busy", "{:.2f}"),
    "loading h": ("loading_hours", "{:,.0f}"),
    "p99 wait s": ("p99_wait_s", "{:,.1f}"),
    "most": ("most_replicas", "{:,.0f}"),
    "starts": ("starts", "{:,.0f}"),
    "cpu s": ("cpu_s", "{:.1f}"),
}


def _table(workload: str, means: dict[str, dict[str, Any]]) -> Table:
    requests = next(iter(means.values()))["requests"]
    return compared(f"{workload}: {requests:,.0f} requests", "policy", _COLUMNS, means)


BENCH = Bench(
    "serve-genai",
    "Replicas of an image service: requests begun on time against replica-hours.",
    run,
    tuple(POLICIES),
    sizes=("days",),
)
"""The benchmark."""
