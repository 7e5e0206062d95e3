"""What the server answers about schedules. Times are milliseconds since 1970."""

from pydantic import Field

from ganglion.server.wire.base import NEXT, Model


class ScheduleView(Model):
    """A workload that is submitted again and again."""

    name: str
    user: str
    cron: str
    zone: str
    overlap: str = Field(description="forbid, allow or replace")
    next: int | None = Field(None, description="the next date; null = there is none")
    last: int | None = Field(None, description="the newest date that came")
    run: str = Field("", description="id of the workload that it submitted last")
    live: tuple[str, ...] = Field((), description="its workloads that have not ended")
    message: str = Field("", description="what there was to say of the newest date")


class SchedulePage(Model):
    """Schedules, the next to come first."""

    items: tuple[ScheduleView, ...]
    next: str | None = NEXT
