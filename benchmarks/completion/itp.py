"""`jct-itp`: completion times on Microsoft's ITP clusters at an offered load of 0.9.

The jobs of ten clusters over two months (ElasticFlow, ASPLOS'23), each cluster shrunk until
its jobs ask for 0.9 of it on average. See docs/benchmarks/jct.md.
"""

from typing import Any

from msgspec.structs import replace

from benchmarks.common.jobs import (
    Arrival,
    Cluster,
    cluster_of,
    nodes_at_load,
    read_arrivals,
    synthetic,
)
from benchmarks.common.traces import main_file
from benchmarks.completion.jct import POLICIES, USUAL, report, run_all
from benchmarks.registry import Bench, BenchOptions, Progress, Report, check_policies
from ganglion.model.errors import FieldError, NotFound

LOAD = 0.9
WANTED = (*USUAL[:-1], "las", "default", "unshared")
"""Those that run when none is named."""

OPEN = ("cluster01", "cluster02", "cluster04", "cluster05", "cluster08")
OPEN_JOBS = 39_825
REFERENCE = {
    "fifo": 172_652,
    "fifo-overtaking": 73_240,
    "sjf": 46_861,
    "srtf": 30_516,
    "srsf": 29_882,
    "las": 51_254,
}
"""Average JCT in s over the jobs of the open clusters in an independent replay."""

FEWEST_JOBS = 1000
"""Clusters with fewer jobs are left out unless named: their figures would be noise."""


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file, cluster or policy, or a value of the file.
    """
    policies = check_policies(BENCH, options.policies or WANTED)
    clusters, small = _clusters(options)
    runs = run_all(clusters, policies, progress)
    notes = (f"Left out, having fewer than {FEWEST_JOBS:,} jobs: {', '.join(small)}.",)
    extra = {"offered_load": LOAD, "left_out": list(small)}
    made = report("jct-itp", options.traces, runs, extra, notes if small else ())
    return replace(made, data=made.data | _distances(clusters, made.data))


def _distances(clusters: list[Cluster], data: dict[str, Any]) -> dict[str, Any]:
    """Averages over those of an independent replay, where these are its clusters."""
    names = tuple(each.name for each in clusters)
    if names != OPEN or sum(len(each.jobs) for each in clusters) != OPEN_JOBS:
        return {}
    over = {
        name: {other: figure / reference for other, reference in REFERENCE.items()}
        for name, figure in data["avg_jct_s"].items()
    }
    return {"reference_avg_jct_s": REFERENCE, "over_reference": over}


def _clusters(options: BenchOptions) -> tuple[list[Cluster], list[str]]:
    """The clusters to run, and the names of those with too few jobs."""
    arrivals = _arrivals(options)
    clusters = [_sized(name, found) for name, found in arrivals.items()]
    if options.workload:
        return [_usable(cluster) for cluster in clusters], []
    large = [each for each in clusters if len(each.jobs) >= FEWEST_JOBS]
    if not large:
        sizes = ", ".join(f"{each.name} ({len(each.jobs)} jobs)" for each in clusters)
        hint = f"name one of these with --workload: {sizes}"
        raise NotFound(f"no cluster of {options.traces} has {FEWEST_JOBS:,} jobs", hint)
    return large, [each.name for each in clusters if len(each.jobs) < FEWEST_JOBS]


def _arrivals(options: BenchOptions) -> dict[str, list[Arrival]]:
    if options.traces is None:
        if options.workload:
            raise FieldError(
                f"workload {options.workload!r} without traces",
                hint="give their folder: --traces DIR",
            )
        return {f"seed{seed}": synthetic(seed) for seed in range(options.seeds)}
    path = main_file(options.traces, "jobs")
    found = read_arrivals(path)
    if options.workload is None:
        return found
    if options.workload not in found:
        raise NotFound(f"{path} has no vc {options.workload!r}", f"found: {', '.join(found)}")
    return {options.workload: found[options.workload]}


def _sized(name: str, arrivals: list[Arrival]) -> Cluster:
    return cluster_of(name, arrivals, nodes_at_load(arrivals, LOAD))


def _usable(cluster: Cluster) -> Cluster:
    if not cluster.jobs:
        raise NotFound(f"no job of {cluster.name} fits its {cluster.nodes} nodes of 8 GPUs")
    return cluster


BENCH = Bench(
    "jct-itp",
    "Job completion times on Microsoft's ITP clusters at offered load 0.9.",
    run,
    POLICIES,
)
