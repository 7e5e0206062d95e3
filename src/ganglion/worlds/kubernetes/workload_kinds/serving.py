"""StatefulSets, LeaderWorkerSets, Notebooks, and pods that stand alone."""

from msgspec import structs

from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import markers, names
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.kinds import STATEFUL_SET
from ganglion.worlds.kubernetes.workload_kinds.owners import ident
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    ANYWHERE,
    MAIN,
    ClaimedSeat,
    Family,
    KindView,
    SetShape,
    label_index,
    of_count,
    ordinal,
    set_name,
)

LEADER, WORKER = "leader", "worker"


def stateful_sets(view: KindView) -> list[SetShape]:
    """All replicas. Where they start in order, the first one exists before the others."""
    spec = view.owner.spec
    template = reading.template(spec.get("template"), "spec.template")
    start = reading.number(reading.branch(view.owner, "ordinals"), "start", 0, "spec.ordinals")
    said = {**template.metadata.annotations, **view.owner.metadata.annotations}
    count = reading.number(spec, "replicas", 1)
    shape = of_count(set_name(template), count, template, _least(said, count))
    ordered = reading.text(spec, "podManagementPolicy") != "Parallel"
    upfront = min(1, shape.count) if ordered else shape.count
    return [structs.replace(shape, upfront=upfront, first=start)]


def _least(said: dict[str, str], count: int) -> int:
    text = said.get(names.GANG_MIN, "")
    return min(reading.count(text, names.GANG_MIN) or count, count) if text else count


def stateful_seat(pod: Pod, _below: tuple[Anything, ...]) -> ClaimedSeat:
    """By ordinal."""
    index = label_index(pod, markers.POD_INDEX)
    return ClaimedSeat(set_name(pod), ordinal(pod) if index == ANYWHERE else index)


def notebook_sets(view: KindView) -> list[SetShape]:
    """The one pod of the StatefulSet that was made for a Notebook."""
    made = next((each for each in view.below if ident(each) == STATEFUL_SET), view.owner)
    return stateful_sets(KindView(made, (), view.pods))


def leader_worker_sets(view: KindView) -> list[SetShape]:
    """One replica: its leader and `size - 1` workers."""
    where = "spec.leaderWorkerTemplate"
    found = reading.branch(view.owner, "leaderWorkerTemplate")
    size = max(reading.number(found, "size", 1, where), 1)
    worker = reading.template(found.get("workerTemplate"), f"{where}.workerTemplate")
    leader = worker
    if found.get("leaderTemplate"):
        leader = reading.template(found["leaderTemplate"], f"{where}.leaderTemplate")
    workers = of_count(WORKER, size - 1, worker)
    if _workers_wait(view.owner):
        workers = structs.replace(workers, upfront=0)
    sets = [of_count(LEADER, 1, leader), _sub_groups(view.owner, workers)]
    return [each for each in sets if each.count]


def _workers_wait(owner: Anything) -> bool:
    """Workers are made once the leader is ready, or has the node whose domain they share."""
    late = owner.spec.get("startupPolicy") == "LeaderReady"
    return late or markers.LWS_EXCLUSIVE in owner.metadata.annotations


def _sub_groups(owner: Anything, workers: SetShape) -> SetShape:
    """One domain for each sub-group of workers."""
    level = owner.metadata.annotations.get(markers.LWS_SUBGROUP_EXCLUSIVE, "")
    if not level:
        return workers
    where = "spec.leaderWorkerTemplate.subGroupPolicy"
    policy = reading.branch(owner, "leaderWorkerTemplate", "subGroupPolicy")
    size = reading.number(policy, "subGroupSize", 0, where)
    if not size or workers.count % size:
        raise FieldError(
            f"sub-groups of {size} that include the leader cannot each have a domain",
            key=f"{where}.subGroupSize",
            hint="let the size divide the number of workers without the leader",
        )
    return structs.replace(workers, block=size, each_block=level)


def leader_worker_seat(pod: Pod, _below: tuple[Anything, ...]) -> ClaimedSeat:
    """The first pod of a group is its leader."""
    index = label_index(pod, markers.LWS_WORKER)
    return ClaimedSeat(LEADER, 0) if index == 0 else ClaimedSeat(WORKER, max(index - 1, ANYWHERE))


def _group(pod: Pod) -> str:
    return pod.metadata.labels.get(markers.LWS_GROUP, "0")


def alone_sets(view: KindView) -> list[SetShape]:
    """One pod."""
    return [of_count(MAIN, 1, view.pods[0])]


def alone_seat(_pod: Pod, _below: tuple[Anything, ...]) -> ClaimedSeat:
    """The only one there is."""
    return ClaimedSeat(MAIN, 0)


def _name(pod: Pod) -> str:
    return pod.metadata.name


STATEFUL_FAMILY = Family(Kind.SERVICE, stateful_sets, stateful_seat)
NOTEBOOK_FAMILY = Family(Kind.WORKSPACE, notebook_sets, stateful_seat)
LEADER_WORKER_FAMILY = Family(Kind.SERVICE, leader_worker_sets, leader_worker_seat, _group)
REPLICA_FAMILY = Family(Kind.SERVICE, alone_sets, alone_seat, _name, ranked=False)
"""Replicas that do not need each other: each pod is a gang of its own."""
ALONE_FAMILY = Family(Kind.BATCH, alone_sets, alone_seat, _name, ranked=False)
