"""Schedules."""

from msgspec import Struct

from ganglion.api.page import Page


class ScheduleView(Struct):
    """A workload that is submitted again and again.

    Attributes:
        name: of the workload, and so of the schedule.
        user: whose it is.
        cron: five fields.
        zone: time zone of `cron`.
        overlap: what happens while an earlier run lives: forbid, allow or replace.
        next: the next date; None = there is none.
        last: the newest date that came.
        run: id of the workload that it submitted last.
        live: its workloads that have not ended.
        message: what there was to say of the newest date.
    """

    name: str
    user: str
    cron: str
    zone: str
    overlap: str
    next: int | None = None
    last: int | None = None
    run: str = ""
    live: tuple[str, ...] = ()
    message: str = ""


class SchedulePage(Page):
    """All schedules, the next to come first."""

    items: tuple[ScheduleView, ...]
