"""The engine's gang for what was found in a cluster."""

import re
from collections.abc import Callable, Mapping

from ganglion.model.errors import FieldError, InputError
from ganglion.model.events import GangSubmitted
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest
from ganglion.model.workload import Constraints, Gang, PodSet, Topology
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.cluster_view.images import images_of
from ganglion.worlds.kubernetes.gpu_resources import GPU_RESOURCES, is_counted
from ganglion.worlds.kubernetes.node_discovery.catalog import SHARED
from ganglion.worlds.kubernetes.requests import Ask
from ganglion.worlds.kubernetes.types.bounds import (
    CPU_MILLI,
    DEVICES,
    MEMORY_MIB,
    PODS,
    QUANTITY,
    within,
)
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.quantity import exactly, mib
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, FoundSet

CRITICAL = 2_000_000_000
"""From this priority on pods belong to the cluster itself and are never stopped."""

CLUSTER_LABEL = f"{names.GROUP}/cluster"


_MODEL = re.compile(r"[A-Z][A-Z0-9._-]*")
_PROFILE = re.compile(r"\d+G\.|\d+C\.")

TypesOf = Callable[[str, int], tuple[str, ...]]
"""Resource that GPUs are asked by, and how many -> types of device that fit; empty = all."""
Asks = Callable[[Pod], Ask]

LONGEST_IMAGES = 2_000
"""Characters of the images of a gang that its submission keeps."""


def gang_of(
    found: FoundGang,
    types_of: TypesOf,
    asks: Asks,
    hints: Mapping[str, Topology],
    *,
    prefix: str,
    cluster: str,
    queue: str,
    submitted: int,
    user: str = "",
) -> Gang:
    """The gang that the engine places.

    Args:
        found: what is known of it.
        types_of: types of device by resource.
        asks: what a pod takes.
        hints: pod set -> what its pods' rules for each other amount to.
        prefix: of its id, where there are several clusters.
        cluster: name of its cluster, likewise.
        queue: leaf queue it is charged to.
        submitted: in ms by our clock.
        user: who created it; empty = unknown, and its namespace counts as the user.

    Raises:
        InputError: a quantity or annotation that is none or out of bounds, or no pod is wanted.
    """
    wanted = tuple(each for each in found.sets if each.count)
    if not wanted:
        raise InputError(f"{found.name} wants 0 pods")
    within(f"the pods of {found.name}", sum(each.count for each in wanted), PODS)
    labels: dict[str, tuple[str, ...]] = {CLUSTER_LABEL: (cluster,)} if cluster else {}
    return Gang(
        id=prefix + found.key,
        workload=prefix + found.workload,
        queue=queue,
        user=user or found.namespace,
        kind=found.kind,
        priority=found.priority,
        preemptible=found.preemptible and found.priority < CRITICAL,
        pod_sets=tuple(_pod_set(s, types_of, asks, hints.get(s.name, Topology())) for s in wanted),
        topology=found.topology,
        constraints=Constraints(labels=labels),
        submitted=submitted,
        time_limit_ms=found.time_limit_ms,
        expected_ms=found.expected_ms,
        deadline_ms=found.deadline_ms,
        checkpoint=found.checkpoint,
        index=found.index,
        in_place=True,
        images=images_of(each.request for each in wanted),
        floor=found.floor,
        name=f"{found.namespace}/{found.name}",
    )


def submission(at: int, gang: Gang, found: FoundGang) -> GangSubmitted:
    """The event by which a gang enters, with what its record says of where it comes from.

    Args:
        at: the time in ms.
        gang: what the engine places.
        found: what it was made of.
    """
    images = (
        each.image
        for pods in found.sets
        for each in (*pods.request.spec.init_containers, *pods.request.spec.containers)
    )
    owner = found.owner
    return GangSubmitted(
        at,
        gang,
        ", ".join(dict.fromkeys(filter(None, images)))[:LONGEST_IMAGES],
        owner=f"{owner.kind} {owner.name}" if owner else "",
        actor=found.creator,
    )


def _pod_set(found: FoundSet, types_of: TypesOf, asks: Asks, hint: Topology) -> PodSet:
    own = found.topology
    return PodSet(
        name=found.name,
        count=found.count,
        min_count=found.least if found.least < found.count else 0,
        request=request_of(found.request, asks(found.request), types_of),
        topology=Topology(
            own.required or hint.required, own.preferred, own.forbidden or hint.forbidden
        ),
        slices=found.slices,
    )


