"""`kubernetes`: pods bound by several schedulers on one real API server, side by side."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.flags import Options
from benchmarks.controlplane.programs import find
from benchmarks.kubernetes.field import GPUS_PER_NODE, Field
from benchmarks.kubernetes.mixed import APPLICATIONS, ZONES, mixed_labels, mixed_pod
from benchmarks.kubernetes.reclaim import HELD, reclaim
from benchmarks.kubernetes.rivals import BARE, RIVALS, Rival
from benchmarks.kubernetes.rounds import (
    GANG_NODES,
    GANG_SIZE,
    GANGS,
    PACE_PER_S,
    PODS_PER_NODE,
    Figures,
    control_plane_memory,
    fill,
    flow,
    gangs,
    restart,
)
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Forms,
    Progress,
    Report,
    check_policies,
    compared,
)
from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.names import SCHEDULER

Measure = Callable[[Field, Rival, int], Awaitable[Figures]]
"""Measures one scheduler; the last is the number of the round, from 0."""

_FLOW: Forms = {
    "backlog/s": ("backlog_s", "{:.0f}"),
    "burst/s": ("burst_s", "{:.0f}"),
    "p50 ms": ("p50_ms", "{:.0f}"),
    "p99 ms": ("p99_ms", "{:.0f}"),
    "cpu ms/pod": ("cpu_ms", "{:.1f}"),
    "api cpu ms/pod": ("api_cpu_ms", "{:.1f}"),
    "rss MiB": ("rss_mib", "{:.0f}"),
    "events": ("events", "{:.0f}"),
}
_GANGS: Forms = {
    "whole": ("whole", "{:.0f}"),
    "partial": ("partial", "{:.0f}"),
    "waiting": ("waiting", "{:.0f}"),
    "GPUs at work": ("used_gpus", "{:.0f}"),
    "GPUs stuck": ("stuck_gpus", "{:.0f}"),
    "seconds": ("seconds", "{:.1f}"),
}
_SCALE: Forms = {
    "ready s": ("ready_s", "{:.1f}"),
    "cpu s": ("cpu_s", "{:.1f}"),
    "rss MiB": ("rss_mib", "{:.0f}"),
}
_RECLAIM: Forms = {
    "victims": ("victims", "{:.0f}"),
    "first s": ("first_s", "{:.2f}"),
    "last s": ("last_s", "{:.2f}"),
    "gone s": ("gone_s", "{:.2f}"),
    "bound s": ("bound_s", "{:.2f}"),
    "cpu s": ("cpu_s", "{:.2f}"),
}
_PARTIAL = "partial: gangs with some of their pods bound; their GPUs are stuck."
_NOTES = {
    "flow": (
        "backlog: pods bound a second when all wait already, the start of the process included."
        " burst: when they are created meanwhile, as fast as the API server takes them.",
        f"p50, p99: creation to binding at {PACE_PER_S:.0f} pods a second. cpu, rss: of the"
        " scheduler; api cpu: of the API server, creation and watches included. events: Scheduled"
        " events about pods of the burst that were written by its end.",
        "bare: the client that creates a pod binds it: what the API server and client can do.",
        "Medians of rounds; in each round each runs once, on the same API server and nodes.",
    ),
    "mixed": (
        f"{APPLICATIONS} applications: each spread over {ZONES} zones with maxSkew 1, no two of its"
        " pods on one node, a CPU request of its own; one in four asks for a fast disk, every other"
        " one for a GPU. Columns as for flow.",
        "bare: the client that creates a pod binds it, whatever its rules.",
    ),
    "gangs": (
        "kube-scheduler-gangs: with the alpha feature gates GenericWorkload and GangScheduling.",
        f"{GANGS} gangs of {GANG_SIZE} pods of one GPU at once, their pods in random order, on GPUs"
        f" for three in five of them. {_PARTIAL}",
    ),
    "gangs-queued": (
        f"The same with all pods of a gang created before those of the next. {_PARTIAL}",
    ),
    "reclaim": (
        "From the creation of the last pod of an urgent gang. first, last: Jobs seen suspended."
        " gone: the last pod of those was gone. bound: the last pod of the gang was bound.",
        "bare: the client suspends the Jobs and binds the gang: what the server, the client and"
        " the Job controller need.",
    ),
    "scale": (
        "ready: from the start of the process to the first binding of a new pod, on a cluster"
        " with these nodes and bound pods. cpu: until then.",
    ),
}


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run one of the three parts; `workload` names it, and `seeds` is the number of rounds."""
    mode = options.workload or "flow"
    if mode not in _MODES:
        raise InputError(f"kubernetes has no workload {mode!r}", f"it has: {', '.join(_MODES)}")
    rivals = [RIVALS[name] for name in check_policies(BENCH, options.policies)]
    rivals = [rival for rival in rivals if _takes_part(rival, mode)]
    gates = tuple({gate: None for rival in rivals for gate in rival.gates})
    with ControlPlane(find(), Options(gates, all_apis=bool(gates))) as plane:
        return asyncio.run(_MODES[mode](plane, rivals, options, progress))


