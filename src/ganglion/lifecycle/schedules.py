"""When workloads that repeat are due, and what becomes of dates that were missed.

Clocks that are put back or forward: a date with a fixed hour happens once. One that falls into
the hour that is left out happens at its end; one in the hour that comes twice happens the first
time. Dates by the minute or hour (`*/10 * * * *`) go by the time that really passes.
"""

from datetime import datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim
from msgspec import Struct

from ganglion.model.behaviour import Overlap, Schedule

SECOND_MS = 1000


class Due(Struct, frozen=True):
    """What a schedule asks for now.

    Attributes:
        date: the newest date that has come, in ms.
        missed: earlier ones that were not acted upon.
        late: whether it came too long ago to be made up for.
        skipped: the first of the missed ones.
        again: whether it came before, as the clock was put back since.
        once: whether such a date is not acted upon again.
    """

    date: int
    missed: int = 0
    late: bool = False
    skipped: tuple[int, ...] = ()
    again: bool = False
    once: bool = False


class Answer(Struct, frozen=True):
    """What is to be done about a date.

    Attributes:
        submit: whether the workload is submitted.
        cancel: runs that are stopped for it.
        message: what to say of it; empty = it went as planned.
    """

    submit: bool
    cancel: tuple[str, ...] = ()
    message: str = ""


MOST_NAMED = 5
"""Missed dates that are named."""
BACK_MS = 60_000
"""A clock that is corrected by less does not count as put back: no date comes again for that."""
MOST_COUNTED = 100
"""Missed dates that are counted; there may be a year of minutes."""


def next_date(schedule: Schedule, after_ms: int) -> int | None:
    """The first date after a time, in ms; None = there is none within fifty years."""
    found = next(CronSim(schedule.cron, _moment(schedule, after_ms)), None)
    return None if found is None else _ms(found)


def due(schedule: Schedule, since_ms: int, now_ms: int) -> Due | None:
    """The newest date in (since, now]; None = none has come.

    Args:
        schedule: when.
        since_ms: the last date that was acted upon, or when the schedule was made.
        now_ms: the time in ms.
    """
    if since_ms > now_ms + BACK_MS:
        return _again(schedule, now_ms)
    first = next_date(schedule, since_ms)
    if first is None or first > now_ms:
        return None
    # Backwards from the first second after now, so that years of minutes need not be counted.
    behind = CronSim(schedule.cron, _moment(schedule, now_ms) + timedelta(seconds=1), reverse=True)
    newest, missed = first, 0
    for nth, date in enumerate(behind):
        at = _ms(date)
        newest = max(newest, at) if at <= now_ms else newest
        if at <= first or nth > MOST_COUNTED:
            break
        missed += 1
    late = schedule.keep_ms > 0 and now_ms - newest > schedule.keep_ms
    return Due(newest, missed, late, _first(schedule, since_ms, newest) if missed else ())


def _first(schedule: Schedule, since_ms: int, before_ms: int) -> tuple[int, ...]:
    """The first dates after a time and before another one."""
    dates = (_ms(each) for each in CronSim(schedule.cron, _moment(schedule, since_ms)))
    return tuple(takewhile(lambda date: date < before_ms, islice(dates, MOST_NAMED)))


def _again(schedule: Schedule, now_ms: int) -> Due | None:
    """The date of the last minute, where the newest one that was acted upon lies ahead."""
    date = next_date(schedule, now_ms - BACK_MS)
    if date is None or date > now_ms:
        return None
    return Due(date, again=True, once=not _by_interval(schedule))


def _by_interval(schedule: Schedule) -> bool:
    """Whether dates go by the time that passes, not by the hour of the day."""
    hours = schedule.cron.split()[1:2]
    return schedule.cron == "@hourly" or any(each.startswith("*") for each in hours)


def answer(schedule: Schedule, found: Due, live: tuple[str, ...], stepped_ms: int = 0) -> Answer:
    """What to do about a date.

    Args:
        schedule: its overlap decides about runs that have not ended.
        found: the date.
        live: ids of earlier runs that have not ended.
        stepped_ms: by how much the clock was set just before.
    """
    if found.once:
        return Answer(submit=False, message=f"left out: {_BACK}")
    if found.late:
        return Answer(submit=False, message="it was missed for too long")
    said = _said(schedule, found, stepped_ms)
    if not live or schedule.overlap is Overlap.ALLOW:
        return Answer(submit=True, message=said)
    if schedule.overlap is Overlap.REPLACE:
        return Answer(submit=True, cancel=live, message=said)
    return Answer(submit=False, message=f"left out: {live[-1]} has not ended")


_BACK = "it came before, as the clock was put back"


def _said(schedule: Schedule, found: Due, stepped_ms: int) -> str:
    """What a person should know of a date that is acted upon."""
    if found.again:
        return _BACK
    if not found.missed:
        return ""
    said = f"{_count(found.missed)} missed before it"
    if stepped_ms <= 0:
        return said
    named = ", ".join(_moment(schedule, date).strftime("%Y-%m-%d %H:%M") for date in found.skipped)
    more = ", ..." if found.missed > len(found.skipped) else ""
    return f"{said}, as the clock was put forward by {stepped_ms // 60_000} min: {named}{more}"


def _count(missed: int) -> str:
    if missed > MOST_COUNTED:
        return f"more than {MOST_COUNTED} dates were"
    return "1 date was" if missed == 1 else f"{missed} dates were"


def _moment(schedule: Schedule, at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / SECOND_MS, ZoneInfo(schedule.zone))


def _ms(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND_MS
