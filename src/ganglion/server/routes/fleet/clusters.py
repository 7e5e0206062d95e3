"""Routes for schedulers of clusters, which deliver what they decide."""

from functools import partial
from typing import Annotated

import msgspec
from fastapi import Path, Request

from ganglion import __version__
from ganglion.api.events import ClusterDelivery, ClusterPage, DeliveryBatch, DeliveryPosition
from ganglion.lifecycle.clusters import CLUSTER_NAME, ClusterBook, place_of
from ganglion.model.errors import FieldError
from ganglion.server.delivered.receive import receive
from ganglion.server.requests.context import Here
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes

router = Routes(tags=["cluster"], responses=ERRORS)

Name = Annotated[str, Path(pattern=f"^{CLUSTER_NAME}$")]
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["scheduler"],
                    "additionalProperties": False,
                    "properties": {
                        "scheduler": {"type": "string", "minLength": 1, "maxLength": 64},
                        "records": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["number", "at"],
                                "properties": {
                                    "number": {"type": "integer", "minimum": 1},
                                    "at": {"type": "integer"},
                                    "covers": {"type": "integer", "minimum": 1},
                                    "facts": {"type": "array", "items": {"type": "object"}},
                                    "decisions": {"type": "array", "items": {"type": "object"}},
                                },
                            },
                        },
                    },
                }
            }
        },
    }
}
_DECODER = msgspec.json.Decoder(DeliveryBatch)
LONGEST_ID = 64


@router.get("/clusters")
def list_clusters(here: Here) -> ClusterPage:
    """List the clusters whose schedulers deliver what they decide, and how far that has come."""
    with here.service.read() as mind:
        found = [
            _shown(name, book)
            for name, book in sorted(mind.book.clusters.of.items())
            if here.caller.sees(place_of(name))
        ]
    return ClusterPage(tuple(found))


def _shown(name: str, book: ClusterBook) -> ClusterDelivery:
    return ClusterDelivery(
        name=name,
        scheduler=book.scheduler,
        version=book.version,
        heard=book.heard,
        position=book.positions.get(book.scheduler, 0),
        gangs=len(book.gangs),
        lost=book.lost,
    )


@router.post("/clusters/{name}/records", openapi_extra=_BODY)
async def deliver_records(here: Here, name: Name, request: Request) -> DeliveryPosition:
    """Take in records of a cluster's scheduler that follow those that came before.

    The answer is sent once they are in the ledger. Records that came before change nothing, and
    those after a missing one are left: send again from the position on.
    """
    batch = batch_of(await request.body())
    command = partial(receive, cluster=name, scheduler=batch.scheduler, records=batch.records)
    return DeliveryPosition(await here.service.answer(command))


def batch_of(body: bytes) -> DeliveryBatch:
    """Read a batch.

    Raises:
        FieldError: it is none, or has records that this version does not know.
    """
    try:
        found = _DECODER.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FieldError(
            str(error),
            key="records",
            hint=f"this server has version {__version__}: is the scheduler newer?",
        ) from error
    if not found.scheduler or len(found.scheduler) > LONGEST_ID:
        raise FieldError(f"must have 1 to {LONGEST_ID} characters", key="scheduler")
    wrong = next((each for each in found.records if each.covers < 1 or each.first < 1), None)
    if wrong:
        raise FieldError(f"record {wrong.number} covers {wrong.covers} numbers", key="records")
    return found
