"""`jct-muri`: completion times on Muri's Philly-derived traces, 8 nodes of 8 GPUs.

The protocol of Muri (SIGCOMM'22), whose authors publish the average completion time of
several schedulers on the same job lists. See docs/benchmarks/jct.md.
"""

from operator import itemgetter
from typing import Any

from benchmarks.common.jobs import Cluster, cluster_of, read_arrivals, synthetic
from benchmarks.common.traces import choose, workload_files
from benchmarks.completion.jct import POLICIES, USUAL, report, run_all
from benchmarks.registry import Bench, BenchOptions, Progress, Report, check_policies
from ganglion.model.errors import FieldError, NotFound

NODES = 8
FIRST = "1"

PUBLISHED: dict[str, tuple[int, dict[str, int]]] = {
    "trace1": (1494, {"srtf": 1370603, "srsf": 980141, "tiresias-l": 3330371, "themis": 1823179}),
    "trace1_pr": (
        1494,
        {"srtf": 2303544, "srsf": 1801860, "tiresias-l": 6921683, "themis": 3314303},
    ),
    "trace2": (5755, {"srtf": 2665607, "srsf": 2213950, "tiresias-l": 7396369, "themis": 4628172}),
    "trace2_pr": (
        5755,
        {"srtf": 4079154, "srsf": 3384600, "tiresias-l": 10555502, "themis": 12529491},
    ),
    "trace3": (992, {"srtf": 193082, "srsf": 185022, "tiresias-l": 347213, "themis": 397059}),
    "trace3_pr": (992, {"srtf": 844395, "srsf": 798058, "tiresias-l": 2213110, "themis": 1502768}),
    "trace4": (2638, {"srtf": 581983, "srsf": 487167, "tiresias-l": 1319383, "themis": 994970}),
    "trace4_pr": (
        2638,
        {"srtf": 1430856, "srsf": 1218502, "tiresias-l": 2674023, "themis": 2271053},
    ),
}
"""Average JCT in seconds by trace, with its number of jobs (Zhao et al., SIGCOMM'22)."""


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file or policy, or a value of the file.
    """
    policies = check_policies(BENCH, options.policies or USUAL)
    clusters = _clusters(options)
    made = report("jct-muri", options.traces, run_all(clusters, policies, progress))
    published = _published(clusters) if options.traces else {}
    ours: dict[str, float] = made.data["avg_jct_s"]
    compared = {
        name: {"published_avg_jct_s": figure, "ours_over_published": ours[name] / figure}
        for name, figure in published.items()
        if name in ours
    }
    data = made.data | {"published_avg_jct_s": published, "compared": compared}
    return Report(data, made.tables, (*made.notes, *_sentences(published, compared)))


def _clusters(options: BenchOptions) -> list[Cluster]:
    if options.traces is None:
        if options.workload:
            raise FieldError(
                f"workload {options.workload!r} without traces",
                hint="give their folder: --traces DIR",
            )
        seeds = range(options.seeds)
        return [cluster_of(f"seed{seed}", synthetic(seed), NODES) for seed in seeds]
    found = workload_files(options.traces, "trace")
    only = next(iter(found)) if len(found) == 1 else FIRST
    wanted = (options.workload or only).removeprefix("trace")
    path = choose(found, wanted, options.traces)
    merged = (each for group in read_arrivals(path).values() for each in group)
    arrivals = sorted(merged, key=itemgetter(0))
    name = f"trace{wanted}" if path.name.startswith("trace") else wanted
    cluster = cluster_of(name, arrivals, NODES)
    if not cluster.jobs:
        raise NotFound(f"no job of {path} fits {NODES} nodes of 8 GPUs")
    return [cluster]


def _published(clusters: list[Cluster]) -> dict[str, int]:
    """Figures of the paper, if this is the same job list as far as can be checked."""
    for cluster in clusters:
        jobs, known = PUBLISHED.get(cluster.name, (0, {}))
        if jobs == len(cluster.jobs):
            return known
    return {}


def _sentences(published: dict[str, int], compared: dict[str, Any]) -> tuple[str, ...]:
    if not published:
        return ()
    listed = ", ".join(f"{name} {figure:,}" for name, figure in published.items())
    against = ", ".join(
        f"{name} {100 * (each['ours_over_published'] - 1):+.1f} %"
        for name, each in compared.items()
    )
    said = f"Published average JCT in s: {listed}."
    return (said, f"Ours against it: {against}.") if against else (said,)


BENCH = Bench(
    "jct-muri",
    "Job completion times on Muri's Philly traces, against published figures.",
    run,
    POLICIES,
)
