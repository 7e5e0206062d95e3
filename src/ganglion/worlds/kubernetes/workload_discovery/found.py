"""What was found out about one gang of a cluster."""

from collections.abc import Mapping

from msgspec import Struct, structs

from ganglion.model.plan import SavePoint
from ganglion.model.workload import Checkpoint, Kind, Slice, Topology
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.annotations import created_ms


class GangOwner(Struct, frozen=True):
    """The object that answers for a gang: it is suspended, resumed or cancelled.

    Attributes:
        api_version: as `batch/v1`.
        kind: as `Job`.
        namespace: where it lies.
        name: its name.
        uid: its UID.
        path: of the object on the API server, as `/apis/batch/v1/namespaces/a/jobs/b`.
        suspend: names of the fields that lead to its switch, as `("spec", "suspend")`;
            empty = the kind has none.
        suspended: whether that switch is on.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    path: str
    suspend: tuple[str, ...] = ()
    suspended: bool = False


class Member(Struct, frozen=True):
    """A living pod and its seat. The one that takes its place later gets the same seat."""

    pod: Pod
    pod_set: str
    index: int


class FoundSet(Struct, frozen=True):
    """Equal pods of a gang.

    Attributes:
        name: unique within the gang.
        count: pods wanted now.
        least: fewest pods that are useful; equal to `count` unless elastic.
        request: the sample of each pod: a living one, or the owner's template.
        topology: constraint among the pods of this set.
        slices: nested sub-groups by index, outermost first.
        seats: indexes of members are distinct and below this; more than `count` once some
            pods of a batch have succeeded.
        upfront: pods that exist before anything of the gang runs. The rest is made by their
            controller later, as executors are by their driver: a place is kept for it.
    """

    name: str
    count: int
    least: int
    request: Pod
    topology: Topology = Topology()
    slices: tuple[Slice, ...] = ()
    seats: int = 0
    upfront: int = 0


class FoundGang(Struct, frozen=True):
    """One gang: what its pods, and the objects that made them, say about it.

    Attributes:
        key: the same for every pod that ever belongs to it, as
            `namespace/Job/name/uid-of-owner`; gangs of one owner add a part, as `/3`.
        workload: key of what its siblings share, as the replicas of a LeaderWorkerSet.
        name: of the workload, for people.
        namespace: of all its pods.
        kind: what sort of workload.
        queue: as named by a label; empty = none named.
        creator: user who created what answers for it, where admission records that; else empty.
        priority: of the pods, as Kubernetes has it (-2^31..2^31-1); where it has none, 0, it is
            what the annotation says; of a spare trial, `SPARE`.
        claimed: the part of the priority that comes from the annotation: all of it or 0.
        preemptible: whether others may stop it for their sake.
        preempts: whether others may be stopped for its sake.
        sets: equal pods, in the order of their ranks.
        members: living pods, by set in that order, then by index.
        spare: living pods without a seat, as those in excess of what is wanted.
        lacking: why it cannot be considered yet, for people; empty = it is complete.
        is_coming: whether all that it lacks are further pods like those that its owner has made.
        refused: why it will never be considered as it is; empty = nothing is wrong.
        owner: the object that answers for it; None = pods without an owner.
        created_ms: when it was created, in ms since 1970; pods that are made anew change nothing.
        time_limit_ms: most it may run; 0 = no limit.
        ready_within_ms: how long it has to become ready; 0 = no limit, None = as the policy says.
        deadline_ms: when it should have ended, in ms since 1970; 0 = no matter when.
        expected_ms: how long its maker expects it to run; 0 = unknown.
        checkpoint: contract; None = its work is lost when stopped.
        saved: the last checkpoint that it wrote down; None = none.
        topology: constraint among all pods.
        index: its number among its siblings.
        floor: minimum siblings that a preemption leaves running; 0 = all may be stopped.
        groups: Kubernetes' own PodGroups and CompositePodGroups whose status reports it.
    """

    key: str
    workload: str
    name: str
    namespace: str
    kind: Kind
    queue: str
    priority: int
    preemptible: bool
    preempts: bool
    sets: tuple[FoundSet, ...]
    members: tuple[Member, ...]
    spare: tuple[Pod, ...] = ()
    lacking: str = ""
    refused: str = ""
    owner: GangOwner | None = None
    created_ms: int = 0
    time_limit_ms: int = 0
    expected_ms: int = 0
    ready_within_ms: int | None = None
    deadline_ms: int = 0
    checkpoint: Checkpoint | None = None
    saved: SavePoint | None = None
    topology: Topology = Topology()
    index: int = 0
    floor: int = 0
    creator: str = ""
    claimed: int = 0
    groups: tuple[Anything, ...] = ()
    is_coming: bool = False

    def got_pods(self, now: int, within_ms: int) -> bool:
        """Whether any of its living pods was made within the last `within_ms`."""
        return any(0 <= now - created_ms(each.pod.metadata) < within_ms for each in self.members)


def with_latest(found: FoundGang, pods: Mapping[str, Pod]) -> FoundGang:
    """A gang with its pods as they are now.

    Args:
        found: the gang.
        pods: by UID, at least its own.
    """
    members = tuple(
        each
        if (pod := pods[each.pod.metadata.uid]) is each.pod
        else Member(pod, each.pod_set, each.index)
        for each in found.members
    )
    spare = tuple(pods[each.metadata.uid] for each in found.spare)
    return structs.replace(found, members=members, spare=spare)
