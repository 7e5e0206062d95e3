"""Workloads that are submitted on a schedule."""

from ganglion.model.behaviour import Schedule
from ganglion.model.events.base import EventBase
from ganglion.model.workload import ResolvedModel, UnixAccount


class ScheduleSet(EventBase, frozen=True, tag="schedule_set"):
    """A workload (`document`, JSON) is submitted at dates after `since`; None = after `at`.

    `account`: Unix account that its programs run as; None = that of the server. `model`: what its
    reference to a model meant then; None = it has none.
    """

    name: str
    user: str
    document: str
    schedule: Schedule
    since: int | None = None
    account: UnixAccount | None = None
    model: ResolvedModel | None = None


class ScheduleRemoved(EventBase, frozen=True, tag="schedule_removed"):
    """A schedule was taken back; runs that it began go on."""

    name: str
    user: str


class ScheduleFired(EventBase, frozen=True, tag="schedule_fired"):
    """A date of a schedule has come.

    `workload` is the run it began; empty = none, and `message` says why. `again`: it came before,
    as the wall clock was put back.
    """

    name: str
    due: int
    workload: str = ""
    message: str = ""
    again: bool = False
