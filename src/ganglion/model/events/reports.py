"""What programs and workspaces report; the engine takes no notice of it."""

from ganglion.model.events.base import EventBase


class MetricReported(EventBase, frozen=True, tag="metric_reported"):
    """A program reported how well it does; the engine takes no notice.

    A `value` that is no finite number is None: JSON knows no others.
    """

    gang: str
    attempt: int
    name: str
    step: int
    value: float | None


class IdleWarned(EventBase, frozen=True, tag="idle_warned"):
    """A workspace was found idle and is suspended at `suspend_at` unless it is used before.

    `suspend_at` 0 takes the warning back.
    """

    gang: str
    attempt: int
    suspend_at: int
    message: str = ""


class AlarmSet(EventBase, frozen=True, tag="alarm_set"):
    """Something about a workload or node needs a person; an empty message takes it back.

    `alarm` is a stable code: `metrics.lost`, `checkpoint.missing`, `recall.at_risk`.
    """

    subject: str
    alarm: str
    message: str
