"""What the time alone makes more urgent: deadlines that come near, and long waits.

A gang with a deadline has slack until its latest start: deadline less expected run time. Once
that slack is no more than a few run times, it goes before equals without a deadline, the least
slack first (least laxity first: Mok, MIT 1983). From its latest start on it goes by the usual
order again: what is late anyhow makes no other gang late (the domino effect of EDF under
overload: Buttazzo, Hard Real-Time Computing Systems, 2011).

Escalation raises the priority of gangs that have waited for long, step by step.
"""

from collections.abc import Iterator

from ganglion.engine.gangs.record import GangRecord
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangUpdated
from ganglion.model.policy import Escalation
from ganglion.model.workload import Gang

NEAR = 4
"""A gang is urgent when its slack is no more than this multiple of its run time."""

MOST = 2
"""A run time counts as at most one part in this number of the time from submit to deadline.

A person who gives a deadline expects it to be kept: means of learnt run times say otherwise of
every short run of a program that also has long ones.
"""

_FIRST = -(1 << 62)
"""Before every rank of the usual order."""


def _length(gang: Gang, expected_ms: int) -> int:
    return min(expected_ms, (gang.deadline_ms - gang.submitted) // MOST)


def latest_start(gang: Gang, expected_ms: int) -> int:
    """When a gang with a deadline has to start to meet it, in ms."""
    return gang.deadline_ms - _length(gang, expected_ms)


def urgent_from(gang: Gang, expected_ms: int) -> int:
    """When a gang with a deadline becomes urgent, in ms."""
    near = latest_start(gang, expected_ms) - NEAR * _length(gang, expected_ms)
    return max(near, gang.submitted)


def due_rank(gang: Gang, expected_ms: int, now: int) -> int | None:
    """Rank of a gang that is urgent, among gangs of its queue and priority; None = it is not.

    Args:
        gang: what waits.
        expected_ms: run time that is expected of it.
        now: the time in ms.
    """
    if not gang.deadline_ms:
        return None
    last = latest_start(gang, expected_ms)
    return _FIRST + last if urgent_from(gang, expected_ms) <= now <= last else None


def changes(
    record: GangRecord, steps: tuple[Escalation, ...], expected_ms: int, now: int
) -> Iterator[int]:
    """Times after now at which a waiting gang's rank or priority changes, in ms."""
    gang = record.gang
    if gang.deadline_ms:
        last = latest_start(gang, expected_ms)
        yield from (at for at in (urgent_from(gang, expected_ms), last + 1) if at > now)
    for step in steps:
        if gang.priority < step.to and not gang.spare:
            yield max(record.waits_since + step.after_ms, now + 1)


def next_step(record: GangRecord, steps: tuple[Escalation, ...], now: int) -> Escalation | None:
    """The step by which waiting raises the priority of a gang next; None = there is none."""
    gang = record.gang
    higher = [step for step in steps if step.to > gang.priority and not gang.spare]
    later = [step for step in higher if record.waits_since + step.after_ms > now]
    return min(later, key=lambda step: (step.after_ms, -step.to), default=None)


def escalated(record: GangRecord, steps: tuple[Escalation, ...], now: int) -> Iterator[GangUpdated]:
    """The priority that a gang has waited long enough for, if it is above its own."""
    gang = record.gang
    earned = [step for step in steps if record.waits_since + step.after_ms <= now]
    best = max(earned, key=lambda step: step.to, default=None)
    if best and best.to > gang.priority and not gang.spare:
        cause = Cause(CauseKind.ESCALATED, number=gang.priority)
        yield GangUpdated(now, gang.id, priority=best.to, cause=cause, escalated=True)
