"""Gangs that pods name themselves."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from ganglion.model.errors import InputError
from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes.pod_groups import groups, upstream
from ganglion.worlds.kubernetes.pod_groups.groups import NamedPodGroup
from ganglion.worlds.kubernetes.pod_groups.terms import GroupTerms
from ganglion.worlds.kubernetes.types.meta import Anything, Meta
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.annotations import created_ms
from ganglion.worlds.kubernetes.workload_discovery.draft import Draft
from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from ganglion.worlds.kubernetes.workload_discovery.home import pod_key
from ganglion.worlds.kubernetes.workload_discovery.owned import Chains, owner_of
from ganglion.worlds.kubernetes.workload_discovery.rules import family_of
from ganglion.worlds.kubernetes.workload_kinds.owners import Chain, ident
from ganglion.worlds.kubernetes.workload_kinds.shape import MAIN, ClaimedSeat, of_count


class Split(Struct, frozen=True):
    """The pods that name a group.

    Attributes:
        rightful: those it belongs to.
        strangers: those of other owners.
        whose: who made the rightful ones, for people.
    """

    rightful: tuple[Pod, ...]
    strangers: tuple[Pod, ...] = ()
    whose: str = ""


def split(pods: Sequence[Pod], chains: Chains, described: Anything | None) -> Split:
    """Separate the pods of a group from those of others that borrow its name.

    A PodGroup without an owner is open to all pods of its namespace. One with an owner belongs to
    that. Without a PodGroup the group belongs to the maker of the pod first on a node, or
    else the oldest.
    """
    if described is not None and described.metadata.controller is None:
        return Split(tuple(pods))
    if described is not None and described.metadata.controller is not None:
        ref = described.metadata.controller
        mine = tuple(pod for pod in pods if ref.uid in _makers(pod, chains(pod)))
        # The owner may lie above the last kind that is understood.
        if mine:
            return _divided(pods, mine, f"{ref.kind} {ref.name}")
    # Pods whose makers are not known yet are not judged.
    known = [pod for pod in pods if chains(pod).missing is None]
    if not known:
        return Split(tuple(pods))
    first = min(known, key=_age)
    root = _root(first, chains(first))
    strangers = {pod.metadata.uid for pod in known if _root(pod, chains(pod)) != root}
    mine = tuple(pod for pod in pods if pod.metadata.uid not in strangers)
    return _divided(pods, mine, _whose(first, chains(first)))


def split_inner(parts: Split, chains: Chains, lines: Mapping[str, upstream.GroupLine]) -> Split:
    """Find strangers in each of several PodGroups that start together."""
    own, others, whose = set[str](), list(parts.strangers), [parts.whose]
    for name, pods in upstream.members(parts.rightful).items():
        inner = split(pods, chains, lines[name].group)
        own.update(pod.metadata.uid for pod in inner.rightful)
        others += inner.strangers
        whose.append(inner.whose)
    in_order = tuple(pod for pod in parts.rightful if pod.metadata.uid in own)
    return Split(in_order, tuple(others), " and ".join(dict.fromkeys(filter(None, whose))))


def _divided(pods: Sequence[Pod], mine: tuple[Pod, ...], whose: str) -> Split:
    own = {pod.metadata.uid for pod in mine}
    return Split(mine, tuple(pod for pod in pods if pod.metadata.uid not in own), whose)


def _age(pod: Pod) -> tuple[bool, str, str]:
    return (not pod.spec.node_name, pod.metadata.creation_timestamp, pod.metadata.name)


def _makers(pod: Pod, chain: Chain) -> set[str]:
    metas = (pod.metadata, *(each.metadata for each in chain.things))
    above = {each.controller.uid for each in metas if each.controller}
    return {*above, pod.metadata.uid}


def _root(pod: Pod, chain: Chain) -> str:
    """UID of the last maker that is known, or named; pods without a maker have the same: none."""
    last = chain.things[-1].metadata if chain.things else pod.metadata
    if last.controller:
        return last.controller.uid
    return last.uid if chain.things else ""


def _whose(pod: Pod, chain: Chain) -> str:
    if chain.top is not None:
        return f"{chain.top.kind} {chain.top.metadata.name}"
    ref = pod.metadata.controller
    return (
        f"{ref.kind} {ref.name}" if ref else f"pods like {pod.metadata.name}, which have no owner"
    )


def stranger(pod: Pod, group: NamedPodGroup, whose: str) -> tuple[Draft, InputError]:
    """A pod that borrows the name of a group: a gang of its own that is refused."""
    message = f"it names group {group.name!r}, which belongs to {whose}"
    return alone(pod), InputError(message, "give the group another name")


def alone(pod: Pod) -> Draft:
    """A pod that is a gang of its own."""
    key = pod_key(pod)
    return Draft(
        key=key,
        workload=key,
        name=pod.metadata.name,
        kind=Kind.BATCH,
        shapes=(of_count(MAIN, 1, pod),),
        seat_of=lambda _: ClaimedSeat(MAIN, 0),
    )


def draft_of(
    key: str,
    group: NamedPodGroup,
    pods: Sequence[Pod],
    chains: Chains,
    described: Anything | None,
    terms: GroupTerms,
    known: Draft | None,
) -> Draft:
    """The gang of a group. Raises InputError.

    Args:
        key: of the gang.
        group: as its pods name it.
        pods: its living pods, by name.
        chains: their makers.
        described: what describes it; None = nothing does, or that is not known yet.
        terms: what its annotations say about its size.
        known: what it was when it was last complete.
    """

    def seat_of(pod: Pod) -> ClaimedSeat:
        chain = chains(pod)
        family = family_of(ident(chain.owner), pod) if chain.owner else None
        made = family.seat(pod, chain.below) if family and family.ranked else None
        seat = groups.seat(pod, made)
        if group.kind != upstream.COMPOSITE:
            return seat
        inside = groups.in_group(upstream.group_name(pod))
        return structs.replace(seat, pod_set=f"{inside}{seat.pod_set}")

    shapes = tuple(groups.sets(terms, pods, seat_of))
    if known and (terms.lacking or len(pods) < (terms.least or terms.total)):
        # Pods that are missing come back; their sets are known from when they were there.
        shapes = known.shapes
    chain = chains(pods[0])
    things = (described, *chain.things)
    return Draft(
        key=key,
        workload=key,
        name=group.name,
        kind=Kind.TRAIN,
        shapes=shapes,
        seat_of=seat_of,
        layers=(terms.said, *(each.metadata for each in things if each is not None)),
        levels=groups.levels(terms, shapes),
        owner=_owner(pods, chains, described),
        created_ms=created_ms(described.metadata) if described else 0,
        least=terms.least,
        total=terms.total,
        missing=_missing(key, group, pods, chains, described) or terms.lacking,
        top=chain.top.metadata if chain.top else Meta(),
    )


def _missing(
    key: str, group: NamedPodGroup, pods: Sequence[Pod], chains: Chains, described: Anything | None
) -> str:
    if group.reference and described is None:
        return f"its {group.kind} {key.partition('/')[0]}/{group.name} is not known yet"
    unknown = next((chains(pod).missing for pod in pods if chains(pod).missing), None)
    return f"its {unknown} is not known yet" if unknown else ""


def _owner(pods: Sequence[Pod], chains: Chains, described: Anything | None) -> GangOwner | None:
    """The one owner of all pods; it may be suspended only if the group was made for it."""
    owners = _different([chains(pod).owner for pod in pods])
    tops = _different([chains(pod).top for pod in pods])
    owner, top = owners[0], tops[0]
    if len(owners) == 1 and owner is not None:
        ref = described.metadata.controller if described else None
        made_for = ref is not None and ref.uid == owner.metadata.uid
        return owner_of(owner, shared=not made_for or owner is not top)
    if len(tops) == 1 and top is not None:
        return owner_of(top, shared=True)
    return owner_of(described, shared=True) if described else None


def _different(things: Sequence[Anything | None]) -> list[Anything | None]:
    return list({each.metadata.uid if each else "": each for each in things}.values())


def crowd(key: str, group: NamedPodGroup, pods: Sequence[Pod]) -> Draft:
    """Pods of a group of which nothing is known but that they exist."""
    shape = of_count(MAIN, len(pods), pods[0])
    return Draft(
        key=key,
        workload=key,
        name=group.name,
        kind=Kind.TRAIN,
        shapes=(structs.replace(shape, strict=False),),
        seat_of=lambda _: ClaimedSeat(MAIN),
    )
