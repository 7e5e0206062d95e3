"""Routes of services: how many replicas, and how they are reached."""

from typing import Annotated

from pydantic import Field

from ganglion.api.workloads import Opening, WorkloadDetail
from ganglion.model.errors import Conflict, FieldError
from ganglion.server.commands.scale import MOST_REPLICAS, ReplicaSpan, scale
from ganglion.server.requests.context import Here
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.routes.workloads import shown
from ganglion.specs.grammar.ranges import parse_span

router = Routes(tags=["workloads"], responses=ERRORS)


class Scale(Input):
    """How many replicas there should be."""

    replicas: (
        Annotated[int, Field(strict=True, ge=0, le=MOST_REPLICAS)]
        | Annotated[str, Field(max_length=100)]
    ) = Field(description="a number, or a new floor and ceiling: `2..8`")


@router.post("/workloads/{ref:ref}/scale")
def scale_service(here: Here, ref: str, wanted: Scale) -> WorkloadDetail:
    """Give a service another number of replicas, or another floor and ceiling."""
    span = _span(wanted.replicas)
    return shown(here, here.service.ask(lambda draft: scale(draft, ref, span, here.user)))


@router.post("/workloads/{ref:ref}/open")
def open_service(here: Here, ref: str) -> Opening:
    """Make an address that lets one browser in to a service or workspace, once."""
    found = shown(here, ref)
    if not found.url:
        if trouble := here.door_trouble():
            raise Conflict(
                f"{found.id} has no address: {trouble}",
                "free the port, or: ganglion down, then ganglion up --services-port PORT",
            )
        raise Conflict(
            f"{found.id} is not reached by the router", "give it a `port`, and see that it runs"
        )
    with here.service.read() as mind:
        access = mind.book.entries[found.id].workload.access
    url, token = here.keys.opened(found.id, found.url, access)
    return Opening(url=url, token=token)


def _span(replicas: int | str) -> ReplicaSpan:
    try:
        found = parse_span(replicas, MOST_REPLICAS, least=0)
    except FieldError as error:
        raise FieldError(error.problem, key="replicas", hint=error.hint) from error
    is_range = isinstance(replicas, str) and ".." in replicas
    return ReplicaSpan(found.low, found.high if is_range else None)
