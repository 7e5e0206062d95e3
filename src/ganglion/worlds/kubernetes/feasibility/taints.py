"""Taints that keep pods off nodes, and tolerations of them."""

import re
from collections.abc import Iterable

from ganglion.worlds.kubernetes.types.affinity import Toleration
from ganglion.worlds.kubernetes.types.node import UNSCHEDULABLE, Node, Taint

BARRING = ("NoSchedule", "NoExecute")
"""Effects that keep new pods off."""
WORSE = ("PreferNoSchedule",)
"""The effect by which other nodes are preferred."""

CORDON = Taint(UNSCHEDULABLE, "", "NoSchedule")
"""The taint of a cordoned node."""

Tolerations = tuple[Toleration, ...]

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_BITS = 1 << 63


def barring_taints(node: Node) -> tuple[Taint, ...]:
    """Taints that keep pods off; a cordoned node has one even if it is not written yet."""
    found = [Taint(t.key, t.value, t.effect) for t in node.spec.taints if t.effect in BARRING]
    cordoned = any(each.key == UNSCHEDULABLE for each in found)
    if node.spec.unschedulable and not cordoned:
        found.append(CORDON)
    return tuple(found)


def worse_taints(node: Node) -> tuple[Taint, ...]:
    """Taints for which pods prefer other nodes."""
    return tuple(Taint(t.key, t.value, t.effect) for t in node.spec.taints if t.effect in WORSE)


def tolerations_of(
    tolerations: Iterable[Toleration], effects: tuple[str, ...] = BARRING
) -> Tolerations:
    """What decides about taints of some effects where pods may start, in one form.

    For how long a taint is tolerated matters to pods that run already.
    """
    found = {
        Toleration(t.key, t.operator or "Equal", t.value, t.effect)
        for t in tolerations
        if not t.effect or t.effect in effects
    }
    return tuple(sorted(found, key=lambda t: (t.key, t.operator, t.value, t.effect)))


def tolerated(tolerations: Tolerations, taint: Taint) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(_tolerates(each, taint) for each in tolerations)


def integer(text: str) -> int | None:
    """A value as a number, written in the one plain way; None otherwise."""
    found = int(text) if _INTEGER.fullmatch(text) else None
    return found if found is not None and -_BITS <= found < _BITS else None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            return _compares(toleration, taint.value)
    return False


def _compares(toleration: Toleration, value: str) -> bool:
    """`Gt` tolerates taints with a larger number than its own, `Lt` with a smaller one."""
    bound, have = integer(toleration.value), integer(value)
    if bound is None or have is None:
        return False
    return have > bound if toleration.operator == "Gt" else have < bound
