"""What the engine decided in one cycle."""

from enum import StrEnum
from hashlib import sha256

import msgspec
from msgspec import Struct, field

from ganglion.model.causes import Cause
from ganglion.model.errors import PlanChanged
from ganglion.model.events import Event
from ganglion.model.placement import Placement
from ganglion.model.reasons import Reason, Suggestion
from ganglion.model.workload import Gang


class Phase(StrEnum):
    """Where in its life a gang is; it is in exactly one."""

    PENDING = "pending"
    RESERVED = "reserved"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class SavePoint(Struct, frozen=True):
    """A checkpoint that an attempt may go on from.

    Attributes:
        at: up to when the work is safe, in ms.
        step: as the program counts; 0 = it did not say.
        path: where it lies, in full; empty = it did not say.
        attempt: that saved it.
    """

    at: int
    step: int = 0
    path: str = ""
    attempt: int = 0


class Start(Struct, frozen=True):
    """Start this attempt of this gang there; `resume` are its checkpoints, newest first."""

    gang: Gang
    attempt: int
    placement: Placement
    resume: tuple[SavePoint, ...] = ()


class Stop(Struct, frozen=True):
    """Stop this attempt, for this cause, within its grace."""

    gang: str
    attempt: int
    cause: Cause


class Resize(Struct, frozen=True):
    """Run this attempt on these pods: start those that are new, stop those left out."""

    gang: Gang
    attempt: int
    placement: Placement
    cause: Cause | None = None


class Wait(Struct, frozen=True):
    """Equal gangs of one queue that wait for one reason.

    Attributes:
        queue: their queue.
        first: id of the one that goes first.
        count: how many they are.
        reason: why they wait.
    """

    queue: str
    first: str
    count: int
    reason: Reason


class Rejection(Struct, frozen=True):
    """An event that made no sense: an unknown queue, a second gang of one id.

    Attributes:
        event: the event.
        code: code of the error.
        message: what is wrong.
    """

    event: Event
    code: str
    message: str


class Defect(Struct, frozen=True):
    """The engine failed, and undid what it had begun: an error in Ganglion or in a plugin.

    Attributes:
        stage: the part of the cycle that failed.
        gang: id of the gang that it was about, which is set apart; empty = none alone.
        error: type and message of the exception.
    """

    stage: str
    gang: str
    error: str


class Plan(Struct):
    """The outcome of one cycle; also the commands to a world.

    Attributes:
        at: time of the cycle in ms.
        starts: gangs to start, in the order decided.
        stops: gangs to stop.
        resizes: elastic gangs to grow or shrink.
        waits: groups of equal gangs whose reason is new or changed in this cycle.
        decisions: all that was decided as events, to be recorded after the facts.
        rejected: events that made no sense and were left out.
        defects: where the engine failed, oldest first.
    """

    at: int
    starts: list[Start] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    resizes: list[Resize] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    decisions: list[Event] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)


class Verdict(Struct, frozen=True, omit_defaults=True):
    """What would happen to a gang if it were submitted now.

    Attributes:
        placement: where it would start at once; None = it would wait.
        stops: ids of gangs that would be stopped or moved for it first.
        reason: why it would wait, `reason.never` when for ever; None when it would start.
        suggestions: up to three verified changes that would start it now.
    """

    placement: Placement | None = None
    reason: Reason | None = None
    suggestions: tuple[Suggestion, ...] = ()
    stops: tuple[str, ...] = ()


PLAN_DIGITS = 20


def plan_hash(subject: object, found: Verdict) -> str:
    """Hash of what would happen to a workload: where it would start, for whose sake others stop.

    Of a workload that would wait, it is the kind of the reason, not its numbers.

    Args:
        subject: the workload, as a value that JSON has a form for.
        found: what would happen to it.
    """
    reason = found.reason and (found.reason.token, found.reason.never)
    return digest_of_plan((subject, found.placement, sorted(found.stops), reason))


def digest_of_plan(said: object) -> str:
    """The first digits of a hash of a value that JSON has a form for."""
    return sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()[:PLAN_DIGITS]


def check_plan(plan: str, shown: str) -> None:
    """Raises PlanChanged unless the plan is the one that was shown."""
    if plan != shown:
        raise PlanChanged(
            f"the plan is {plan} by now, not {shown}: the workload or the fleet is"
            " another than the dry run saw",
            "look at it again, with --dry-run",
        )