def _takes_part(rival: Rival, mode: str) -> bool:
    if mode == "reclaim":
        return rival.name in (BARE, SCHEDULER)
    if rival.name == BARE:
        return mode in ("flow", "mixed")
    return not rival.gates or mode.startswith("gangs")


async def _flow(
    plane: ControlPlane, rivals: Sequence[Rival], options: BenchOptions, progress: Progress
) -> Report:
    nodes, pods = options.nodes or 1_000, options.pods or 2_000
    room = nodes * GPUS_PER_NODE
    if pods > room:
        raise InputError(
            f"--pods {pods}: {nodes} nodes of {GPUS_PER_NODE} GPUs have room for {room}",
            "fewer pods, or more --nodes",
        )

    async def one(field: Field, rival: Rival, _: int) -> Figures:
        return await flow(field, rival, nodes, pods)

    rounds = await _in_turns(plane, rivals, options.seeds, [{}] * nodes, one, progress)
    title = f"{pods} pods of one GPU on {nodes} nodes of 8"
    return _report("flow", title, _FLOW, rounds, {"nodes": nodes, "pods": pods})


async def _mixed(
    plane: ControlPlane, rivals: Sequence[Rival], options: BenchOptions, progress: Progress
) -> Report:
    nodes, pods = options.nodes or 1_000, options.pods or 2_000
    room = nodes * GPUS_PER_NODE
    if pods > room:
        raise InputError(f"--pods {pods}: {nodes} nodes have room for {room}", "more --nodes")

    async def one(field: Field, rival: Rival, _: int) -> Figures:
        return await flow(field, rival, nodes, pods, mixed_pod)

    labels = mixed_labels(nodes)
    rounds = await _in_turns(plane, rivals, options.seeds, labels, one, progress)
    title = f"{pods} pods of {APPLICATIONS} applications with rules on {nodes} nodes"
    return _report("mixed", title, _FLOW, rounds, {"nodes": nodes, "pods": pods})


async def _gangs(
    plane: ControlPlane, rivals: Sequence[Rival], options: BenchOptions, progress: Progress
) -> Report:
    """Gangs that are submitted at once, so that their pods mix."""
    return await _all_gangs("gangs", gangs, plane, rivals, options, progress)


async def _queued(
    plane: ControlPlane, rivals: Sequence[Rival], options: BenchOptions, progress: Progress
) -> Report:
    """Gangs that are submitted one after the other."""

    async def one(field: Field, rival: Rival, _: int) -> Figures:
        return await gangs(field, rival, None)

    return await _all_gangs("gangs-queued", one, plane, rivals, options, progress)


