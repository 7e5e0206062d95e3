"""Whether a gang whose attempt ended waits for another one, and how long."""

from msgspec.structs import replace

from ganglion.engine.record import GangRecord
from ganglion.model.events import GangEnded, Outcome, cancels, suspends
from ganglion.model.plan import Phase
from ganglion.model.workload import Kind, Retry, Workload

START_TRIES = 3
"""Starts in a row that may fail: one that never works, as a misspelt command, must end."""

MOST_DOUBLINGS = 6
"""A back-off doubles until it is 64 times the first."""

ENDLESS = 1 << 30
"""Restarts of a replica whose service does not limit them."""

_BY_ITSELF = (Outcome.SUCCEEDED, Outcome.FAILED)

_CAUSE = {
    Outcome.FAILED: "failure",
    Outcome.NODE_LOST: "node_failure",
    Outcome.PREEMPTED: "preemption",
    Outcome.START_FAILED: "start_failure",
}


def decide(
    event: GangEnded, record: GangRecord, workload: Workload, *, starts_failed: int = 0
) -> GangEnded:
    """Set `requeue` and `not_before` of the end of an attempt.

    A gang that is being cancelled is never started again, whatever ended it; one that is being
    suspended waits to be resumed, whatever ended it. A replica of a
    service that ends by itself is always started again, unless its restarts are limited.

    Args:
        event: as a world reported it.
        record: the gang before the event.
        workload: what the gang belongs to.
        starts_failed: starts of the gang that failed in a row before this one.

    Returns:
        The event to record.
    """
    if record.phase is Phase.STOPPING and cancels(record.cause):
        ended = event.outcome is Outcome.SUCCEEDED
        return event if ended else replace(event, outcome=Outcome.CANCELLED, requeue=False)
    if record.phase is Phase.STOPPING and suspends(record.cause):
        return replace(event, outcome=Outcome.SUSPENDED, requeue=True, not_before=0)
    retry = workload.retry
    if workload.kind is Kind.SERVICE and event.outcome in _BY_ITSELF:
        return _after(event, record.failures, retry.limit or ENDLESS, retry)
    if _CAUSE.get(event.outcome) not in retry.on:
        return replace(event, requeue=False)
    if event.outcome is Outcome.FAILED:
        return _after(event, record.failures, retry.limit, retry)
    if event.outcome is Outcome.START_FAILED:
        return _after(event, starts_failed, max(retry.limit, START_TRIES - 1), retry)
    return replace(event, requeue=True, not_before=0)


def _after(event: GangEnded, before: int, limit: int, retry: Retry) -> GangEnded:
    """Requeue while fewer than `limit` of the kind came before, each time later."""
    if before >= limit:
        return replace(event, requeue=False)
    wait = retry.backoff_ms << min(before, MOST_DOUBLINGS)
    return replace(event, requeue=True, not_before=event.at + wait)