def request_of(pod: Pod, ask: Ask, types_of: TypesOf) -> PodRequest:
    """What one pod takes, in the engine's terms.

    Raises:
        InputError: it is none, or out of bounds; names the resource or annotation.
    """
    within("cpu in milli", ask.cpu_milli, CPU_MILLI)
    within("memory in MiB", ask.memory_mib, MEMORY_MIB)
    for name, amount in ask.extras:
        within(name, amount, QUANTITY)
    counted = tuple(each for each in ask.extras if is_counted(each[0]))
    return PodRequest(ask.cpu_milli, ask.memory_mib, _gpus(pod, ask, types_of), extras=counted)


def _gpus(pod: Pod, ask: Ask, types_of: TypesOf) -> GpuRequest:
    """Whole GPUs by the pod's resources, or a part of one by annotation."""
    notes = pod.metadata.annotations
    wanted = models_of(notes)
    if ask.gpus:
        within(ask.gpu_resource, ask.gpus, DEVICES)
        types = types_of(ask.gpu_resource, ask.gpus)
        return GpuRequest(ask.gpus, types=_of_models(wanted, types, ask) if wanted else types)
    if names.GPU_FRACTION in notes:
        milli = _fraction(notes[names.GPU_FRACTION])
        return GpuRequest(1, milli=milli, types=wanted or _whole(types_of))
    if names.GPU_MEMORY in notes:
        share = within(names.GPU_MEMORY + " in MiB", mib(notes[names.GPU_MEMORY]), MEMORY_MIB, 1)
        return GpuRequest(1, share_mib=share, types=wanted or _whole(types_of))
    return GpuRequest()


def _fraction(text: str) -> int:
    """Thousandths of a device. Raises FieldError."""
    milli = exactly(text) * WHOLE
    if not 1 <= milli <= WHOLE:
        raise FieldError(
            f"must be between 0.001 and 1, got {text}",
            key=names.GPU_FRACTION,
            hint="write a part of one GPU, as 0.5",
        )
    return int(milli)


def _whole(types_of: TypesOf) -> tuple[str, ...]:
    """Types of device that are whole, so that pods may have a part of one; empty = all are.

    A slice of a GPU is a part already, and a device that its plugin shares is not ours to divide.
    """
    found = {resource: types_of(resource, 2) for resource in GPU_RESOURCES}
    if () in found.values():
        return ()
    whole = (each for name, types in found.items() for each in types if each != name)
    return tuple(dict.fromkeys(whole)) or GPU_RESOURCES[:1]


def models_of(notes: Mapping[str, str]) -> tuple[str, ...]:
    """Models of GPUs that annotations allow, the preferred first; empty = any.

    Raises:
        FieldError: the annotation is no list of models.
    """
    text = notes.get(names.GPU_TYPES, "")
    found = tuple(dict.fromkeys(each.strip().upper() for each in text.split(",") if text))
    for each in found:
        if not _MODEL.fullmatch(each):
            raise FieldError(
                f"{each!r} is no model of GPU",
                key=names.GPU_TYPES,
                hint="write models with commas between them, as H100,A100",
            )
    return found


def _of_models(models: tuple[str, ...], types: tuple[str, ...], ask: Ask) -> tuple[str, ...]:
    """Types of device that are of these models, in their order, whole devices first.

    Args:
        models: those that will do.
        types: of the resource; empty = all there are.
        ask: what the pod asks for.
    """
    parts = [f"{model}{end}" for end in SHARED for model in models] if ask.gpus == 1 else []
    if not types:
        return (*models, *parts)
    slices = [each for model in models for each in types if _is_slice(each, model)]
    found = tuple(each for each in (*models, *slices, *parts) if each in types)
    # Devices of that model which are asked for by another resource are none of these.
    return found or tuple(f"{model} ({ask.gpu_resource})" for model in models)


def _is_slice(kind: str, model: str) -> bool:
    """Whether a type is a slice of a model, as `A100-1G.5GB` is."""
    return kind.startswith(f"{model}-") and _PROFILE.match(kind, len(model) + 1) is not None
