"""Objects as tests send them: nodes and pods with what matters, everything else left out."""

from collections.abc import Mapping, Sequence
from typing import Any

GPU = "nvidia.com/gpu"
Object = dict[str, Any]
"""A Kubernetes object as JSON."""


def node(
    name: str,
    *,
    gpus: int = 8,
    cpu: str = "64",
    memory: str = "512Gi",
    pods: int = 110,
    resource: str = GPU,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    extra: Mapping[str, str] | None = None,
) -> Object:
    """A node that says it is ready.

    Args:
        name: also its hostname label.
        gpus: how many of `resource` it has; 0 leaves the resource out.
        cpu: cores.
        memory: bytes, with a suffix.
        pods: how many it takes.
        resource: what its GPUs are called.
        labels: beside the hostname.
        annotations: as they are.
        taints: with `key`, `value`, `effect`.
        extra: further resources.
    """
    amounts = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "1Ti"}
    amounts |= ({resource: str(gpus)} if gpus else {}) | dict(extra or {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name} | dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod(
    name: str,
    *,
    namespace: str = "default",
    gpus: int = 1,
    cpu: str = "1",
    memory: str = "1Gi",
    resource: str = GPU,
    scheduler: str = "ganglion",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A pod of one container.

    Args:
        name: of the pod.
        namespace: where it goes.
        gpus: how many of `resource` it asks for; 0 leaves the resource out.
        cpu: cores it requests.
        memory: bytes it requests, with a suffix.
        resource: what GPUs are called.
        scheduler: `schedulerName`.
        labels: as they are.
        annotations: as they are.
        owner: one entry of `ownerReferences`.
        spec: further fields of the pod's `spec`, as `nodeName` or `priorityClassName`.
    """
    requests = {"cpu": cpu, "memory": memory} | ({resource: str(gpus)} if gpus else {})
    container = {
        "name": "main",
        "image": "none",
        "resources": {"requests": requests, "limits": {resource: str(gpus)} if gpus else {}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
            "ownerReferences": [dict(owner)] if owner else [],
        },
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def gang(name: str, size: int, **rest: Any) -> list[Object]:
    """Pods `NAME-0`, `NAME-1`, ... that start together or not at all; `rest` as for `pod`."""
    labels = {"ganglion.dev/gang": name} | rest.pop("labels", {})
    annotations = {"ganglion.dev/gang-size": str(size)} | rest.pop("annotations", {})
    return [
        pod(f"{name}-{index}", labels=labels, annotations=annotations, **rest)
        for index in range(size)
    ]


def job(name: str, *, namespace: str = "default", count: int = 1, **rest: Any) -> Object:
    """An Indexed Job of `count` pods at once; `rest` as for `pod`."""
    template = pod(name, namespace=namespace, restartPolicy="Never", **rest)
    meta = {key: template["metadata"][key] for key in ("labels", "annotations")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": count,
            "template": {"metadata": meta, "spec": template["spec"]},
        },
    }
