"""What became of an object that people wrote."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from ganglion.worlds.kubernetes.types.meta import Anything, Meta

Spec = Mapping[str, Any]


class AcceptedReason(StrEnum):
    """Reasons of the condition `Accepted`; the first two go with True."""

    ACCEPTED = "Accepted"
    WARNED = "AcceptedWithWarnings"
    INVALID = "Invalid"
    """A key or value is wrong."""
    NO_PARENT = "NoParent"
    """Its parent does not exist, or is set apart."""
    CIRCLE = "Circle"
    """It is above itself in the tree."""
    ELSEWHERE = "DefinedElsewhere"
    """Another cluster has an object of this name that says something else."""
    UNUSED = "NotInForce"
    """A policy of another name decides."""


class ObjectVerdict(Struct, frozen=True):
    """What became of one object.

    Attributes:
        kind: `Queue` or `Policy`.
        name: of the object.
        generation: of the spec that was looked at.
        reason: why it counts or not.
        message: for people: key, value, and what to do.
        spec: what counts; None = nothing of it does.
        spec_generation: generation that `spec` comes from.
        uid: of the one object that it is about; empty = of every object of that name.
    """

    kind: str
    name: str
    generation: int
    reason: AcceptedReason
    message: str
    spec: Spec | None = None
    spec_generation: int = 0
    uid: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the present spec counts."""
        return self.reason in (AcceptedReason.ACCEPTED, AcceptedReason.WARNED)


class Verdicts:
    """Verdicts by the object that they are about.

    Args:
        verdicts: those on one object override those on all objects of its name.
    """

    def __init__(self, verdicts: Iterable[ObjectVerdict]) -> None:
        self._by_object = {(each.kind, each.name, each.uid): each for each in verdicts}

    def on(self, kind: str, meta: Meta) -> ObjectVerdict | None:
        """What became of an object of a kind; None = it was not looked at."""
        own = self._by_object.get((kind, meta.name, meta.uid))
        return own or self._by_object.get((kind, meta.name, ""))


class SpecCandidate(Struct, frozen=True):
    """A spec of an object that may count: the present one, or the last that was accepted."""

    generation: int
    spec: Spec = field(default_factory=dict)


def candidates(item: Anything) -> tuple[SpecCandidate, ...]:
    """The specs of an object that may count, the present one first."""
    present = SpecCandidate(item.metadata.generation, item.spec)
    kept = item.status.get("inForce")
    if not isinstance(kept, dict) or not isinstance(kept.get("spec"), dict):
        return (present,)
    earlier = SpecCandidate(_number(kept.get("generation")), kept["spec"])
    return (present,) if earlier.spec == present.spec else (present, earlier)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
