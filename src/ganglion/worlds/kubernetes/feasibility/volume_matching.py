"""Volumes that exist already, for claims that wait for their first consumer.

As with the default scheduler the smallest volume that suits is taken, and a volume whose
`claimRef` names the claim is the only one that does.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.feasibility.clauses import Clause, clause_of
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.selectors import (
    Selector,
    hold,
    in_order,
    selector_of,
)
from ganglion.worlds.kubernetes.types.bounds import QUANTITY
from ganglion.worlds.kubernetes.types.meta import Requirement
from ganglion.worlds.kubernetes.types.pod import Quantities
from ganglion.worlds.kubernetes.types.quantity import units
from ganglion.worlds.kubernetes.types.storage import PersistentVolume, PersistentVolumeClaim

AVAILABLE = "Available"

ANYWHERE: Clause = ((),)
"""The reach of a volume that every node reaches."""


class VolumeDemand(Struct, frozen=True, cache_hash=True):
    """What a claim asks of a volume; the same volumes suit claims that ask for the same.

    Attributes:
        storage_class: name of the class.
        size: least capacity, in bytes.
        access_modes: all of which the volume has to offer.
        volume_mode: Filesystem or Block.
        attributes_class: name of the volume attributes class; empty = none.
        selector: of the labels of the volume.
    """

    storage_class: str
    size: int
    access_modes: frozenset[str]
    volume_mode: str
    attributes_class: str
    selector: Selector


class VolumeCandidates:
    """Volumes that suit a claim, found by the labels of the node that has to reach them.

    Args:
        found: the volumes, the smallest first.

    Attributes:
        names: of the volumes.
        clause: what a node has to be like to reach one of them; without any, no node will do.
    """

    def __init__(self, found: Iterable[PersistentVolume] = ()) -> None:
        self._found = tuple(found)
        self.names = frozenset(each.metadata.name for each in self._found)
        self._by_label: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._others: list[tuple[int, Clause]] = []
        for number, volume in enumerate(self._found):
            self._index(number, reach_of(volume))
        self.clause = self._clause()

    def on(self, labels: Mapping[str, str]) -> Iterator[PersistentVolume]:
        """Those that a node with these labels reaches, the smallest first."""
        near = [
            number
            for key, by_value in self._by_label.items()
            if key in labels
            for number in by_value.get(labels[key], ())
        ]
        near += [number for number, reach in self._others if _reaches(reach, labels)]
        return (self._found[number] for number in sorted(near))

    def _index(self, number: int, reach: Clause) -> None:
        """Volumes that are reached by the value of one label, as local disks, are looked up."""
        single = _single(reach)
        if single is None:
            self._others.append((number, reach))
        else:
            for value in single.values:
                self._by_label[single.key][value].append(number)

    def _clause(self) -> Clause:
        alternatives = [
            in_order((Requirement(key, "In", tuple(by_value)),))
            for key, by_value in self._by_label.items()
        ]
        alternatives += [each for _, reach in self._others for each in reach]
        return tuple(sorted(dict.fromkeys(alternatives), key=repr))


NONE = VolumeCandidates()


def asked_by(claim: PersistentVolumeClaim) -> VolumeDemand:
    """What a claim asks of a volume; of a size that is no quantity there is none."""
    spec = claim.spec
    return VolumeDemand(
        claim.storage_class,
        _bytes(spec.resources.requests, otherwise=QUANTITY + 1),
        frozenset(spec.access_modes),
        spec.volume_mode,
        spec.volume_attributes_class_name,
        selector_of(spec.selector) if spec.selector else Selector(),
    )


def candidates_of(claim: PersistentVolumeClaim, volumes: Volumes) -> VolumeCandidates:
    """The volumes that suit a claim which has none yet."""
    asked, key = asked_by(claim), claim.metadata.key
    reserved = volumes.remembered("reserved", lambda: _reserved(volumes)).get(key, ())
    own = [each for each in reserved if _is_for(each, claim) and _is_like(each, _size(each), asked)]
    if own:
        return VolumeCandidates(own)
    return volumes.remembered(asked, lambda: VolumeCandidates(_free(volumes, asked)))


def names_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume names this very claim, not only one of its name."""
    ref = volume.spec.claim_ref
    return ref is not None and ref.uid == claim.metadata.uid and _is_for(volume, claim)


def reach_of(volume: PersistentVolume) -> Clause:
    """What a node has to be like to reach a volume."""
    affinity = volume.spec.node_affinity
    return clause_of(affinity.required) if affinity and affinity.required else ANYWHERE


def _reserved(volumes: Volumes) -> dict[str, list[PersistentVolume]]:
    """Key of a claim -> volumes that name it, by name."""
    found: dict[str, list[PersistentVolume]] = defaultdict(list)
    for _, volume in sorted(volumes.volumes.items()):
        ref = volume.spec.claim_ref
        if ref:
            found[f"{ref.namespace}/{ref.name}"].append(volume)
    return dict(found)


def _is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    ref, meta = volume.spec.claim_ref, claim.metadata
    if ref is None or (ref.namespace, ref.name) != (meta.namespace, meta.name):
        return False
    return ref.uid in ("", meta.uid)


def _free(volumes: Volumes, asked: VolumeDemand) -> Sequence[PersistentVolume]:
    by_class = volumes.remembered("classes", lambda: _by_class(volumes))
    return [
        each
        for size, _, each in by_class.get(asked.storage_class, ())
        if _is_like(each, size, asked)
        and asked.access_modes <= set(each.spec.access_modes)
        and asked.selector.selects(each.metadata.labels)
    ]


def _by_class(volumes: Volumes) -> dict[str, list[tuple[int, str, PersistentVolume]]]:
    """Class -> (size, name, volume) of its volumes that no claim has, the smallest first."""
    found: dict[str, list[tuple[int, str, PersistentVolume]]] = defaultdict(list)
    for name, each in volumes.volumes.items():
        if each.spec.claim_ref is None and each.status.phase == AVAILABLE:
            found[each.storage_class].append((_size(each), name, each))
    return {name: sorted(free, key=lambda one: one[:2]) for name, free in found.items()}


def _is_like(volume: PersistentVolume, size: int, asked: VolumeDemand) -> bool:
    """Whether a volume suits by what holds for reserved ones too."""
    spec = volume.spec
    return (
        volume.storage_class == asked.storage_class
        and size >= asked.size
        and not volume.metadata.deletion_timestamp
        and spec.volume_mode == asked.volume_mode
        and spec.volume_attributes_class_name == asked.attributes_class
    )


def _size(volume: PersistentVolume) -> int:
    return _bytes(volume.spec.capacity, otherwise=-1)


def _bytes(amounts: Quantities, otherwise: int) -> int:
    """What is said of storage, in bytes; one volume that makes no sense stops no other."""
    try:
        return units(amounts.get("storage", 0))
    except InputError:
        return otherwise


def _single(reach: Clause) -> Requirement | None:
    """The one requirement that a volume has, where it is that a label has certain values."""
    if len(reach) == 1 and len(reach[0]) == 1 and reach[0][0].operator == "In":
        return reach[0][0]
    return None


def _reaches(reach: Clause, labels: Mapping[str, str]) -> bool:
    return any(hold(each, labels) for each in reach)
