"""Routes for maintenance windows and advance reservations."""

from typing import Annotated

from fastapi import Path, Query

from ganglion.api.policies import BookingPage, BookingView
from ganglion.api.server import Done
from ganglion.model.errors import FieldError
from ganglion.server.commands import bookings
from ganglion.server.requests.context import Document, Here, document_body
from ganglion.server.rest.filters import BookingQuery, holds, leaves
from ganglion.server.rest.pages import Rank, cut
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
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


@router.put("/bookings/{name}", openapi_extra=document_body("BookingFile"))
def set_booking(here: Here, name: Name, body: Document) -> BookingView:
    """Make or change a booking; the body has the keys of a policy file's bookings."""
    if body.data.get("name", name) != name:
        raise FieldError(
            f"the path names booking {name}, the body another", key="name", hint="leave it out"
        )
    file, wrong = parse_booking({**body.data, "name": name})
    found = here.service.ask(lambda draft: bookings.set_booking(draft, file, wrong))
    return booking_view(found, here.service.now())


@router.delete("/bookings/{name}")
def remove_booking(here: Here, name: Name) -> Done:
    """Take a booking back."""
    here.service.ask(lambda draft: bookings.remove_booking(draft, name))
    return Done()
