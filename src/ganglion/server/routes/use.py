"""Routes for present use, and for one node."""

from fastapi import APIRouter

from ganglion.server.commands.bookings import there_are
from ganglion.server.requests.context import Here
from ganglion.server.rest.problems import ERRORS
from ganglion.server.views.node import node_detail
from ganglion.server.views.use import measured, snapshot
from ganglion.server.wire import use as schemas_use

router = APIRouter(tags=["cluster"], responses=ERRORS)


@router.get("/use")
def use(here: Here) -> schemas_use.UsePage:
    """Say what gangs, users and GPUs use now; takes half a second if it was not asked before."""
    with here.service.read() as mind:
        found = snapshot(mind.state)
    return measured(found, here.home.root, here.uses, here.service.now())


@router.get("/nodes/{name}")
def show_node(here: Here, name: str) -> schemas_use.NodeDetail:
    """Say everything about a node: who is on it, what waits for it, how it takes work again."""
    with here.service.read() as mind:
        booked = there_are(mind)
        return node_detail(mind.state, name, mind.book.alarms, booked, here.service.now())
