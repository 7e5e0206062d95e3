"""Maintenance windows and advance reservations; each change runs within one turn.

They begin and end by the wall clock. The engine knows the time of the server alone, which follows
a wall clock that is set only slowly, so that their times are reckoned anew when the two part.
"""

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ganglion.model.errors import FieldError, NotFound
from ganglion.model.events import BookingRemoved, BookingSet
from ganglion.model.fleet.booking import Booking
from ganglion.server.commands.drains import PREFIX, drains, is_drain
from ganglion.server.state.transaction import Mind, Transaction
from ganglion.specs.policy.bookings import BookingFile, booked, end_of, unknown_queues
from ganglion.specs.policy.policy import PolicyFile
from ganglion.specs.reading.validate import Wrong
from ganglion.specs.reading.yaml import Path
from ganglion.specs.wording import first_of, meant, noted

CLOSE_MS = 10_000
"""A booking begins and ends this close to its times by the wall clock."""
LOOK_MS = 60_000
"""How often the two clocks are compared while no other event occurs."""
DAY_MS = 86_400_000
"""A booking that was over this long ago stays over, however the wall clock is set."""


def there_are(mind: Mind) -> dict[str, Booking]:
    """Every booking by name, the first to begin first; drains are something else."""
    return {each.name: each for each in mind.state.timeline.bookings.all() if not is_drain(each)}


def set_booking(draft: Transaction, file: BookingFile, wrong: Wrong) -> Booking:
    """Make or change a booking.

    Raises:
        FieldError: nodes, domains or queues do not exist, or it lies in the past; all of them.
    """
    problems = list(unknown_queues(file, draft.state.queues.by_name, (), wrong))
    if end_of(file) <= draft.wall:
        key = "end" if file.length is None else "length"
        problems.append(wrong(f"the booking {file.name} would be over already", (key,), ""))
    booking = noted(
        lambda: booked(file, list(draft.state.fleet.nodes.values()), (), wrong), problems
    )
    if booking is None or problems:
        raise first_of(problems)
    found = _reckoned(draft, booking)
    draft.apply(BookingSet(draft.now, found))
    return found


def _reckoned(draft: Transaction, booking: Booking) -> Booking:
    """The same booking by the time of the server; by that of its predecessor where it is close."""
    known = there_are(draft.mind).get(booking.name)
    before, ahead = known.ahead_ms if known else 0, draft.wall - draft.now
    ahead = before if abs(ahead - before) <= CLOSE_MS else ahead
    begin, end = booking.begins_at - ahead, booking.ends_at - ahead
    return replace(booking, begin=begin, end=end, ahead_ms=ahead)


def remove_booking(draft: Transaction, name: str) -> None:
    """Take a booking back.

    Raises:
        NotFound: there is no such booking.
    """
    known = there_are(draft.mind)
    if any(each.name == name for each in drains(draft.state)):
        hint = f"use: ganglion undrain {name.removeprefix(PREFIX)}"
        raise NotFound(f"{name} is a drain, not a booking", hint)
    if name not in known:
        raise NotFound(
            f"there is no booking {name}", meant(name, [*known]) or "see: ganglion booking list"
        )
    draft.apply(BookingRemoved(draft.now, name))


def of_file(mind: Mind, file: PolicyFile) -> tuple[Booking, ...] | None:
    """The bookings of a policy file on the nodes there are; None = it says nothing about them.

    Raises:
        FieldError: nodes, domains or queues do not exist; all of them.
    """
    if file.bookings is None:
        return None
    fleet, problems = list(mind.state.fleet.nodes.values()), list[FieldError]()
    found: list[Booking | None] = []
    for at, each in enumerate(file.bookings):
        path: Path = ("bookings", at)
        make = partial(booked, each, fleet, path, file.wrong)
        found.append(noted(make, problems))
        if file.queues is None:
            problems += unknown_queues(each, mind.state.queues.by_name, path, file.wrong)
    if problems:
        raise first_of(problems)
    return tuple(each for each in found if each)


def carry_out(draft: Transaction, bookings: Sequence[Booking] | None) -> None:
    """Set and remove bookings until there are these and no others; None = leave them."""
    if bookings is None:
        return
    names = {each.name for each in bookings}
    for name in there_are(draft.mind):
        if name not in names:
            draft.apply(BookingRemoved(draft.now, name))
    for each in bookings:
        draft.apply(BookingSet(draft.now, _reckoned(draft, each)))


class BookingsKeeper:
    """Keeps bookings at their times by the wall clock; see `controller.Controller`.

    Everything it knows is in the engine, so there is nothing to note. Drains are left alone: their
    deadline is a time from when they were asked for.
    """

    name = "bookings"

    def note(self, event: object) -> None:
        """The engine notes everything."""

    def forget(self) -> None:
        """The engine is made anew."""

    def memory(self) -> None:
        """The engine remembers everything."""

    def recall(self, memory: None) -> None:
        """The engine remembers everything."""

    def tend(self, draft: Transaction) -> int | None:
        """Reckon bookings anew by which the clocks have parted; returns when to look again."""
        kept = [b for b in there_are(draft.mind).values() if b.ends_at > draft.wall - DAY_MS]
        for each in kept:
            found = _reckoned(draft, each)
            if found != each:
                draft.apply(BookingSet(draft.now, found))
        return draft.now + LOOK_MS if kept else None