async def _all_gangs(
    mode: str,
    measure: Measure,
    plane: ControlPlane,
    rivals: Sequence[Rival],
    options: BenchOptions,
    progress: Progress,
) -> Report:
    nodes = options.nodes or GANG_NODES
    rounds = await _in_turns(plane, rivals, options.seeds, [{}] * nodes, measure, progress)
    title = f"{GANGS} gangs of {GANG_SIZE} pods on {nodes} nodes of 8 GPUs"
    return _report(mode, title, _GANGS, rounds, {"nodes": nodes, "pods": GANGS * GANG_SIZE})


async def _reclaim(
    plane: ControlPlane, rivals: Sequence[Rival], options: BenchOptions, progress: Progress
) -> Report:
    nodes = options.nodes or 500

    async def one(field: Field, rival: Rival, _: int) -> Figures:
        return await reclaim(field, rival, nodes)

    rounds = await _in_turns(plane, rivals, options.seeds, [{}] * nodes, one, progress)
    title = f"A gang for half of {nodes} nodes of 8 GPUs, which Jobs of {HELD} GPUs fill"
    return _report("reclaim", title, _RECLAIM, rounds, {"nodes": nodes})


async def _scale(
    plane: ControlPlane, rivals: Sequence[Rival], options: BenchOptions, progress: Progress
) -> Report:
    nodes = options.nodes or 5_000
    pods = options.pods or nodes * PODS_PER_NODE
    rounds: dict[str, list[Figures]] = {}
    memory: dict[str, Any] = {}
    async with Field(plane) as field:
        progress(0, len(rivals) * 2, f"creating {nodes} nodes")
        await field.add_nodes(nodes)
        for number, rival in enumerate(rivals):
            progress(2 * number, len(rivals) * 2, f"creating {pods} pods for {rival.name}")
            await fill(field, rival, nodes, pods)
            memory = control_plane_memory(plane)
            progress(2 * number + 1, len(rivals) * 2, rival.name)
            rounds[rival.name] = [await restart(field, rival) for _ in range(options.seeds)]
    title = f"Start on {nodes} nodes with {pods} pods"
    return _report("scale", title, _SCALE, rounds, {"nodes": nodes, "pods": pods, **memory})


async def _in_turns(
    plane: ControlPlane,
    rivals: Sequence[Rival],
    rounds: int,
    nodes: Sequence[Mapping[str, str]],
    measure: Measure,
    progress: Progress,
) -> dict[str, list[Figures]]:
    """Every contender once in each round, each time another one first; nodes by their labels."""
    found: dict[str, list[Figures]] = {rival.name: [] for rival in rivals}
    total = rounds * len(rivals)
    async with Field(plane) as field:
        progress(0, total, f"creating {len(nodes)} nodes")
        await field.add_nodes(len(nodes), nodes)
        for number, (turn, rival) in enumerate(turns(rivals, rounds)):
            progress(number, total, f"{rival.name}, round {turn + 1}")
            found[rival.name].append(await measure(field, rival, turn))
    progress(total, total, "done")
    return found


def turns(rivals: Sequence[Rival], rounds: int) -> Iterator[tuple[int, Rival]]:
    """Who is measured when: the number of the round, and who; each round begins with another."""
    for turn in range(rounds):
        shift = turn % len(rivals)
        yield from ((turn, rival) for rival in (*rivals[shift:], *rivals[:shift]))


def _report(
    mode: str, title: str, forms: Forms, rounds: dict[str, list[Figures]], given: dict[str, Any]
) -> Report:
    middle = {
        name: {key: median(each[key] for each in figures) for key in figures[0]}
        for name, figures in rounds.items()
    }
    data = {"bench": "kubernetes", "workload": mode, **given, "figures": middle, "rounds": rounds}
    return Report(data, (compared(title, "scheduler", forms, middle),), _NOTES[mode])


_MODES = {
    "flow": _flow,
    "mixed": _mixed,
    "gangs": _gangs,
    "gangs-queued": _queued,
    "reclaim": _reclaim,
    "scale": _scale,
}

BENCH = Bench(
    "kubernetes",
    "Pods bound per second on a real API server, against kube-scheduler.",
    run,
    policies=tuple(RIVALS),
    sizes=("nodes", "pods"),
)
