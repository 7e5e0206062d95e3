"""Routes for workloads that are submitted again and again."""

from typing import Annotated

from fastapi import Path, Query

from ganglion.api.schedules import SchedulePage, ScheduleView
from ganglion.api.server import Done
from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.lifecycle.schedules import next_date
from ganglion.server.commands import schedules
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest.filters import MOST_MS, UserQuery, holds
from ganglion.server.rest.pages import Rank, cut
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.state.schedules import StandingSchedule

router = Routes(tags=["schedules"], responses=ERRORS)

Name = Annotated[str, Path(max_length=200)]


@router.get("/schedules")
def list_schedules(here: Here, query: Annotated[UserQuery, Query()]) -> SchedulePage:
    """List schedules, the next to come first."""
    now = here.service.now()
    with here.service.read() as mind:
        found = [
            _view(each, now, [run for run in each.runs if run in mind.book.entries])
            for each in mind.book.schedules.live.values()
            if (here.caller.sees_all or each.user == here.user)
            and (not query.user or each.user in query.user)
            and holds(query.text.lower(), each.name, each.user)
        ]
    found.sort(key=_rank)
    shown, following = cut("schedules", found, _rank, query)
    return SchedulePage(items=tuple(shown), next=following)


def _rank(each: ScheduleView) -> Rank:
    return (MOST_MS if each.next is None else each.next, each.name)


@router.delete("/schedules/{name}")
def remove_schedule(here: Here, name: Name) -> Done:
    """Take a schedule back; what it has begun goes on."""
    here.service.ask(lambda draft: schedules.remove(draft, name, here.user, own=_own(here)))
    return Done()


def _own(here: ServerContext) -> bool:
    """Whether the caller may take back only schedules of its own."""
    return not here.caller.may(AccessVerb.STOP, ResourceKind.WORKLOAD).allowed


def _view(standing: StandingSchedule, now: int, live: list[str]) -> ScheduleView:
    schedule = standing.schedule
    return ScheduleView(
        name=standing.name,
        user=standing.user,
        cron=schedule.cron,
        zone=schedule.zone,
        overlap=schedule.overlap,
        next=next_date(schedule, max(now, standing.since)),
        last=standing.last,
        run=standing.run,
        live=tuple(live),
        message=standing.message,
    )
