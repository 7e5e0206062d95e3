"""Routes for maintenance windows and advance reservations."""

from typing import Annotated

from fastapi import APIRouter, Path

from ganglion.files.bookings import parse_booking
from ganglion.model.errors import FieldError
from ganglion.server import bookings, schemas
from ganglion.server.cluster_views import booking_view
from ganglion.server.context import Document, Here, document_body
from ganglion.server.problems import ERRORS

router = APIRouter(tags=["bookings"], responses=ERRORS)

Name = Annotated[str, Path(max_length=200)]


@router.get("/bookings")
def list_bookings(here: Here) -> schemas.BookingPage:
    """List bookings by when they begin."""
    now = here.service.now()
    with here.service.read() as mind:
        found = mind.state.bookings.all()
    return schemas.BookingPage(items=tuple(booking_view(each, now) for each in found))


@router.put("/bookings/{name}", openapi_extra=document_body("BookingFile"))
def set_booking(here: Here, name: Name, body: Document) -> schemas.BookingView:
    """Make or change a booking; the body has the keys of a policy file's bookings."""
    if body.data.get("name", name) != name:
        raise FieldError(
            f"the path names booking {name}, the body another", key="name", hint="leave it out"
        )
    file, wrong = parse_booking({**body.data, "name": name})
    found = here.service.ask(lambda draft: bookings.set_booking(draft, file, wrong))
    return booking_view(found, here.service.now())


@router.delete("/bookings/{name}")
def remove_booking(here: Here, name: Name) -> schemas.Done:
    """Take a booking back."""
    here.service.ask(lambda draft: bookings.remove_booking(draft, name))
    return schemas.Done()
