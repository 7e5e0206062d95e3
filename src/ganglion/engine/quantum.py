"""Levels of attained service, by which equals take turns.

A gang is at level 0 until it has had one GPU for its queue's `timeshare_ms`, and climbs a
level each time its service has grown by a factor since. It may have to yield only to those at
lower levels, and once it runs it keeps its place for a part of that time, and until the attempt
has brought it a fair part of what it had before: how often it yields grows with the logarithm
of its service.

Source: least attained service with levels, as Tiresias' discretised two-dimensional LAS
(NSDI'19); the classic is multi-level feedback.
"""

from ganglion.engine.price import attained, gpu_milli
from ganglion.engine.record import SETTLED, GangRecord
from ganglion.model.resources import WHOLE

FACTOR = 4
"""Service of one level over that of the one below."""

SLICES = 16
"""Every attempt may run for one part in so many of `timeshare_ms`."""

PART = 8
"""An attempt runs on until it has brought this part (one in so many) of the service before it."""


def level(record: GangRecord, quantum_ms: int, now: int) -> int:
    """The level that a gang has reached; 0 = it had little or nothing."""
    return _standing(attained(record, now), quantum_ms)[0]


def keeps_until(record: GangRecord, quantum_ms: int) -> int:
    """Up to when a gang that runs need not yield, in ms."""
    milli = gpu_milli(record.placement.pods) if record.placement else 0
    least = record.attained // (PART * max(milli, 1))
    return (record.started or record.placed_at) + max(quantum_ms // SLICES, least)


def next_change(record: GangRecord, quantum_ms: int, now: int) -> int | None:
    """When a gang that runs may next have to yield to more than before, in ms; None = never."""
    if record.phase not in SETTLED or not record.started or record.placement is None:
        return None
    milli = gpu_milli(record.placement.pods)
    if not milli:
        return None
    has = attained(record, now)
    grown = now + -(-(_standing(has, quantum_ms)[1] - has) // milli)
    kept = keeps_until(record, quantum_ms)
    return min(grown, kept) if kept > now else grown


def _standing(service: int, quantum_ms: int) -> tuple[int, int]:
    """The level of so much service, and the service at which it ends."""
    found, bound = 0, max(quantum_ms, 1) * WHOLE
    while service >= bound:
        found, bound = found + 1, bound * FACTOR
    return found, bound
