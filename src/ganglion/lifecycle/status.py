"""The one state of a workload, derived from its gangs."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.model.causes import sentence, suspends
from ganglion.model.events import Outcome
from ganglion.model.plan import Phase
from ganglion.model.reasons import Reason
from ganglion.model.workload import Kind


class State(StrEnum):
    """What users see of a workload; it is in exactly one."""

    QUEUED = "QUEUED"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    STOPPING = "STOPPING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMED_OUT = "TIMED_OUT"


class Status(NamedTuple):
    """A workload's state and what there is to say about it.

    Attributes:
        state: the state.
        reason: token of the reason of a wait; empty = it does not wait.
        message: one sentence; empty when the state says it all.
        exit_code: exit code of the gang that decided the end; None = there is none.
    """

    state: State
    reason: str = ""
    message: str = ""
    exit_code: int | None = None


_ENDS: Mapping[Outcome, State] = {
    Outcome.SUCCEEDED: State.SUCCEEDED,
    Outcome.STOPPED_EARLY: State.SUCCEEDED,
    Outcome.CANCELLED: State.CANCELLED,
    Outcome.TIMED_OUT: State.TIMED_OUT,
}
_WORST_FIRST = (State.CANCELLED, State.FAILED, State.TIMED_OUT, State.SUCCEEDED)

_LIVE_FIRST = (
    (Phase.RUNNING, State.RUNNING),
    (Phase.STARTING, State.STARTING),
    (Phase.STOPPING, State.STOPPING),
)
_WORDS: Mapping[Kind, str] = {Kind.SERVICE: "replicas", Kind.SWEEP: "trials"}


def state_of(
    kind: Kind, records: Sequence[GangRecord], reasons: Iterable[Reason | None] = ()
) -> Status:
    """Derive the state of a workload.

    Args:
        kind: its kind.
        records: its gangs, by index; at least one.
        reasons: why each of them waits, as `reserved.reason_of` says; may be left out. No more
            of them are asked for than it takes.
    """
    if all(record.phase is Phase.ENDED for record in records):
        return _over(records)
    phases = {record.phase for record in records}
    state = next((state for phase, state in _LIVE_FIRST if phase in phases), State.QUEUED)
    reason = next((reason for reason in reasons if reason), None)
    if state is State.QUEUED and all(map(_sleeps, records)):
        return Status(State.SUSPENDED, "", sentence(records[0].held_for))
    if reason is None:
        return Status(state, "", _last_words(records))
    if state is State.QUEUED:
        return Status(state, reason.token, reason.message)
    waiting = sum(record.phase in WAITING for record in records)
    what = _WORDS.get(kind, "gangs")
    message = f"{waiting} of {len(records)} {what} wait: {reason.message}"
    return Status(state, reason.token, message)


def _sleeps(record: GangRecord) -> bool:
    return record.gang.held and suspends(record.held_for)


def live_as(phase: Phase) -> State:
    """The state of a workload of one gang that lives."""
    return next((state for known, state in _LIVE_FIRST if known is phase), State.QUEUED)


def end_of(record: GangRecord) -> State:
    """The state that a gang's own end amounts to."""
    return ended_as(record.outcome or Outcome.FAILED)


def ended_as(outcome: Outcome) -> State:
    """The state that an end for good amounts to."""
    return _ENDS.get(outcome, State.FAILED)


def _over(records: Sequence[GangRecord]) -> Status:
    ends = [end_of(record) for record in records]
    state = min(ends, key=_WORST_FIRST.index)
    decisive = records[ends.index(state)]
    given_up = sum(record.outcome is Outcome.STOPPED_EARLY for record in records)
    if state is State.SUCCEEDED and given_up:
        return Status(state, "", f"{given_up} of {len(records)} trials were stopped early")
    return Status(state, "", _ending(decisive, state), decisive.exit_code)


def _ending(record: GangRecord, state: State) -> str:
    if record.message or state is not State.FAILED:
        return record.message
    return {
        Outcome.PREEMPTED: "it was preempted and is not to be started again",
        Outcome.SUSPENDED: "it was suspended and is not to be started again",
        Outcome.NODE_LOST: "its node was lost and it is not to be started again",
        Outcome.START_FAILED: "it could not be started",
    }.get(record.outcome or Outcome.FAILED, "")


def _last_words(records: Sequence[GangRecord]) -> str:
    """What ended the attempt before, or why it is being stopped."""
    for record in records:
        if record.phase is Phase.STOPPING:
            return sentence(record.cause)
        if record.phase in WAITING and record.message:
            return record.message
    return ""
