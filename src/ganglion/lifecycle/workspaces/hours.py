"""Working hours: when a workspace may be idle for long, and when for a moment only."""

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from ganglion.model.behaviour import Hours
from ganglion.model.workload import Workload


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
