"""Pods that Ganglion does not place itself, and why."""

from ganglion.worlds.kubernetes.feasibility.clauses import node_clauses
from ganglion.worlds.kubernetes.gpu_resources import FOREIGN_PARTS, FOREIGN_RESOURCES
from ganglion.worlds.kubernetes.names import GATE, GPU_FRACTION, GPU_MEMORY, KUBERNETES
from ganglion.worlds.kubernetes.requests import Ask
from ganglion.worlds.kubernetes.types.pod import Pod


def unsupported(pod: Pod, ask: Ask) -> str:
    """Why a pod is refused for what it is, and what it takes; empty = it is not."""
    gate = next((e.name for e in pod.spec.scheduling_gates if e.name.startswith(GATE)), "")
    is_ours = gate or pod.spec.scheduler_name not in ("", KUBERNETES)
    if pod.spec.resource_claims and is_ours:
        names = ", ".join(each.name for each in pod.spec.resource_claims)
        mark = f"gate {gate}" if gate else f"schedulerName {pod.spec.scheduler_name}"
        return (
            f"asks for devices by resource claim ({names}), of which only the default scheduler "
            f"keeps books: leave the pod to it, without {mark}, or ask for GPUs by a resource, "
            "as nvidia.com/gpu"
        )
    foreign = _part_of_another(pod, ask)
    if foreign:
        return (
            f"asks for a part of a GPU by {foreign}, which only the scheduler that invented it "
            f"keeps books of: write {GPU_FRACTION} or {GPU_MEMORY}, or ask for whole GPUs"
        )
    resources = sorted(ask.gpus_by_resource())
    if len(resources) > 1:
        return f"asks for GPUs of several kinds at once: {', '.join(resources)}"
    if pod.spec.affinity and not all(node_clauses(pod)):
        return "its required node affinity can match no node: no term is sound"
    return ""


def _part_of_another(pod: Pod, ask: Ask) -> str:
    """A resource or annotation by which another scheduler shares GPUs; empty = there is none."""
    asked = {name for name, _ in ask.extras}
    notes = pod.metadata.annotations
    resources = (name for name in FOREIGN_RESOURCES if name in asked)
    return next(resources, "") or next((name for name in FOREIGN_PARTS if notes.get(name)), "")


def needs_agent(pod: Pod) -> str:
    """Why a pod is refused where nothing gives containers what is recorded; empty = it is not.

    Device plugins give whole devices, or shares that they made, and know nothing of our records.
    """
    note = next(
        (name for name in (GPU_FRACTION, GPU_MEMORY) if name in pod.metadata.annotations), ""
    )
    if not note:
        return ""
    return (
        f"asks for a part of a GPU by {note}, and nothing on the nodes would give its container "
        "the device: ask for whole GPUs, a MIG slice or a shared one (nvidia.com/gpu.shared), or "
        "run an agent there and say so in the scheduler's settings (devices.agent)"
    )
