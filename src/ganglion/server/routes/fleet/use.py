"""Routes for present use, and for one node."""

from ganglion.api.use import NodeDetail, UsePage
from ganglion.server.commands.bookings import there_are
from ganglion.server.requests.context import Here
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.views.node import node_detail
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
        booked = there_are(mind)
        return node_detail(mind.state, name, mind.book.alarms, booked, here.service.now())
