"""Policies as text again, and what differs between two."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml
from msgspec import Struct

from ganglion.model.fleet.booking import Booking
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.specs.grammar.amounts import print_amounts
from ganglion.specs.grammar.rules.kinds import print_kinds
from ganglion.specs.grammar.times.durations import print_duration
from ganglion.specs.policy.bookings import written_booking
from ganglion.specs.policy.queue_schema import FlavorsFile, PreemptionFile
from ganglion.specs.policy.schema import Knobs
from ganglion.specs.reading.overlay import written

Json = dict[str, Any]


class Change(Struct, frozen=True):
    """One thing that differs.

    Attributes:
        key: dotted, as `evict.restart`, or `queues.research.quota.H100`.
        before: as a file would say it; None = it was not there.
        after: the same; None = it is there no more.
    """

    key: str
    before: str | None
    after: str | None


def policy_document(
    policy: Policy, queues: Iterable[Queue] = (), bookings: Iterable[Booking] = ()
) -> Json:
    """Every knob with its value, every queue and booking, in the keys of a policy file."""
    found = written(Knobs, policy)
    del found["preset"]  # every knob is here, whatever preset it came from
    if listed := [queue_document(each) for each in queues]:
        found["queues"] = listed
    if booked := [written_booking(each) for each in bookings]:
        found["bookings"] = booked
    return found


def queue_document(queue: Queue) -> Json:
    """A queue as a file would say it, without what is as usual."""
    usual = Queue(queue.name)
    found: Json = {
        "name": queue.name,
        "parent": queue.parent,
        "quota": print_amounts(queue.quota),
        "limit": print_amounts(queue.limit),
        "lend_limit": print_amounts(queue.lend_limit),
        "user_limit": print_amounts(queue.user_limit),
    }
    found = {key: value for key, value in found.items() if value}
    if queue.over_quota_weight != usual.over_quota_weight:
        found["weight"] = queue.over_quota_weight
    for key in ("priority", "max_pending", "strict"):
        if getattr(queue, key) != getattr(usual, key):
            found[key] = getattr(queue, key)
    if queue.preemption is not None:
        found["preemption"] = written(PreemptionFile, queue.preemption)
    if queue.flavors is not None:
        found["flavors"] = written(FlavorsFile, queue.flavors)
    if queue.kinds:
        found["kinds"] = print_kinds(queue.kinds)
    if queue.timeshare_ms is not None:
        found["timeshare"] = print_duration(queue.timeshare_ms)
    return found


def yaml_text(document: Json) -> str:
    """A document as YAML."""
    found: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    return found


def changes(before: Json, after: Json) -> list[Change]:
    """What differs between two documents of `policy_document`, knobs first, in their order."""
    old, new = dict(_flat(before)), dict(_flat(after))
    return [
        Change(key, old.get(key), new.get(key))
        for key in dict.fromkeys((*old, *new))
        if old.get(key) != new.get(key)
    ]


def _flat(value: object, path: str = "") -> Iterable[tuple[str, str]]:
    """Leaves by dotted key; members of lists go by their name."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, f"{path}.{key}" if path else str(key))
    elif _named(value):
        assert isinstance(value, list)
        for each in value:
            rest = {key: inner for key, inner in each.items() if key != "name"}
            yield f"{path}.{each['name']}", ""
            yield from _flat(rest, f"{path}.{each['name']}")
    elif value is not None:
        yield path, _leaf(value)


def _named(value: object) -> bool:
    return isinstance(value, list) and any(
        isinstance(each, dict) and "name" in each for each in value
    )


def _leaf(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_leaf, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_leaf(each)}' for key, each in value.items())}}}"
    return str(value)
