"""Routes for legal holds."""

from typing import Annotated

from fastapi import Path
from pydantic import Field

from ganglion.api.access import HoldPage, HoldView
from ganglion.api.server import Done
from ganglion.model.events import HoldPlaced
from ganglion.server.commands import holds
from ganglion.server.requests.context import Here
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes

router = Routes(tags=["audit"], responses=ERRORS)

Hold = Annotated[str, Path(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]

LATEST_MS = (1 << 53) - 1
"""Every number of JSON up to this one is exact."""


class HoldWish(Input):
    """A legal hold that is to be placed."""

    since: int = Field(0, ge=0, le=LATEST_MS, description="from when on events stay, in ms")
    reason: str = Field(min_length=1, max_length=1000, description="why, as the name of a case")


@router.get("/holds")
def list_holds(here: Here) -> HoldPage:
    """List legal holds that were not released, the oldest first."""
    with here.service.read() as mind:
        every = sorted(mind.book.rights.holds.values(), key=lambda each: (each.at, each.name))
    return HoldPage(items=tuple(map(_shown, every)))


@router.put("/holds/{hold}")
def place_hold(here: Here, hold: Hold, wish: HoldWish) -> HoldView:
    """Place a legal hold: until its release no event of its time leaves the ledger."""
    made = here.service.ask(
        lambda draft: holds.place(draft, hold, wish.since, wish.reason, here.user)
    )
    return _shown(made)


@router.delete("/holds/{hold}")
def release_hold(here: Here, hold: Hold) -> Done:
    """Release a legal hold; what it kept leaves the ledger as the rule of retention says."""
    here.service.ask(lambda draft: holds.release(draft, hold, here.user))
    return Done()


def _shown(event: HoldPlaced) -> HoldView:
    return HoldView(event.name, event.since_ms, event.reason, event.by, event.at)
