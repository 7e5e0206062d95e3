"""A gang before its pods are seated: what is known from its owner or its marks."""

from collections.abc import Callable

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind, Slice, Topology
from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.types.meta import Meta
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.annotations import Levels, Said, resolve
from ganglion.worlds.kubernetes.workload_discovery.found import FoundSet, GangOwner, Member
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.shape import ClaimedSeat, SetShape


class Draft(Struct, frozen=True):
    """What is known of a gang apart from its pods.

    Attributes:
        key: of the gang.
        workload: of its workload.
        name: of its workload.
        kind: what sort of workload its owner's kind suggests.
        shapes: its sets.
        seat_of: where a pod says it belongs.
        layers: metadata that applies to the whole gang, nearest to the pods first.
        levels: set -> metadata that constrains it, besides that of its pods.
        owner: the object that answers for it.
        created_ms: when it was made; 0 = when its oldest pod was.
        deadline_s: limits to its run time that fields of its owner set.
        least: pods of a group that must exist; 0 = what the sets say.
        total: pods of a group when it is complete; 0 = unknown.
        missing: why the owner cannot be looked at, or what groups lack; empty = neither.
        index: its number among its siblings.
        top: metadata of the topmost maker that is understood; empty = none is known.
    """

    key: str
    workload: str
    name: str
    kind: Kind
    shapes: tuple[SetShape, ...]
    seat_of: Callable[[Pod], ClaimedSeat]
    layers: tuple[Meta, ...] = ()
    levels: dict[str, Meta] = {}
    owner: GangOwner | None = None
    created_ms: int = 0
    deadline_s: tuple[int, ...] = ()
    least: int = 0
    total: int = 0
    missing: str = ""
    index: int = 0
    top: Meta = Meta()


def found_sets(draft: Draft, members: tuple[Member, ...], levels: Levels) -> tuple[FoundSet, ...]:
    """The sets with what their first pod says about them. Raises FieldError."""
    first: dict[str, Pod] = {}
    for member in members:
        first.setdefault(member.pod_set, member.pod)
    return tuple(
        _found_set(each, first.get(each.name, each.template), draft.levels, levels)
        for each in draft.shapes
    )


def _found_set(shape: SetShape, pod: Pod, constrained: dict[str, Meta], levels: Levels) -> FoundSet:
    extra = (constrained[shape.name],) if shape.name in constrained else ()
    said = Said((pod.metadata, *extra))
    return FoundSet(
        name=shape.name,
        count=shape.count,
        least=shape.least,
        request=pod,
        topology=said.topology(levels),
        slices=_slices(shape, said, levels),
        seats=shape.seats,
        upfront=shape.upfront,
    )


def _slices(shape: SetShape, said: Said, levels: Levels) -> tuple[Slice, ...]:
    """Blocks of the owner's kind, and slices as Kueue's annotations describe them."""
    found = []
    if shape.each_block and shape.block:
        level = resolve(shape.each_block, "exclusive-topology", levels)
        found.append(Slice(size=shape.block, required=level))
    key, level_text = said.get(markers.KUEUE_SLICE)
    if level_text:
        size_key, size = said.get(markers.KUEUE_SLICE_SIZE)
        pods = reading.count(size or "0", size_key or markers.KUEUE_SLICE_SIZE)
        if not pods or shape.seats % pods:
            raise FieldError(
                f"{pods} does not divide the {shape.seats} pods of {shape.name}",
                key=size_key or markers.KUEUE_SLICE_SIZE,
            )
        found.append(Slice(size=pods, required=resolve(level_text, key, levels)))
    # Once some pods have succeeded, the others no longer make whole slices.
    return tuple(each for each in found if shape.count % each.size == 0)


def gang_topology(layers: tuple[Meta, ...], sets: tuple[FoundSet, ...], levels: Levels) -> Topology:
    """The levels that all pods must or should share. Raises FieldError."""
    found = Said(layers).topology(levels)
    together = {each.name: _together(each.request) for each in sets}
    groups = set(together.values())
    if groups in ({""}, set()):
        return found
    if len(groups) > 1:
        odd = min(name for name, group in together.items() if group != max(groups))
        raise FieldError(
            f"names a group that {odd!r} is not in: only all sets of a gang can share a domain",
            key=markers.KUEUE_TOGETHER,
        )
    first = next(each.topology for each in sets)
    return Topology(
        required=found.required or first.required, preferred=found.preferred or first.preferred
    )


def _together(pod: Pod) -> str:
    return pod.metadata.annotations.get(markers.KUEUE_TOGETHER, "")
