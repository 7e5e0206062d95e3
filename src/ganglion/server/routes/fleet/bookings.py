"""Routes for maintenance windows and advance reservations."""

from typing import Annotated

from fastapi import Path, Query, Response

from ganglion.api.policies import BookingPage, BookingView
from ganglion.api.server import Done
from ganglion.model.errors import FieldError
from ganglion.model.fleet.booking import Booking
from ganglion.server.commands import bookings
from ganglion.server.requests.context import Document, Here, document_body
from ganglion.server.rest import etags
from ganglion.server.rest.filters import BookingQuery, holds, leaves
from ganglion.server.rest.pages import Rank, cut
from ganglion.server.rest.problems import ERRORS, STALE
from ganglion.server.rest.sending import Routes
from ganglion.server.state.transaction import Transaction
from ganglion.server.views.cluster import booking_view
from ganglion.specs.policy.bookings import parse_booking

router = Routes(tags=["bookings"], responses=ERRORS)

Name = Annotated[str, Path(max_length=200)]


@router.get("/bookings")
def list_bookings(here: Here, query: Annotated[BookingQuery, Query()]) -> BookingPage:
    """List bookings by when they begin."""
    now = here.service.now()
    with here.service.read() as mind:
        every = [booking_view(each, now) for each in mind.state.timeline.bookings.all()]
    found = sorted((each for each in every if _takes(query, each)), key=_rank)
    shown, following = cut("bookings", found, _rank, query)
    return BookingPage(items=tuple(shown), next=following)


def _rank(each: BookingView) -> Rank:
    return (each.begin, each.name)


def _takes(query: BookingQuery, each: BookingView) -> bool:
    return (
        (not query.state or each.state in query.state)
        and (not query.queue or not leaves(query.queue).isdisjoint(each.queues))
        and (not query.user or not set(query.user).isdisjoint(each.users))
        and holds(query.text.lower(), each.name, each.reason, *each.nodes)
    )


@router.put(
    "/bookings/{name}",
    response_model=BookingView,
    responses=etags.CHANGED,
    openapi_extra=document_body("BookingFile"),
)
def set_booking(
    here: Here,
    name: Name,
    body: Document,
    if_match: etags.IfMatch = "",
    if_none_match: etags.IfNoneMatch = "",
) -> Response:
    """Make or change a booking; the body has the keys of a policy file's bookings."""
    if body.data.get("name", name) != name:
        raise FieldError(
            f"the path names booking {name}, the body another", key="name", hint="leave it out"
        )
    file, wrong = parse_booking({**body.data, "name": name})

    def command(draft: Transaction) -> Booking:
        present = bookings.there_are(draft.mind).get(name)
        etags.check(_tag(present), if_match, if_none_match, f"the booking {name}")
        return bookings.set_booking(draft, file, wrong)

    found = here.service.ask(command)
    return etags.answer(booking_view(found, here.service.now()), "", _tag(found))


def _tag(booking: Booking | None) -> str:
    """Of what a booking says, whatever the time is; empty = there is none."""
    if booking is None:
        return ""
    its = booking
    said = (its.nodes, its.begins_at, its.ends_at, its.queues, its.users, its.reason, its.clears)
    return etags.tag_of(said)


@router.delete("/bookings/{name}", responses=STALE)
def remove_booking(here: Here, name: Name, if_match: etags.IfMatch = "") -> Done:
    """Take a booking back."""

    def command(draft: Transaction) -> None:
        present = bookings.there_are(draft.mind).get(name)
        etags.check(_tag(present), if_match, "", f"the booking {name}")
        bookings.remove_booking(draft, name)

    here.service.ask(command)
    return Done()
