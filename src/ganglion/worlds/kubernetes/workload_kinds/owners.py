"""The owner of a pod, its owner, and so on, up to the last kind that is understood."""

from collections.abc import Callable

from msgspec import Struct

from ganglion.worlds.kubernetes.types.meta import Anything, Meta, OwnerReference
from ganglion.worlds.kubernetes.workload_kinds.kinds import (
    KINDS,
    Ident,
    collection,
    ident_of,
    path_of,
)

Lookup = Callable[[OwnerReference, str], Anything | None]
"""(reference, namespace) -> the object; None = not known. Without a UID any of the name will do."""

MOST_LINKS = 10
"""Longer chains are loops."""


class WantedOwner(Struct, frozen=True):
    """An object that has to be known before a gang can be understood.

    Attributes:
        api_version: as `batch/v1`.
        kind: as `Job`.
        namespace: where it lies.
        name: its name.
        uid: its UID; empty = any object of that name.
        path: of the object on the API server.
        collection: path of all objects of its kind in all namespaces, to be watched.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    path: str
    collection: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Chain(Struct, frozen=True):
    """The makers of a pod that are known.

    Attributes:
        things: from the one that made the pod upwards.
        missing: the next one, if it is of a kind that is understood and not known yet.
        head: how many of `things` lie below the one whose gang the pod belongs to; -1 = none.
    """

    things: tuple[Anything, ...] = ()
    missing: WantedOwner | None = None
    head: int = -1

    @property
    def owner(self) -> Anything | None:
        """The object whose gang the pod belongs to."""
        return self.things[self.head] if self.head >= 0 else None

    @property
    def below(self) -> tuple[Anything, ...]:
        """What lies between the pod and the owner, nearest to the pod first."""
        return self.things[: self.head] if self.head > 0 else ()

    @property
    def top(self) -> Anything | None:
        """The last object that is understood."""
        return self.things[-1] if self.things else None


def reference_to(thing: Anything) -> OwnerReference:
    """What an object of its makings would say of it."""
    return OwnerReference(thing.api_version, thing.kind, thing.metadata.name, thing.metadata.uid)


def ident(thing: Anything) -> Ident:
    """(API group, kind) of an object."""
    return ident_of(reference_to(thing))


def wanted(ref: OwnerReference, namespace: str) -> WantedOwner:
    """What to look for; the kind must be one that is understood."""
    plural = KINDS[ident_of(ref)].plural
    return WantedOwner(
        ref.api_version,
        ref.kind,
        namespace,
        ref.name,
        ref.uid,
        path_of(ref.api_version, plural, namespace, ref.name),
        collection(ref.api_version, plural),
    )


def climb(made: Meta, lookup: Lookup) -> Chain:
    """Follow controllers upwards from an object with this metadata."""
    things: list[Anything] = []
    missing = None
    ref = made.controller
    while ref and ident_of(ref) in KINDS and len(things) < MOST_LINKS:
        thing = lookup(ref, made.namespace)
        if thing is None or thing.metadata.uid != ref.uid:
            missing = wanted(ref, made.namespace)
            break
        things.append(_named(thing, ref))
        ref = thing.metadata.controller
    return Chain(tuple(things), missing, _head(things))


def _named(thing: Anything, ref: OwnerReference) -> Anything:
    """Items of lists do not say what they are; the reference does."""
    if thing.kind:
        return thing
    return Anything(ref.api_version, ref.kind, thing.metadata, thing.spec, thing.status)


def _head(things: list[Anything]) -> int:
    idents = [ident(each) for each in things]
    for index in range(len(things) - 1, -1, -1):
        if KINDS[idents[index]].gathers.issuperset(idents[:index]):
            return index
    return -1
