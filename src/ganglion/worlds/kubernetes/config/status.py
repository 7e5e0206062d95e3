"""What is written back to `Queue` and `Policy` objects, and only where it differs."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import Amount
from ganglion.specs.grammar.amounts import print_amounts
from ganglion.worlds.kubernetes.config.verdicts import ObjectVerdict

Status = dict[str, Any]

CONDITION = "Accepted"
LONGEST_MESSAGE = 2048
"""Characters of a message; a status is no place for essays."""
FIGURES = frozenset({"used", "deserved", "pending", "running", "share"})
"""Fields of a queue's status that change with its work; all others change with its verdict."""


class QueueFigures(Struct, frozen=True):
    """What a queue has and wants.

    Attributes:
        used: in use by flavor, queues under it included; `*` = all together.
        deserved: what it is entitled to at present, likewise.
        pending: gangs of the queue itself that wait.
        running: gangs of the queue itself that hold resources.
    """

    used: Mapping[str, Amount] = field(default_factory=dict)
    deserved: Mapping[str, Amount] = field(default_factory=dict)
    pending: int = 0
    running: int = 0


def status_of(
    verdict: ObjectVerdict, before: Status, now: str, figures: QueueFigures | None = None
) -> Status:
    """The whole status of an object.

    Args:
        verdict: what became of it.
        before: its status as the cluster has it; times of what stays are taken from there.
        now: RFC 3339, with seconds.
        figures: what a queue has and wants; None = a policy, or a queue that does not count.
    """
    found: Status = {"conditions": [_condition(verdict, before, now), *_others(before)]}
    if verdict.spec is not None:
        spec = _without_nulls(verdict.spec)
        found["inForce"] = {"generation": verdict.spec_generation, "spec": spec}
    if figures is not None:
        found |= _figures(figures)
    return found


def patch_of(before: Any, after: Status) -> Status:  # noqa: ANN401 - any JSON may be there
    """The merge patch (RFC 7386) from one status to another; empty = nothing to write."""
    if not isinstance(before, dict):
        return after
    found: Status = {key: None for key in before if key not in after}
    for key, value in after.items():
        if isinstance(value, dict) and isinstance(before.get(key), dict):
            inner = patch_of(before[key], value)
            found |= {key: inner} if inner else {}
        elif key not in before or before[key] != value:
            found[key] = value
    return found


def share(figures: QueueFigures) -> str:
    """GPUs in use as a part of those deserved, as `75%`; empty = it deserves none."""
    used, deserved = _gpus(figures.used), _gpus(figures.deserved)
    return f"{used * 100 // deserved}%" if deserved else ""


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON may be there
    """The same without keys that say nothing: in a merge patch they would remove what is there."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list | tuple) else value


def _condition(verdict: ObjectVerdict, before: Status, now: str) -> Status:
    said = "True" if verdict.accepted else "False"
    old = next((each for each in _conditions(before) if each.get("type") == CONDITION), {})
    since = old.get("lastTransitionTime") if old.get("status") == said else None
    return {
        "type": CONDITION,
        "status": said,
        "reason": verdict.reason.value,
        "message": verdict.message[:LONGEST_MESSAGE],
        "observedGeneration": verdict.generation,
        "lastTransitionTime": since or now,
    }


def _others(before: Status) -> Iterable[Status]:
    """Conditions that another controller keeps there."""
    return (each for each in _conditions(before) if each.get("type") != CONDITION)


def _conditions(status: Status) -> list[Status]:
    found = status.get("conditions")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _figures(figures: QueueFigures) -> Status:
    found: Status = {
        "used": print_amounts(dict(sorted(figures.used.items()))),
        "deserved": print_amounts(dict(sorted(figures.deserved.items()))),
        "pending": figures.pending,
        "running": figures.running,
    }
    part = share(figures)
    return found | ({"share": part} if part else {})


def _gpus(amounts: Mapping[str, Amount]) -> int:
    """Thousandths of GPUs, of all flavors."""
    if ANY_FLAVOR in amounts:
        return amounts[ANY_FLAVOR].gpu_milli or 0
    return sum(each.gpu_milli or 0 for each in amounts.values())
