"""From what a person asks for to a scenario: trace or synthetic jobs, cluster, policy."""

from collections import Counter
from pathlib import Path

from msgspec import Struct, structs

from ganglion.model.errors import FieldError, NotFound
from ganglion.model.fleet.node import Node
from ganglion.model.policy import Order, Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Checkpoint
from ganglion.specs.cluster.cluster import load_cluster
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import parse_faults
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.readers import openb
from ganglion.worlds.simulated.readers.detect import TraceFormat, detect, read_trace
from ganglion.worlds.simulated.readers.text import CsvTable
from ganglion.worlds.simulated.scenario import SimulatedScenario, with_queues_of
from ganglion.worlds.simulated.setup.cluster import build_nodes, equal_quotas, nodes_for
from ganglion.worlds.simulated.setup.policy_words import named_policy, read_policy
from ganglion.worlds.simulated.setup.synthetic import TEAMS, synthetic_jobs
from ganglion.worlds.simulated.units import parse_ms

DEFAULT_JOBS, DEFAULT_NODES = 1_000, 8
CSV_ENDINGS = (".csv", ".csv.gz")


class RunOptions(Struct, frozen=True):
    """What a person may say about a run; None and "" leave the choice to us.

    Attributes:
        trace, fmt: file and format of the jobs.
        synthetic: number of drawn jobs in place of a trace.
        seed: of the synthetic workload and of faults.
        queue: only the jobs of this queue.
        limit: at most this number of jobs, the first by submit time.
        cluster: a cluster file, or an openb node list.
        nodes, gpus_per_node, nodes_per_rack: equal nodes in place of a file.
        cpus_per_node: cores of a node for logs of CPU jobs.
        policy: words separated by commas: a preset or policy file, an order, `strict`, Score
            plugins.
        faults: see `parse_faults`.
        start_delay, restart_cost, resize_cost, horizon, checkpoint: times; see `Timing` and
            `Checkpoint`.
        stop_time: how long stopped pods take to leave; empty = their whole grace.
        save_on_stop: see `Timing`.
    """

    trace: Path | None = None
    fmt: TraceFormat = TraceFormat.AUTO
    synthetic: int | None = None
    seed: int = 1
    queue: str = ""
    limit: int | None = None
    cluster: Path | None = None
    nodes: int | None = None
    gpus_per_node: int = 8
    nodes_per_rack: int = 8
    cpus_per_node: int = 64
    policy: str = ""
    faults: str = "none"
    start_delay: str = "0s"
    restart_cost: str = "0s"
    resize_cost: str = "0s"
    stop_time: str = ""
    save_on_stop: bool = False
    checkpoint: str = ""
    horizon: str = ""


class _Cluster(Struct):
    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    policy: Policy = Policy()


def scenario_of(options: RunOptions) -> SimulatedScenario:
    """Read, draw and build everything a run needs.

    Raises:
        FileError: a file is unreadable or in no known format.
        FieldError: a value cannot be used.
        NotFound: the trace has no such queue.
    """
    if options.trace and options.synthetic is not None:
        raise FieldError("give a trace or --synthetic, not both", key="--synthetic")
    given = _given_cluster(options)
    named = named_policy(options.policy)
    queues = (named and named.queues) or (given.queues if given else ())
    if options.trace:
        jobs, cluster, title, notes = _from_trace(options.trace, options, given)
        cluster.queues = queues
    else:
        jobs, cluster, title, notes = _drawn(options, given, queues)
    policy = read_policy(options.policy, cluster.policy)
    if policy.order in (Order.SHORTEST, Order.SMALLEST):
        jobs = [_foreseen(job) for job in jobs]
        notes.append(f"order {policy.order}: run times are known exactly beforehand")
    queues = with_queues_of(cluster.queues, jobs)
    if cluster.queues and len(queues) > len(cluster.queues):
        added = ", ".join(queue.name for queue in queues[len(cluster.queues) :][:5])
        notes.append(f"queues without quota were added for the trace: {added}")
    return SimulatedScenario(
        nodes=cluster.nodes,
        queues=queues,
        jobs=tuple(_with_checkpoints(jobs, options.checkpoint)),
        policy=policy,
        timing=_timing(options),
        faults=parse_faults(options.faults, options.seed),
        horizon_ms=parse_ms(options.horizon, "--horizon") if options.horizon else None,
        title=title,
        notes=tuple(notes),
    )


def _timing(options: RunOptions) -> Timing:
    return Timing(
        start_ms=parse_ms(options.start_delay, "--start-delay"),
        restart_ms=parse_ms(options.restart_cost, "--restart-cost"),
        resize_ms=parse_ms(options.resize_cost, "--resize-cost"),
        stop_ms=parse_ms(options.stop_time, "--stop-time") if options.stop_time else None,
        save_on_stop=options.save_on_stop,
    )


