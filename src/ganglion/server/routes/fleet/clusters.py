"""Routes for schedulers of clusters, which deliver what they decide."""

from functools import partial
from typing import Annotated

import anyio
import msgspec
from fastapi import Path, Query, Request

from ganglion import __version__
from ganglion.api.events import ClusterDelivery, ClusterPage, DeliveryBatch, DeliveryPosition
from ganglion.lifecycle.budgets import ALARMS, QUEUES, decide, subject_of
from ganglion.lifecycle.clusters import CLUSTER_NAME, ClusterBook, cluster_of, place_of
from ganglion.model.errors import FieldError
from ganglion.model.events import AlarmSet
from ganglion.model.events.policy import ClusterMoney
from ganglion.server.delivered.queues import cluster_queues
from ganglion.server.delivered.receive import receive
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.state.transaction import Transaction
from ganglion.server.views.budgets import (
    away_views,
    begin_month,
    begun_months,
    money_of,
    note_away,
)

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
def list_clusters(
    here: Here, queues: Annotated[bool, Query(description="their queues as well")] = False
) -> ClusterPage:
    """List the clusters whose schedulers deliver what they decide, and how far that has come."""
    with here.service.read() as mind:
        found = [
            _shown(name, book, here.contacts.silent_since(name, book, here.service.now()), queues)
            for name, book in sorted(mind.book.clusters.of.items())
            if here.caller.sees(place_of(name))
        ]
    return ClusterPage(tuple(found))


def _shown(name: str, book: ClusterBook, silent_since: int, queues: bool) -> ClusterDelivery:
    return ClusterDelivery(
        name=name,
        scheduler=book.scheduler,
        version=book.version,
        heard=book.heard,
        position=book.positions.get(book.scheduler, 0),
        gangs=len(book.gangs),
        lost=book.lost,
        silent_since=silent_since,
        queues=cluster_queues(name, book) if queues else (),
    )


@router.post("/clusters/{name}/records", openapi_extra=_BODY)
async def deliver_records(here: Here, name: Name, request: Request) -> DeliveryPosition:
    """Take in records of a cluster's scheduler that follow those that came before.

    The answer is sent once they are in the ledger. Records that came before change nothing, and
    those after a missing one are left: send again from the position on. Where none are sent, the
    answer has the prices, and how the budgets of the cluster stand.
    """
    batch = batch_of(await request.body())
    command = partial(receive, cluster=name, scheduler=batch.scheduler, records=batch.records)
    position = await here.service.answer(command)
    here.contacts.note(name, batch.scheduler, here.service.now())
    money = None if batch.records else await anyio.to_thread.run_sync(_money, here, name)
    return DeliveryPosition(position, msgspec.to_builtins(money))


def _money(here: ServerContext, cluster: str) -> ClusterMoney:
    """What the scheduler is to keep; who is to be notified of a threshold is."""
    service = here.service
    with service.read() as mind:
        noted = note_away(mind, service.ledger, service.now(), cluster)
        standing = {
            key: each.message
            for key, each in mind.book.alarms.items()
            if key[1].startswith(ALARMS) and cluster_of(key[0].removeprefix(QUEUES)) == cluster
        }
    views, wanted = away_views(service.ledger, noted), dict[tuple[str, str], str]()
    for view in views:
        subject, alarms = subject_of(view.budget.queue), decide(view, None, noted.now, ()).alarms
        wanted |= {(subject, alarm): said for alarm, said in alarms.items()}
    months = begun_months(noted, views)
    changed = [key for key in {**standing, **wanted} if wanted.get(key) != standing.get(key)]

    def notify(draft: Transaction) -> None:
        for view in months:
            begin_month(draft, view)
        for key in changed:
            news = AlarmSet(draft.now, *key, wanted.get(key, ""))
            if draft.book.is_news(news):
                draft.record(news)

    if changed or months:
        service.ask(notify)
    return money_of(noted, views)


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
