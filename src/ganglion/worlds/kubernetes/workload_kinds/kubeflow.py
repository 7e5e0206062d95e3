"""Jobs of Kubeflow's training operator and of its MPI operator."""

from typing import Any

from msgspec import structs

from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.kinds import KUBEFLOW, MPI_JOB
from ganglion.worlds.kubernetes.workload_kinds.owners import ident
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    MAIN,
    ClaimedSeat,
    Family,
    KindView,
    SetShape,
    label_index,
    less,
    of_count,
)

_RANKS = ("master", "chief", "launcher", "scheduler", "ps", "worker", "evaluator")
LAUNCHER, WORKER = "launcher", "worker"


def replica_sets(view: KindView) -> list[SetShape]:
    """A set per type of replica, those with the first ranks first."""
    owner = view.owner
    field = KUBEFLOW[ident(owner)]
    found = reading.branch(owner, field)
    shapes = [_replicas(owner, f"spec.{field}", name, found[name]) for name in found]
    return sorted(shapes, key=lambda each: (_rank(each.name), each.name))


def _rank(name: str) -> int:
    return _RANKS.index(name) if name in _RANKS else len(_RANKS)


def _replicas(owner: Anything, root: str, kind: str, body: object) -> SetShape:
    where = f"{root}.{kind}"
    found = reading.mapping(body, where)
    template = reading.template(found.get("template"), f"{where}.template")
    name = kind.lower()
    shape = of_count(name, reading.number(found, "replicas", 1, where), template)
    shape = _elastic(owner, name, shape)
    if name == WORKER and owner.spec.get("runLauncherAsWorker") is True:
        # The launcher has index 0 among the workers then.
        shape = structs.replace(shape, first=1)
    done = reading.inside(owner.status, "status", "replicaStatuses", kind)
    shape = less(shape, reading.number(done, "succeeded", 0, f"status.replicaStatuses.{kind}"))
    return structs.replace(shape, upfront=0) if _comes_later(owner, name) else shape


def _elastic(owner: Anything, name: str, shape: SetShape) -> SetShape:
    """PyTorch's workers may be fewer than wanted."""
    policy = reading.branch(owner, "elasticPolicy")
    low = reading.number(policy, "minReplicas", 0, "spec.elasticPolicy")
    if name != WORKER or not low:
        return shape
    return structs.replace(shape, least=min(low, shape.count))


def _comes_later(owner: Anything, name: str) -> bool:
    """A launcher of MPI may be made when the workers are ready."""
    if name != LAUNCHER or ident(owner) != MPI_JOB:
        return False
    policy = owner.spec.get("launcherCreationPolicy")
    return policy == "WaitForWorkersReady" or owner.api_version.endswith("/v1")


def seat(pod: Pod, below: tuple[Anything, ...]) -> ClaimedSeat:
    """By type and index of the replica; the one pod of a Job below is the launcher."""
    labels: dict[str, Any] = pod.metadata.labels
    name = labels.get(markers.KUBEFLOW_TYPE) or labels.get(markers.KUBEFLOW_ROLE, "")
    if name.lower() == LAUNCHER or (below and not name):
        return ClaimedSeat(LAUNCHER, 0)
    return ClaimedSeat(name.lower() or MAIN, label_index(pod, markers.KUBEFLOW_INDEX))


FAMILY = Family(Kind.TRAIN, replica_sets, seat)
