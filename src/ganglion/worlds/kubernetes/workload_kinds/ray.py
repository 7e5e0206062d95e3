"""RayClusters, and the RayJobs and RayServices that make them."""

from typing import Any

from msgspec import structs

from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Container, ContainerResources, Pod, PodSpec
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.kinds import RAY_CLUSTER
from ganglion.worlds.kubernetes.workload_kinds.owners import ident
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    ANYWHERE,
    ClaimedSeat,
    Family,
    KindView,
    SetShape,
    label_index,
    of_count,
)

HEAD, SUBMITTER = "head", "submitter"

_SUBMITS_BY_JOB = ("", "K8sJobMode")
_UNLIMITED = 2**31 - 1
_SUBMITTER_POD = Pod(
    spec=PodSpec(
        containers=(
            Container(resources=ContainerResources(requests={"cpu": "500m", "memory": "200Mi"})),
        )
    )
)
"""What KubeRay makes where the RayJob has no template for it (its user guide on RayJobs)."""


def cluster_sets(view: KindView) -> list[SetShape]:
    """The head and every group of workers."""
    return _of_spec(view.owner.spec, "spec")


def _of_spec(spec: dict[str, Any], where: str) -> list[SetShape]:
    head = reading.inside(spec, where, "headGroupSpec")
    template = reading.template(head.get("template"), f"{where}.headGroupSpec.template")
    scales = spec.get("enableInTreeAutoscaling") is True
    groups = reading.listing(spec.get("workerGroupSpecs"), f"{where}.workerGroupSpecs")
    workers = (
        _workers(each, f"{where}.workerGroupSpecs[{index}]", scales)
        for index, each in enumerate(groups)
    )
    return [of_count(HEAD, 1, template), *workers]


def _workers(found: dict[str, Any], where: str, scales: bool) -> SetShape:
    """As many as wanted now; the autoscaler may do with `minReplicas`."""
    low = reading.number(found, "minReplicas", 0, where)
    high = found.get("maxReplicas")
    high = (
        _UNLIMITED if high in (None, _UNLIMITED) else reading.number(found, "maxReplicas", 0, where)
    )
    replicas = min(max(reading.number(found, "replicas", low, where), low), high)
    hosts = reading.number(found, "numOfHosts", 1, where) or 1
    template = reading.template(found.get("template"), f"{where}.template")
    count = 0 if found.get("suspend") is True else replicas * hosts
    least = low * hosts if scales else count
    shape = of_count(reading.text(found, "groupName", where), count, template, least)
    return structs.replace(shape, block=hosts, strict=False)


def job_sets(view: KindView) -> list[SetShape]:
    """The cluster that a RayJob made, and the pod that submits to it once it runs."""
    made = next((each for each in view.below if ident(each) == RAY_CLUSTER), None)
    if made is not None:
        sets = _of_spec(made.spec, "spec")
    else:
        sets = _of_spec(reading.branch(view.owner, "rayClusterSpec"), "spec.rayClusterSpec")
    return [*sets, *_submitter(view.owner)]


def _submitter(job: Anything) -> list[SetShape]:
    if reading.text(job.spec, "submissionMode") not in _SUBMITS_BY_JOB:
        return []
    given = job.spec.get("submitterPodTemplate")
    template = reading.template(given, "spec.submitterPodTemplate") if given else _SUBMITTER_POD
    return [structs.replace(of_count(SUBMITTER, 1, template), upfront=0)]


def seat(pod: Pod, below: tuple[Anything, ...]) -> ClaimedSeat:
    """By the group; what is no part of a cluster is the submitter."""
    labels = pod.metadata.labels
    if markers.RAY_NODE not in labels and ident_below(below) != RAY_CLUSTER:
        return ClaimedSeat(SUBMITTER, 0)
    if labels.get(markers.RAY_NODE) == HEAD:
        return ClaimedSeat(HEAD, 0)
    replica = label_index(pod, markers.RAY_REPLICA_INDEX)
    host = label_index(pod, markers.RAY_HOST_INDEX)
    if ANYWHERE in (replica, host):
        return ClaimedSeat(labels.get(markers.RAY_GROUP, ""))
    return ClaimedSeat(labels.get(markers.RAY_GROUP, ""), host, replica)


def ident_below(below: tuple[Anything, ...]) -> tuple[str, str] | None:
    """(API group, kind) of what made the pod, if that is not the owner itself."""
    return ident(below[0]) if below else None


CLUSTER_FAMILY = Family(Kind.TRAIN, cluster_sets, seat)
JOB_FAMILY = Family(Kind.TRAIN, job_sets, seat)
