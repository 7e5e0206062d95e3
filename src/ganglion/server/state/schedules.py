"""The schedules there are; like everything in memory they follow from events."""

from msgspec import Struct

from ganglion.model.behaviour import Schedule
from ganglion.model.events import Event, ScheduleFired, ScheduleRemoved, ScheduleSet
from ganglion.model.workload import ResolvedModel, UnixAccount


class StandingSchedule(Struct):
    """A workload that is submitted again and again.

    Attributes:
        name: of the workload, and so of the schedule.
        user: whose it is.
        document: the workload's file as JSON.
        schedule: when.
        since: dates up to this one, in ms, are done with.
        last: the newest date that came; None = none did.
        runs: what it began, oldest first, as far as it may still matter whether they live.
        run: what it began last; empty = nothing.
        message: what there was to say of the newest date.
        account: Unix account that its runs have; None = that of the server.
        model: what its reference to a model meant when it was set up; None = it has none.
    """

    name: str
    user: str
    document: str
    schedule: Schedule
    since: int
    last: int | None = None
    runs: tuple[str, ...] = ()
    run: str = ""
    message: str = ""
    account: UnixAccount | None = None
    model: ResolvedModel | None = None


class Schedules:
    """All schedules.

    Attributes:
        live: by name.
    """

    def __init__(self) -> None:
        self.live: dict[str, StandingSchedule] = {}

    def note(self, event: Event) -> None:
        """Take in an event."""
        match event:
            case ScheduleSet():
                self._set(event)
            case ScheduleRemoved():
                self.live.pop(event.name, None)
            case ScheduleFired():
                self._fired(event)

    def _set(self, event: ScheduleSet) -> None:
        known = self.live.get(event.name)
        since = event.at if event.since is None else event.since
        made = StandingSchedule(
            *(event.name, event.user, event.document, event.schedule, since),
            account=event.account,
            model=event.model,
        )
        if known:  # what began before it was changed may still live
            made.last, made.runs, made.run = known.last, known.runs, known.run
        self.live[event.name] = made

    def _fired(self, event: ScheduleFired) -> None:
        found = self.live.get(event.name)
        if found is None:
            return
        # What comes again and is acted upon begins the count anew; what is left out does not.
        is_anew = event.again and bool(event.workload)
        found.since = event.due if is_anew else max(found.since, event.due)
        found.last, found.message = event.due, event.message
        if event.workload:
            found.run, found.runs = event.workload, (*found.runs, event.workload)

    def keep(self, name: str, runs: tuple[str, ...]) -> None:
        """Forget all runs of a schedule but these."""
        if name in self.live:
            self.live[name].runs = runs