def _given_cluster(options: RunOptions) -> _Cluster | None:
    path = options.cluster
    if path and options.nodes is not None:
        raise FieldError("give --cluster or --nodes, not both", key="--nodes")
    if path and path.name.endswith(CSV_ENDINGS):
        if not openb.is_nodes(CsvTable(path).columns):
            names = ", ".join(openb.NODE_COLUMNS)
            raise FieldError(f"{path} is no list of nodes", key="--cluster", hint=f"needs {names}")
        return _Cluster(tuple(openb.read_nodes(path)))
    if path:
        found = load_cluster(path)
        if not found.nodes:
            raise FieldError("the cluster file has no nodes", key="nodes", file=str(path))
        return _Cluster(found.nodes, found.queues, found.policy)
    return None


def _from_trace(
    trace: Path, options: RunOptions, given: _Cluster | None
) -> tuple[list[SimJob], _Cluster, str, list[str]]:
    fmt = detect(trace) if options.fmt is TraceFormat.AUTO else options.fmt
    jobs = read_trace(trace, fmt, per_node=_per_node(options, fmt, given))
    jobs = _chosen(jobs, trace, options)
    title = f"{trace.name}{f', queue {options.queue}' if options.queue else ''}"
    if given:
        return jobs, given, title, []
    if fmt is TraceFormat.OPENB and options.nodes is None:
        raise FieldError(
            "an openb pod list needs the nodes that belong to it",
            key="--cluster",
            hint="give openb_node_list_gpu_node.csv, a cluster file, or --nodes",
        )
    nodes, notes = _built_for(jobs, options)
    return jobs, _Cluster(nodes), title, notes


def _per_node(options: RunOptions, fmt: TraceFormat, given: _Cluster | None) -> int:
    """GPUs, or cores for logs of CPU jobs, of the most common largest kind of node."""
    if fmt is TraceFormat.SWF:
        cores = [node.cpu_milli // 1000 for node in given.nodes] if given else []
        return max(cores, default=options.cpus_per_node)
    gpus = Counter(len(node.devices) for node in given.nodes if node.devices) if given else None
    return max(gpus) if gpus else options.gpus_per_node


def _chosen(jobs: list[SimJob], trace: Path, options: RunOptions) -> list[SimJob]:
    if options.queue:
        names = sorted({job.gang.queue for job in jobs})
        jobs = [job for job in jobs if job.gang.queue == options.queue]
        if not jobs:
            shown = ", ".join(names[:12])
            raise NotFound(f"{trace} has no queue {options.queue!r}", f"it has: {shown}")
    return jobs[: options.limit] if options.limit else jobs


def _built_for(jobs: list[SimJob], options: RunOptions) -> tuple[tuple[Node, ...], list[str]]:
    types = {kind for j in jobs for pods in j.gang.pod_sets for kind in pods.request.gpu.types}
    if types:
        raise FieldError(
            f"the trace asks for GPU types ({', '.join(sorted(types)[:5])}), built nodes have none",
            key="--cluster",
            hint="give the node list or cluster file that belongs to the trace",
        )
    gpus = any(pods.request.gpu.count for job in jobs for pods in job.gang.pod_sets)
    per_node = options.gpus_per_node if gpus else options.cpus_per_node
    count = options.nodes or nodes_for(jobs, per_node, gpus=gpus)
    notes = [] if options.nodes else [f"{count} nodes, sized for a mean load of 90 %"]
    return _nodes(options, count, gpus=gpus), notes


def _nodes(options: RunOptions, count: int, *, gpus: bool) -> tuple[Node, ...]:
    if gpus:
        return build_nodes(count, options.gpus_per_node, options.nodes_per_rack)
    return build_nodes(count, 0, options.nodes_per_rack, cpus=options.cpus_per_node)


def _drawn(
    options: RunOptions, given: _Cluster | None, queues: tuple[Queue, ...]
) -> tuple[list[SimJob], _Cluster, str, list[str]]:
    if options.queue:
        raise FieldError("only traces have queues to choose from", key="--queue")
    cluster = given or _Cluster(_nodes(options, options.nodes or DEFAULT_NODES, gpus=True))
    cluster.queues = queues
    gpus = sum(len(node.devices) for node in cluster.nodes)
    if not gpus:
        raise FieldError("the synthetic workload needs nodes with GPUs", key="--cluster")
    teams = leaves(cluster.queues) or TEAMS
    count = options.synthetic or DEFAULT_JOBS
    jobs = synthetic_jobs(
        count,
        options.seed,
        gpus=gpus,
        per_node=max(len(node.devices) for node in cluster.nodes),
        teams=teams,
    )
    if not cluster.queues:
        cluster.queues = equal_quotas(teams, cluster.nodes)
    return jobs[: options.limit], cluster, f"Synthetic workload, seed {options.seed}", []


def leaves(queues: tuple[Queue, ...]) -> tuple[str, ...]:
    """Names of the queues that have none under them, in order."""
    parents = {queue.parent for queue in queues}
    return tuple(queue.name for queue in queues if queue.name not in parents)


def _foreseen(job: SimJob) -> SimJob:
    gang = structs.replace(job.gang, expected_ms=job.duration_ms or 0)
    return structs.replace(job, gang=gang)


def _with_checkpoints(jobs: list[SimJob], every: str) -> list[SimJob]:
    if not every:
        return jobs
    contract = Checkpoint(interval_ms=parse_ms(every, "--checkpoint"))
    return [
        structs.replace(job, gang=structs.replace(job.gang, checkpoint=contract)) for job in jobs
    ]
