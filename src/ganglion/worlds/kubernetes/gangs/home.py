"""Which gang a pod belongs to."""

from msgspec import Struct

from ganglion.worlds.kubernetes.gangs.chain import Chain, ident
from ganglion.worlds.kubernetes.gangs.groups import Group, group_of
from ganglion.worlds.kubernetes.gangs.kinds import ident_of
from ganglion.worlds.kubernetes.gangs.rules import family_of
from ganglion.worlds.kubernetes.objects.meta import Anything, OwnerReference
from ganglion.worlds.kubernetes.objects.pod import Pod


class Home(Struct, frozen=True):
    """A gang as one of its pods names it.

    Attributes:
        key: of the gang.
        group: the group it is, if the pod names one.
        settled: whether it stays that; else an owner that is not known yet may change it.
    """

    key: str
    group: Group | None = None
    settled: bool = True


def owner_key(thing: Anything) -> str:
    """`namespace/Kind/name/uid` of an object."""
    meta = thing.metadata
    return f"{meta.namespace}/{thing.kind}/{meta.name}/{meta.uid}"


def pod_key(pod: Pod) -> str:
    """The key of a pod that is a gang of its own and has no owner."""
    meta = pod.metadata
    return f"{meta.namespace}/Pod/{meta.name}/{meta.uid}"


def home_of(pod: Pod, chain: Chain) -> Home:
    """The gang of a pod, as far as its makers are known."""
    group = group_of(pod)
    if group:
        return Home(f"{pod.metadata.namespace}/{group.key}", group)
    owner = chain.owner
    if owner is not None:
        part = family_of(ident(owner), pod).part(pod)
        return Home(_joined(owner_key(owner), part), settled=chain.missing is None)
    ref = pod.metadata.controller
    if ref is None:
        return Home(pod_key(pod))
    part = family_of(ident_of(ref) if chain.missing else None, pod).part(pod)
    return Home(_joined(_reference_key(pod, ref), part), settled=chain.missing is None)


def _joined(key: str, part: str) -> str:
    return f"{key}/{part}" if part else key


def _reference_key(pod: Pod, ref: OwnerReference) -> str:
    return f"{pod.metadata.namespace}/{ref.kind}/{ref.name}/{ref.uid}"
