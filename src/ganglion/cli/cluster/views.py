"""Workloads of a cluster as commands show them, from what the cluster itself says."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ganglion.api.workloads import GangView, WorkloadDetail, WorkloadView
from ganglion.cli.cluster.gangs import gang_view
from ganglion.cli.cluster.seats import crowds
from ganglion.model.resources import WHOLE
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.finding import SeenWorkload
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.manifests.pod import GPU
from ganglion.worlds.kubernetes.submit.objects import Main, SeenPod, TemplateSpec, ms
from ganglion.worlds.kubernetes.submit.sleeping import sleeps
from ganglion.worlds.kubernetes.types.quantity import milli

_LIVE_FIRST = {
    "running": "RUNNING",
    "starting": "STARTING",
    "stopping": "STOPPING",
    "reserved": "QUEUED",
    "pending": "QUEUED",
}
_WORST_FIRST = {
    "failed": "FAILED",
    "timed_out": "TIMED_OUT",
    "succeeded": "SUCCEEDED",
    "stopped_early": "SUCCEEDED",
}
_FINE = ("succeeded", "stopped_early")
_WORDS = {"service": "replicas", "sweep": "trials"}


def detail(seen: SeenWorkload) -> WorkloadDetail:
    """Everything about a workload."""
    gangs = tuple(gang_view(seen.name, crowd) for crowd in crowds(seen))
    document = seen.mains[0].metadata.annotations.get(marks.DOCUMENT, "{}")
    return WorkloadDetail(**_base(seen, gangs), gangs=gangs, document=msgspec.json.decode(document))


def view(seen: SeenWorkload) -> WorkloadView:
    """One line about a workload."""
    gangs = tuple(gang_view(seen.name, crowd) for crowd in crowds(seen))
    return WorkloadView(**_base(seen, gangs), gangs=len(gangs))


def _base(seen: SeenWorkload, gangs: tuple[GangView, ...]) -> dict[str, Any]:
    main = seen.mains[0]
    labels, notes = main.metadata.labels, main.metadata.annotations
    asleep = sleeps(main)
    state = _state(gangs) if not asleep else "STOPPING" if seen.pods else "SUSPENDED"
    ends = [gang for gang in gangs if gang.phase == "ended"]
    over = gangs and len(ends) == len(gangs)
    waits = next((gang.reason for gang in gangs if gang.reason), None)
    gpus, pods = _size(seen.mains, len(gangs))
    held = (_gpu_milli(pod.metadata.annotations, pod.spec) for pod in seen.pods if _holds(pod))
    return {
        "id": seen.name,
        "name": seen.name,
        "kind": labels.get(marks.KIND, ""),
        "queue": labels.get(names.QUEUE, ""),
        "user": notes.get(marks.USER, ""),
        "priority": int(notes.get(marks.PRIORITY, "0")),
        "state": state,
        "reason": str(waits.token) if waits and not asleep else "",
        "message": asleep or _message(state, gangs, labels.get(marks.KIND, "")),
        "gpus": gpus / WHOLE,
        "gpus_held": sum(held) / WHOLE,
        "pods": pods,
        "running": sum(gang.phase == "running" for gang in gangs),
        "waiting": sum(gang.phase in ("pending", "reserved") for gang in gangs),
        "succeeded": sum(gang.outcome == "succeeded" for gang in ends),
        "failed": sum(gang.outcome not in _FINE for gang in ends),
        "stopped_early": sum(gang.outcome == "stopped_early" for gang in ends),
        "submitted": ms(main.metadata.creation_timestamp) or 0,
        "started": min((gang.started for gang in gangs if gang.started), default=None),
        "ended": max((gang.ended or 0 for gang in ends), default=0) or None if over else None,
        "exit_code": _exit_code(ends) if over else None,
    }


def _state(gangs: tuple[GangView, ...]) -> str:
    """The state users see; a service without replicas waits."""
    phases = {gang.phase for gang in gangs} or {"pending"}
    live = next((state for phase, state in _LIVE_FIRST.items() if phase in phases), None)
    if live:
        return live
    outcomes = {gang.outcome for gang in gangs}
    return next(state for outcome, state in _WORST_FIRST.items() if outcome in outcomes)


def _message(state: str, gangs: tuple[GangView, ...], kind: str) -> str:
    waits = [gang.reason.message for gang in gangs if gang.reason]
    if waits and state == "QUEUED":
        return waits[0]
    if waits:
        what = _WORDS.get(kind, "gangs")
        return f"{len(waits)} of {len(gangs)} {what} wait: {waits[0]}"
    return next((gang.message for gang in gangs if gang.message), "")


def _exit_code(ends: list[GangView]) -> int | None:
    bad = [gang.exit_code for gang in ends if gang.outcome not in _FINE]
    return next((code for code in bad if code), None) if bad else 0


def _size(mains: tuple[Main, ...], gangs: int) -> tuple[int, int]:
    """Thousandths of GPUs, and pods, of all gangs together."""
    templates = [main.spec.template for main in mains]
    gpus = [_gpu_milli(each.metadata.annotations, each.spec) for each in templates]
    pods = [_pods(main, gangs) for main in mains]
    return sum(gpu * count for gpu, count in zip(gpus, pods, strict=True)), sum(pods)


def _pods(main: Main, gangs: int) -> int:
    if main.kind == "Job":
        return main.spec.completions or 1
    return gangs if main.kind == "Deployment" else main.spec.replicas or 0


def _holds(pod: SeenPod) -> bool:
    """Whether a pod has a node, and GPUs of it."""
    return bool(pod.spec.node_name) and pod.status.phase not in ("Succeeded", "Failed")


def _gpu_milli(notes: Mapping[str, str], spec: TemplateSpec) -> int:
    """What one pod asks for; of parts of a GPU given as memory only the scheduler knows it."""
    fraction = notes.get(names.GPU_FRACTION)
    if fraction:
        return milli(fraction)
    limits = (each.get("resources", {}).get("limits", {}) for each in spec.containers)
    return sum(milli(each.get(GPU, 0)) for each in limits)
