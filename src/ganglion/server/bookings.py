"""Maintenance windows and advance reservations; each change runs within one turn."""

from collections.abc import Collection, Sequence

from ganglion.files.bookings import BookingFile, Wrong, booked
from ganglion.files.policy import PolicyFile
from ganglion.files.wording import listed, meant, show
from ganglion.files.yaml import Path
from ganglion.model.booking import Booking
from ganglion.model.errors import FieldError, NotFound
from ganglion.model.events import BookingRemoved, BookingSet
from ganglion.server.draft import Draft, Mind
from ganglion.server.drains import PREFIX, drains, is_drain


def there_are(mind: Mind) -> dict[str, Booking]:
    """Every booking by name, the first to begin first; drains are something else."""
    return {each.name: each for each in mind.state.bookings.all() if not is_drain(each)}


def check_queues(booking: Booking, names: Collection[str], path: Path, wrong: Wrong) -> None:
    """Every queue of a booking exists. Raises FieldError."""
    for at, name in enumerate(booking.queues):
        if name not in names:
            hint = meant(name, names) or f"queues are {listed(sorted(names)[:8])}"
            raise wrong(f"there is no queue {show(name)}", (*path, "queues", at), hint)


def set_booking(draft: Draft, file: BookingFile, wrong: Wrong) -> Booking:
    """Make or change a booking.

    Raises:
        FieldError: a node, domain or queue does not exist, or it lies in the past.
    """
    booking = booked(file, list(draft.state.nodes.values()), (), wrong)
    check_queues(booking, set(draft.state.queues), (), wrong)
    if booking.end <= draft.now:
        raise FieldError(f"the booking {booking.name} would be over already", key="end")
    draft.apply(BookingSet(draft.now, booking))
    return booking


def remove_booking(draft: Draft, name: str) -> None:
    """Take a booking back.

    Raises:
        NotFound: there is no such booking.
    """
    known = there_are(draft.mind)
    if any(each.name == name for each in drains(draft.state)):
        hint = f"say: ganglion undrain {name.removeprefix(PREFIX)}"
        raise NotFound(f"{name} is a drain, not a booking of its own", hint)
    if name not in known:
        raise NotFound(
            f"there is no booking {name}", meant(name, [*known]) or "see: ganglion booking list"
        )
    draft.apply(BookingRemoved(draft.now, name))


def of_file(mind: Mind, file: PolicyFile) -> tuple[Booking, ...] | None:
    """The bookings of a policy file on the nodes there are; None = it says nothing about them.

    Raises:
        FieldError: a name occurs twice, or a node, domain or queue does not exist.
    """
    if file.bookings is None:
        return None
    fleet = list(mind.state.nodes.values())
    queues = set(mind.state.queues) if file.queues is None else set(file.places)
    found: dict[str, Booking] = {}
    for at, each in enumerate(file.bookings):
        path: Path = ("bookings", at)
        if each.name in found:
            problem = f"the booking `{each.name}` exists already"
            raise file.wrong(problem, (*path, "name"), "")
        found[each.name] = booked(each, fleet, path, file.wrong)
        check_queues(found[each.name], queues, path, file.wrong)
    return tuple(found.values())


def carry_out(draft: Draft, bookings: Sequence[Booking] | None) -> None:
    """Set and remove bookings until there are these and no others; None = leave them."""
    if bookings is None:
        return
    names = {each.name for each in bookings}
    for name in there_are(draft.mind):
        if name not in names:
            draft.apply(BookingRemoved(draft.now, name))
    for each in bookings:
        draft.apply(BookingSet(draft.now, each))
