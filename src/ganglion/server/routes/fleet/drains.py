"""Routes for nodes and racks that are to be empty for maintenance."""

from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import Field

from ganglion.api.nodes import DrainPage, DrainView
from ganglion.api.server import Done
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.server.commands import drains
from ganglion.server.requests.context import Here
from ganglion.server.rest import etags
from ganglion.server.rest.filters import TextQuery, holds
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.pages import Rank, cut
from ganglion.server.rest.problems import ERRORS, STALE
from ganglion.server.rest.sending import Routes, sent
from ganglion.server.state.transaction import Transaction

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


@router.put("/drains/{what}", response_model=DrainView, responses=etags.CHANGED)
def drain_nodes(
    here: Here,
    what: What,
    wish: DrainWish,
    dry_run: Annotated[bool, Query(description="only say what would have to leave")] = False,
    if_none_match: etags.IfNoneMatch = "",
) -> Response:
    """Empty a node or domain: nothing new starts, what runs leaves after a checkpoint."""
    if dry_run:
        now = here.service.now()
        with here.service.read() as mind:
            return sent(drains.preview(mind.state, what, wish.by, wish.reason, now))

    def command(draft: Transaction) -> tuple[DrainView, str]:
        etags.check(_tag(draft.state, what), "", if_none_match, f"the drain of {what}")
        return drains.drain(draft, what, wish.by, wish.reason), _tag(draft.state, what)

    found, tag = here.service.ask(command)
    return etags.answer(found, "", tag)


def _tag(state: ClusterState, what: str) -> str:
    """Of what drains, by when and why; empty = it does not."""
    every = {each.name: each for each in drains.drains(state)}
    found = every.get(f"{drains.PREFIX}{what}")
    return etags.tag_of((found.nodes, found.begin, found.reason)) if found else ""


@router.delete("/drains/{what}", responses=STALE)
def undrain_nodes(here: Here, what: What, if_match: etags.IfMatch = "") -> Done:
    """Let its nodes take work again."""

    def command(draft: Transaction) -> None:
        etags.check(_tag(draft.state, what), if_match, "", f"the drain of {what}")
        drains.undrain(draft, what)

    here.service.ask(command)
    return Done()
