"""Whether a gang whose attempt ended waits for another one, and how long."""

from collections.abc import Mapping

from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.lifecycle.failures.history import (
    CRASH_LOOP,
    OOM,
    QUICK_MS,
    FailureHistory,
    cause_of,
)
from ganglion.model.causes import Cause, CauseKind, cancels, sentence, suspends
from ganglion.model.events import GangEnded, Outcome
from ganglion.model.plan import Phase
from ganglion.model.workload import Kind, Retry, Workload

START_TRIES = 3
"""Starts in a row that may fail: one that never works, as a misspelt command, must end."""

CRASHES = 5
"""Failures right after the start, with one exit code, in a row: nothing comes of another one."""

SERVICE_CRASHES = 20
"""The same of a replica, which may wait for something else to come up: a quarter of an hour."""

MOST_DOUBLINGS = 6
"""A back-off doubles until it is 64 times the first."""

ENDLESS = 1 << 30
"""Restarts of a replica whose service does not limit them, and after causes without a limit."""

_BY_ITSELF = (Outcome.SUCCEEDED, Outcome.FAILED)

_WORDS: Mapping[str, str] = {
    "failure": "failures",
    OOM: "ends for want of memory",
    "node_failure": "losses of nodes or GPUs",
    "preemption": "preemptions",
    "start_failure": "failed starts",
}


def decide(
    event: GangEnded,
    record: GangRecord,
    workload: Workload,
    history: FailureHistory | None = None,
) -> GangEnded:
    """Set `requeue`, `not_before` and, where it is the last word, `message` of an end.

    A gang that is being cancelled or given up is never started again, whatever ended it; one
    that is being suspended waits to be resumed, whatever ended it. A replica of a service that
    ends by itself is always started again, unless its restarts are limited. What crashes again
    and again right after its start ends, whatever its limits: see `CRASHES`.

    Args:
        event: as a world reported it.
        record: the gang before the event.
        workload: what the gang belongs to.
        history: the ends before this one; None = there were none but those of the record.

    Returns:
        The event to record.
    """
    if record.phase is Phase.STOPPING and cancels(record.cause):
        ended = event.outcome is Outcome.SUCCEEDED
        return event if ended else _unwanted(event, record.cause)
    if record.phase is Phase.STOPPING and suspends(record.cause):
        return replace(event, outcome=Outcome.SUSPENDED, requeue=True, not_before=0)
    history = history or FailureHistory()
    looped = _crash_loop(event, workload, history)
    if looped:
        return looped
    if workload.kind is Kind.SERVICE and event.outcome in _BY_ITSELF:
        limit = workload.retry.limit or ENDLESS
        return _after(event, record.failures, limit, workload.retry)
    return _by_cause(event, record, workload.retry, history)


def _unwanted(event: GangEnded, cause: Cause | None) -> GangEnded:
    if cause and cause.kind is CauseKind.GIVEN_UP:
        message = sentence(cause)
        return replace(event, outcome=Outcome.STOPPED_EARLY, requeue=False, message=message)
    return replace(event, outcome=Outcome.CANCELLED, requeue=False)


def _by_cause(
    event: GangEnded, record: GangRecord, retry: Retry, history: FailureHistory
) -> GangEnded:
    cause = cause_of(event)
    if cause not in retry.limits and _named(cause) not in retry.on:
        return replace(event, requeue=False)
    if event.outcome is Outcome.FAILED:
        return _own_failure(event, record, retry, history)
    if event.outcome is Outcome.START_FAILED:
        limit = retry.limits.get(cause, max(retry.limit, START_TRIES - 1))
        return _after(event, history.starts_failed, limit, retry)
    found = _within(event, cause, history.ends.get(cause, 0), retry.limits.get(cause, ENDLESS))
    return replace(found, not_before=0)


def _named(cause: str) -> str:
    """The word of `Retry.on` that a cause comes under."""
    return "failure" if cause == OOM else cause


def _own_failure(
    event: GangEnded, record: GangRecord, retry: Retry, history: FailureHistory
) -> GangEnded:
    """Want of memory has a budget of its own where the workload gives it one."""
    cause = cause_of(event)
    own = retry.limits.get(OOM)
    if cause == OOM and own is not None:
        return _after(event, history.ends.get(OOM, 0), own, retry)
    before = record.failures - (history.ends.get(OOM, 0) if own is not None else 0)
    return _after(event, before, retry.limits.get("failure", retry.limit), retry)


def _crash_loop(event: GangEnded, workload: Workload, history: FailureHistory) -> GangEnded | None:
    """The end of a gang that always fails at once, in the same way; None = it is not one."""
    usual = SERVICE_CRASHES if workload.kind is Kind.SERVICE else CRASHES
    most, crashes = workload.retry.limits.get(CRASH_LOOP, usual), history.crashes_with(event)
    if crashes < max(most, 1):
        return None
    said = f"; the last time: {event.message}" if event.message else ""
    message = (
        f"crash loop: it ended with exit code {event.exit_code} within {QUICK_MS // 1000} s of"
        f" its start, {crashes} times in a row{said}"
    )
    return replace(event, requeue=False, message=message, cause=CRASH_LOOP)


def _after(event: GangEnded, before: int, limit: int, retry: Retry) -> GangEnded:
    """Requeue while fewer than `limit` of the kind came before, each time later."""
    found = _within(event, cause_of(event), before, limit)
    if not found.requeue:
        return found
    wait = retry.backoff_ms << min(before, MOST_DOUBLINGS)
    return replace(found, not_before=event.at + wait)


def _within(event: GangEnded, cause: str, before: int, limit: int) -> GangEnded:
    """Requeue within the budget; report the end of a budget beside what ended the attempt."""
    if before < limit:
        return replace(event, requeue=True)
    if not limit:
        return replace(event, requeue=False)
    what = f"{before + 1} {_WORDS.get(cause, cause)}, and its retries allow {limit}"
    return replace(event, requeue=False, message="; ".join(filter(None, (event.message, what))))
