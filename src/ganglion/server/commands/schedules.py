"""What users may do about schedules, and what a date does; each runs within one turn."""

from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from ganglion.lifecycle.schedules import Answer, answer, due, next_date
from ganglion.model.errors import GanglionError, NotFound
from ganglion.model.events import ScheduleFired, ScheduleRemoved
from ganglion.model.workload import ResolvedImage, ResolvedModel
from ganglion.server.commands import live as commands
from ganglion.server.commands.submission.submit import Request, submit_run
from ganglion.server.state.schedules import StandingSchedule
from ganglion.server.state.transaction import Transaction
from ganglion.specs.wording import meant
from ganglion.specs.workload.workload import from_document

log = structlog.get_logger(__name__)


def remove(draft: Transaction, name: str, user: str, *, own: bool = False) -> None:
    """Take a schedule back; what it has begun goes on.

    Args:
        draft: the open turn.
        name: of the schedule.
        user: who takes it back.
        own: whether there are only the user's own schedules.

    Raises:
        NotFound: there is no such schedule.
    """
    live = draft.book.schedules.live
    known = {key: each for key, each in live.items() if not own or each.user == user}
    if name not in known:
        hint = meant(name, [*known]) or "see: ganglion schedules"
        raise NotFound(f"there is no schedule {name}", hint)
    draft.record(ScheduleRemoved(draft.now, name, user))


Latest = Callable[[str], ResolvedModel | None]
LatestImage = Callable[[str], ResolvedImage | None]


class SchedulesKeeper:
    """Submits workloads when their dates come; see `keepers.Keeper`.

    Everything it knows is in the book, so there is nothing to note.

    Args:
        latest: what a reference to a model meant when that was found out last; None = never.
        image: what an image was by its digest when that was found out last, or why it is not known;
            None = there is nothing to find out.
    """

    name = "schedules"

    def __init__(
        self,
        latest: Latest = lambda _reference: None,
        image: LatestImage = lambda _image: None,
    ) -> None:
        self._latest, self._image = latest, image

    def note(self, event: object) -> None:
        """The book notes everything."""

    def forget(self) -> None:
        """The book is made anew."""

    def memory(self) -> None:
        """The book remembers everything."""

    def recall(self, memory: None) -> None:
        """The book remembers everything."""

    def tend(self, draft: Transaction) -> int | None:
        """Act upon the dates that have come; returns the next one."""
        standing = list(draft.book.schedules.live.values())
        dates = [self._tended(draft, each) for each in standing]
        return min((date for date in dates if date is not None), default=None)

    def _tended(self, draft: Transaction, standing: StandingSchedule) -> int | None:
        found = due(standing.schedule, standing.since, draft.wall)
        if found and not (found.again and found.date == standing.last):
            known = tuple(run for run in standing.runs if run in draft.book.entries)
            draft.book.schedules.keep(standing.name, known)
            live = tuple(run for run in known if draft.book.ended_at(run) is None)
            what = answer(standing.schedule, found, live, draft.stepped_ms)
            run, message = "", what.message
            if what.submit:
                run, message = self._submitted(draft, standing, what)
            fired = (standing.name, found.date, run, message, found.again)
            draft.record(ScheduleFired(draft.now, *fired))
        upcoming = next_date(standing.schedule, draft.wall)
        return None if upcoming is None else draft.now + upcoming - draft.wall

    def _submitted(
        self, draft: Transaction, standing: StandingSchedule, what: Answer
    ) -> tuple[str, str]:
        """The new run, and what to say."""
        data: dict[str, Any] = msgspec.json.decode(standing.document)
        if what.cancel:
            data["after"] = [*data.get("after", ()), *(f"any:{run}" for run in what.cancel)]
        model = standing.model and (self._latest(standing.model.reference) or standing.model)
        try:
            request = Request(
                from_document(data),
                standing.user,
                account=standing.account,
                model=model,
                image=self._image(data.get("image", "")),
            )
            accepted = submit_run(draft, standing.name, request, standing.runs)
        except GanglionError as error:
            log.warning("schedule failed", schedule=standing.name, error=error.message)
            return "", f"it could not be submitted: {error.message}"
        for run in what.cancel:
            commands.cancel(draft, run, f"the schedule {standing.name}: the next date has come")
        return accepted.id, what.message
