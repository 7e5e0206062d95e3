"""Routes for nodes and racks that are to be empty for maintenance."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from ganglion.api.nodes import DrainPage, DrainView
from ganglion.api.server import Done
from ganglion.server.commands import drains
from ganglion.server.requests.context import Here
from ganglion.server.rest.filters import TextQuery, holds
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.pages import Rank, cut
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes

router = Routes(tags=["nodes"], responses=ERRORS)

What = Annotated[str, Path(max_length=400)]


class DrainWish(Input):
    """How a node or domain is to be emptied."""

    by: int = Field(ge=0, le=1 << 53, description="when what is still there is stopped, in ms")
    reason: str = Field("maintenance", min_length=1, max_length=500)


@router.get("/drains")
def list_drains(here: Here, query: Annotated[TextQuery, Query()]) -> DrainPage:
    """List what drains, and what has not left yet."""
    now = here.service.now()
    with here.service.read() as mind:
        state = mind.state
        every = [drains.found(state, each.name, now) for each in drains.drains(state)]
    text = query.text.lower()
    found = sorted(
        (each for each in every if holds(text, each.what, each.reason, *each.nodes)), key=_rank
    )
    shown, following = cut("drains", found, _rank, query)
    return DrainPage(items=tuple(shown), next=following)


def _rank(each: DrainView) -> Rank:
    return (each.by, each.what)


@router.put("/drains/{what}")
def drain_nodes(
    here: Here,
    what: What,
    wish: DrainWish,
    dry_run: Annotated[bool, Query(description="only say what would have to leave")] = False,
) -> DrainView:
    """Empty a node or domain: nothing new starts, what runs leaves after a checkpoint."""
    if dry_run:
        now = here.service.now()
        with here.service.read() as mind:
            return drains.preview(mind.state, what, wish.by, wish.reason, now)
    return here.service.ask(lambda draft: drains.drain(draft, what, wish.by, wish.reason))


@router.delete("/drains/{what}")
def undrain_nodes(here: Here, what: What) -> Done:
    """Let its nodes take work again."""
    here.service.ask(lambda draft: drains.undrain(draft, what))
    return Done()
