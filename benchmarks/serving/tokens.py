"""`serve-tokens`: replicas of a language model follow an hour of its requests.

Traces of Azure and Mooncake on a stated model of a replica. See docs/benchmarks/serve-tokens.md.
"""

from collections.abc import Sequence
from math import ceil
from statistics import fmean
from time import process_time
from typing import Any

from msgspec import Struct

from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
    compared,
)
from benchmarks.serving.batches import Answered, Batches
from benchmarks.serving.fleet import Policy, Rules
from benchmarks.serving.hpa import Hpa, HpaSettings
from benchmarks.serving.kpa import Kpa, KpaSettings
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
from benchmarks.serving.prompts import Model, Prompt, made_up, read_prompts, repeated
from benchmarks.serving.requests import Request
from ganglion.model.behaviour import Scaling, Signal, Target
from ganglion.worlds.simulated.metrics.records import quantile

MODEL = Model()
COPIES = 10
SPREAD_MS = 60_000
"""Time, in ms, within which copies of a request arrive."""
RULES = Rules(every_ms=15_000, late_ms=2_000)
WATCH_MS = 300_000
"""Time in which each scaler watches and keeps the replicas: all windows are filled then."""

CURVES = {curve_name(factor): factor for factor in CURVE}

POLICIES = ("ganglion", "reactive", "hpa", "knative", *CURVES, "oracle")


class Case(Struct, frozen=True):
    """One hour of one service.

    Attributes:
        prompts: its requests.
        share: requests at once that one replica should have.
    """

    prompts: Sequence[Prompt]
    share: float

    @property
    def first(self) -> int:
        """Replicas for the mean load, with which every scaler begins."""
        requests = self.requests()
        span = max(1, requests[-1].at - requests[0].at)
        return ceil(sum(each.takes for each in requests) / span / self.share)

    def requests(self) -> list[Request]:
        """The same as if no request ever had to wait."""
        return [
            Request(each.at, MODEL.prefill_ms(each) + MODEL.decode_ms(each))
            for each in self.prompts
        ]


def policy(name: str, case: Case) -> Policy:
    """A way to scale a service by its requests at once; all have the same share per replica."""
    match name:
        case "ganglion":
            return Ours(scaling(case))
        case "reactive":
            return Reactive(round(case.share * 100), 300_000)
        case "hpa":
            return Hpa(HpaSettings(target=case.share))
        case "knative":
            return Kpa(KpaSettings(target=case.share))
        case _ if name in CURVES:
            return SquareRoot(CURVES[name], share=case.share)
        case _:
            return Oracle(case.requests(), RULES.cold_start() + RULES.every_ms, case.share)


def scaling(case: Case) -> Scaling:
    """What the owner asks of Ganglion; the rest is left at its defaults."""
    return Scaling(
        floor=1,
        ceiling=1_000,
        targets=(Target(Signal.REQUESTS, round(case.share * 1_000)),),
        start_within_ms=RULES.late_ms,
    )


_NOTES = (
    "on time: prompts that a replica began to read within 2 s. ttft: time to the first token.",
    "All policies begin with the replicas that the mean load needs, and keeps them for 5 minutes.",
    "oracle: knows the requests of the next 75 s.",
)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file or policy, or a value of the file.
    """
    policies = check_policies(BENCH, options.policies)
    source = read_prompts(options.traces, options.workload) if options.traces else {"made up": []}
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    steps = [(workload, seed) for workload in source for seed in range(options.seeds)]
    for done, (workload, seed) in enumerate(steps):
        case = _case(source[workload], seed)
        for place, name in enumerate(policies):
            label = f"{workload} {name} seed {seed}"
            progress(done * len(policies) + place, len(steps) * len(policies), label)
            runs = found.setdefault(workload, {}).setdefault(name, [])
            runs.append(_once(case, policy(name, case)))
    progress(len(steps) * len(policies), len(steps) * len(policies), "done")
    means = {
        workload: {name: _mean(entries) for name, entries in runs.items()}
        for workload, runs in found.items()
    }
    over = [f"{name}: {note}" for name, each in means.items() for note in curve_note(each)]
    tables = tuple(map(_table, means, means.values()))
    return Report(_data(options, means, found), tables, (*_NOTES, *over))


def _case(prompts: list[Prompt], seed: int) -> Case:
    share = MODEL.per_replica(prompts or made_up(seed))
    return Case(repeated(prompts or made_up(seed), seed, COPIES, SPREAD_MS), share)


def _once(case: Case, chosen: Policy) -> dict[str, Any]:
    began = process_time()
    answered = Batches(case.prompts, chosen, RULES, MODEL, case.first, WATCH_MS).run()
    return {**_figures(case, answered), "cpu_s": process_time() - began}


def _figures(case: Case, answered: Answered) -> dict[str, Any]:
    waits, first = sorted(answered.waits), sorted(answered.first)
    busy = sum(request.takes for request in case.requests()) / case.share
    return {
        "requests": len(waits),
        "share": case.share,
        "on_time_pct": 100 * sum(wait <= RULES.late_ms for wait in waits) / len(waits),
        "replica_hours": answered.replica_hours,
        "over_busy": answered.replica_ms / max(1, busy),
        "p50_ttft_s": quantile(first, 50) / 1000,
        "p99_ttft_s": quantile(first, 99) / 1000,
        "p99_wait_s": quantile(waits, 99) / 1000,
        "most_replicas": answered.most,
        "starts": answered.starts,
    }


def _mean(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {key: fmean(entry[key] for entry in entries) for key in entries[0]}


def _data(
    options: BenchOptions,
    means: dict[str, dict[str, dict[str, Any]]],
    found: dict[str, dict[str, list[dict[str, Any]]]],
) -> dict[str, Any]:
    return {
        "bench": "serve-tokens",
        "source": str(options.traces) if options.traces else "synthetic",
        "synthetic": options.traces is None,
        "seeds": list(range(options.seeds)),
        "copies": COPIES,
        "model": {"prefill": MODEL.prefill, "decode": MODEL.decode, "slots": MODEL.slots},
        "workloads": means,
        "hours_over_curve": {name: over_curve(entries) for name, entries in means.items()},
        "per_seed": found,
    }


_COLUMNS = {
    "on time %": ("on_time_pct", "{:.2f}"),
    "replica-hours": ("replica_hours", "{:,.1f}"),
    "/ busy": ("over_busy", "{:.2f}"),
    "ttft p50 s": ("p50_ttft_s", "{:.2f}"),
    "p99 s": ("p99_ttft_s", "{:.2f}"),
    "most": ("most_replicas", "{:,.0f}"),
    "starts": ("starts", "{:,.0f}"),
    "cpu s": ("cpu_s", "{:.1f}"),
}


def _table(workload: str, means: dict[str, dict[str, Any]]) -> Table:
    one = next(iter(means.values()))
    title = f"{workload}: {one['requests']:,.0f} requests, {one['share']:.1f} at once per replica"
    return compared(title, "policy", _COLUMNS, means)


BENCH = Bench(
    "serve-tokens",
    "Replicas of a language model: prompts read on time against replica-hours.",
    run,
    POLICIES,
)
"""The benchmark."""
