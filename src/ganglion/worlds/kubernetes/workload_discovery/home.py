"""Which gang a pod belongs to."""

from msgspec import Struct, structs

from ganglion.worlds.kubernetes.pod_groups import upstream
from ganglion.worlds.kubernetes.pod_groups.groups import NamedPodGroup, group_of
from ganglion.worlds.kubernetes.types.meta import Anything, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.rules import family_of
from ganglion.worlds.kubernetes.workload_kinds.kinds import JOB, ident_of
from ganglion.worlds.kubernetes.workload_kinds.owners import Chain, ident


class GangName(Struct, frozen=True):
    """A gang as one of its pods names it.

    Attributes:
        key: of the gang.
        group: the group it is, if the pod names one.
        settled: whether it stays that; else an owner that is not known yet may change it.
    """

    key: str
    group: NamedPodGroup | None = None
    settled: bool = True


def owner_key(thing: Anything) -> str:
    """`namespace/Kind/name/uid` of an object."""
    meta = thing.metadata
    return f"{meta.namespace}/{thing.kind}/{meta.name}/{meta.uid}"


def pod_key(pod: Pod) -> str:
    """The key of a pod that is a gang of its own and has no owner."""
    meta = pod.metadata
    return f"{meta.namespace}/Pod/{meta.name}/{meta.uid}"


def home_of(pod: Pod, chain: Chain, look: upstream.Look) -> GangName:
    """The gang of a pod, as far as its makers, and what its group is part of, are known."""
    group = group_of(pod)
    if group and group.source == upstream.FIELD:
        line = upstream.line_of(group.name, pod.metadata.namespace, look)
        if not is_default(line, chain):
            return _upstream_home(pod, group, line, chain)
    elif group:
        return GangName(f"{pod.metadata.namespace}/{group.key}", group)
    owner = chain.owner
    if owner is not None:
        part = family_of(ident(owner), pod).part(pod)
        return GangName(_joined(owner_key(owner), part), settled=chain.missing is None)
    ref = pod.metadata.controller
    if ref is None:
        return GangName(pod_key(pod))
    part = family_of(ident_of(ref) if chain.missing else None, pod).part(pod)
    return GangName(_joined(_reference_key(pod, ref), part), settled=chain.missing is None)


def is_default(line: upstream.GroupLine, chain: Chain) -> bool:
    """Whether a PodGroup is there only because its Job says nothing about one.

    The Job controller of Kubernetes 1.37 makes a basic one then: it says nothing about the pods.
    """
    owner, group = chain.owner, line.group
    if owner is None or group is None or ident(owner) != JOB or line.above or line.missing:
        return False
    ref = group.metadata.controller
    is_made = ref is not None and ref.uid == owner.metadata.uid
    return is_made and upstream.is_basic(group) and not owner.spec.get("scheduling")


def _upstream_home(
    pod: Pod, group: NamedPodGroup, line: upstream.GroupLine, chain: Chain
) -> GangName:
    if line.head is not None and not line.missing:
        name = line.head.metadata.name
        group = structs.replace(group, name=name, kind=upstream.COMPOSITE)
    settled = not line.missing and chain.missing is None
    return GangName(f"{pod.metadata.namespace}/{group.key}", group, settled)


def _joined(key: str, part: str) -> str:
    return f"{key}/{part}" if part else key


def _reference_key(pod: Pod, ref: OwnerReference) -> str:
    return f"{pod.metadata.namespace}/{ref.kind}/{ref.name}/{ref.uid}"
