"""Warn, wait, suspend: what to do about a workspace by what is known of it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo

from msgspec import Struct

from ganglion.lifecycle.workspaces.observations import Witness, WitnessMemory
from ganglion.lifecycle.workspaces.verdict import IdleAnswer, IdleFinding, judge
from ganglion.model.behaviour import Hours
from ganglion.model.workload import Workload

LOOK_MS = 15_000
"""How often witnesses look."""
STALE_MS = 60_000
"""A look that is older speaks for the present no longer."""
GAP_MS = 30_000
"""Longest time between two looks that counts as none: one look may fail."""
LOOKS = 10
"""A workspace is looked at so often within its timeout, if that is more often than usual..."""
SOONEST_MS = 500
"""...but never sooner than this after the look before."""
LEAST_MS = 60_000
"""Least time that a workspace has been idle before it is warned."""


class Act(StrEnum):
    """What to do."""

    NOTHING = "nothing"
    WARN = "warn"
    TAKE_BACK = "take back"
    """The warning: it is used again, or whether it is used is unknown."""
    SUSPEND = "suspend"


class Warned(Struct, frozen=True):
    """A warning that stands; times in ms.

    Attributes:
        at: when it was given.
        suspend_at: when the workspace goes.
    """

    at: int
    suspend_at: int


class Step(Struct, frozen=True):
    """What to do now.

    Attributes:
        act: the act.
        finding: on what grounds.
        suspend_at: of a warning, when the workspace goes, in ms.
    """

    act: Act
    finding: IdleFinding
    suspend_at: int = 0


class LookPace(Struct, frozen=True):
    """How often witnesses look, and how long their word holds; in ms.

    Attributes:
        stale_ms: a look that is older speaks for the present no longer.
        least_ms: least time that a workspace has been idle before it is warned.
    """

    stale_ms: int = STALE_MS
    least_ms: int = LEAST_MS


def step(
    workload: Workload,
    memory: WitnessMemory,
    required: Iterable[Witness],
    warned: Warned | None,
    now: int,
    pace: LookPace | None = None,
) -> Step:
    """Decide about one workspace that runs.

    It is warned once it has been idle for all of its timeout but the time of warning, suspended
    when that is over and it was idle all along. A warned workspace has the whole time of
    warning. When anything moves, or a required witness cannot vouch, the warning is taken back.

    Args:
        workload: the workspace.
        memory: what its witnesses saw.
        required: which witnesses have to vouch.
        warned: the warning that stands; None = there is none.
        now: the time in ms.
        pace: how long the word of a witness holds.
    """
    pace = pace or LookPace()
    allowed, warn = allowed_ms(workload, now), workload.idle.warn_ms
    if not allowed:
        return Step(Act.TAKE_BACK if warned else Act.NOTHING, IdleFinding(IdleAnswer.UNKNOWN))
    quiet = max(allowed - warn, min(pace.least_ms, allowed))
    window = max(quiet, now - warned.at) if warned else quiet
    found = judge(memory, required, now, window, pace.stale_ms)
    if found.answer is not IdleAnswer.IDLE:
        return Step(Act.TAKE_BACK if warned else Act.NOTHING, found)
    if warned is None:
        return Step(Act.WARN, found, max(found.since + allowed, now + warn))
    return Step(Act.SUSPEND if now >= warned.suspend_at else Act.NOTHING, found, warned.suspend_at)


def may_suspend(workload: Workload) -> bool:
    """Whether a workspace is ever suspended for being idle."""
    return bool(workload.idle_timeout_ms) or workload.idle.hours is not None


def every_ms(workload: Workload, now: int) -> int:
    """How often a workspace is looked at."""
    allowed = allowed_ms(workload, now) or LOOK_MS * LOOKS
    return max(SOONEST_MS, min(LOOK_MS, allowed // LOOKS))


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def at_work(hours: Hours, now: int) -> bool:
    """Whether a moment lies within working hours, by the clocks on the wall of their zone.

    Args:
        hours: the hours.
        now: the moment in ms.
    """
    there = datetime.fromtimestamp(now // 1000, UTC).astimezone(_zone(hours.zone))
    minute = there.hour * 60 + there.minute
    return there.weekday() in hours.days and hours.start_min <= minute < hours.end_min


def allowed_ms(workload: Workload, now: int) -> int:
    """How long a workspace may be idle as of now, in ms; 0 = for ever."""
    hours, timeout = workload.idle.hours, workload.idle_timeout_ms
    if hours is None or at_work(hours, now):
        return timeout
    soon = max(workload.idle.warn_ms, 1)
    return min(timeout, soon) if timeout else soon
