"""The pods that controllers of a cluster would make of objects of which none exists."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ganglion.model.errors import FieldError, InputError
from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.types.bounds import PODS, within
from ganglion.worlds.kubernetes.types.meta import Anything, Meta, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds import reading

UID = "rehearsed-"
"""Begin of the UIDs of what does not exist."""
Body = Mapping[str, Any]


def would_be(objects: Sequence[Body], namespace: str) -> tuple[list[Anything], list[Pod]]:
    """The objects as a cluster would have them, and the pods of all of them.

    Args:
        objects: the main one first, which answers for the others.
        namespace: of all of them.

    Raises:
        InputError: one is of another kind or namespace, or malformed.
    """
    owners = list[Anything]()
    for number, body in enumerate(objects):
        found = _read(body)
        if found.metadata.namespace != namespace:
            raise InputError(f"{found.metadata.key} is not in namespace {namespace}")
        above = _answering(owners[0]) if owners else ()
        meta = replace(found.metadata, uid=f"{UID}{number}", owner_references=above)
        owners.append(replace(found, metadata=meta))
    pods = [pod for owner in owners for pod in _pods(owner)]
    return [*owners, *filter(None, map(_replicas, owners))], pods


def _read(body: Body) -> Anything:
    try:
        return msgspec.convert(body, Anything)
    except msgspec.ValidationError as error:
        raise InputError(f"an object is malformed: {error}") from error


def _answering(owner: Anything) -> tuple[OwnerReference, ...]:
    meta = owner.metadata
    return (OwnerReference(owner.api_version, owner.kind, meta.name, meta.uid, controller=True),)


def _replicas(owner: Anything) -> Anything | None:
    """The ReplicaSet of a Deployment."""
    if owner.kind != "Deployment":
        return None
    meta = replace(
        owner.metadata, uid=owner.metadata.uid + "-set", owner_references=_answering(owner)
    )
    return Anything("apps/v1", "ReplicaSet", meta, owner.spec)


def _pods(owner: Anything) -> Iterator[Pod]:
    match owner.kind:
        case "Job":
            most = reading.number(owner.spec, "parallelism", 1, "spec")
            count = min(most, reading.number(owner.spec, "completions", most, "spec"))
            label = markers.JOB_INDEX
        case "StatefulSet":
            count, label = reading.number(owner.spec, "replicas", 1, "spec"), markers.POD_INDEX
        case "Deployment":
            count, label = reading.number(owner.spec, "replicas", 1, "spec"), ""
        case kind:
            raise FieldError(
                f"{kind or 'an object without a kind'} cannot be tried",
                key="objects",
                hint="give Jobs, StatefulSets or Deployments",
            )
    maker = _replicas(owner) or owner
    for index in range(within(f"the pods of {owner.metadata.key}", count, PODS)):
        yield _pod(maker, index, label)


def _pod(maker: Anything, index: int, label: str) -> Pod:
    template = reading.template(maker.spec.get("template"), "spec.template")
    labels = template.metadata.labels | ({label: str(index)} if label else {})
    meta = Meta(
        name=f"{maker.metadata.name}-{index}",
        namespace=maker.metadata.namespace,
        uid=f"{maker.metadata.uid}-{index}",
        labels=labels,
        annotations=template.metadata.annotations,
        owner_references=_answering(maker),
    )
    return replace(template, metadata=meta)
