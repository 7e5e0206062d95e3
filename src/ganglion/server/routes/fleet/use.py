"""Routes for present use, for one node, and for who holds nodes over time."""

from typing import Annotated

from fastapi import Query

from ganglion.api.past.timeline import TimelinePage
from ganglion.api.use import NodeDetail, UsePage
from ganglion.server.commands.bookings import there_are
from ganglion.server.requests.context import Here
from ganglion.server.rest.filters import When, past_period
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.views.node import node_detail
from ganglion.server.views.past.timeline import timeline, timeline_present
from ganglion.server.views.use import measured, snapshot

router = Routes(tags=["cluster"], responses=ERRORS)


@router.get("/use")
def use(here: Here) -> UsePage:
    """Say what gangs, users and GPUs use now; takes half a second if it was not asked before."""
    with here.service.read() as mind:
        found = snapshot(mind.state)
    return measured(found, here.home.root, here.uses, here.service.now())


@router.get("/nodes/{name}")
def show_node(here: Here, name: str) -> NodeDetail:
    """Say everything about a node: who is on it, what waits for it, how it takes work again."""
    with here.service.read() as mind:
        away = None if name in mind.state.fleet.nodes else here.cluster_nodes(mind).called(name)
        if away:
            return away.detail()
        booked = there_are(mind)
        return node_detail(mind.state, name, mind.book.alarms, booked, here.service.now())


@router.get("/timeline")
def show_timeline(
    here: Here,
    since: Annotated[When, Query(description="begin of the past: `24h` ago, or a time")] = "24h",
    until: Annotated[When, Query(description="its end, written as `since`; empty = now")] = "",
) -> TimelinePage:
    """Say which gangs held nodes in a period, hold them now, and are to hold them.

    Bookings and drains are lists of their own.
    """
    now = here.service.now()
    period = past_period(since, until, now)
    with here.service.read() as mind:
        found = timeline_present(mind, here.service.ledger, now)
    return timeline(here.service.ledger, found, *period)
