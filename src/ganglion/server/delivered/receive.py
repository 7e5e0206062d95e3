"""Taking records of a cluster in: each once, in the order of its scheduler."""

from collections.abc import Iterator, Sequence

from ganglion.lifecycle.clusters import UNSEEN, ClusterBook
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    DeliveryRecord,
    GangEnded,
    Outcome,
    RecordLoss,
    RecordsLost,
    SchedulerSettled,
    SchedulerStarted,
)
from ganglion.model.events.clusters import following
from ganglion.server.state.transaction import Transaction

GONE = "it was gone when scheduler {} looked: what became of it was seen by none"


def receive(
    draft: Transaction, cluster: str, scheduler: str, records: Sequence[DeliveryRecord]
) -> int:
    """Take in the records that are new and follow without a gap; others change nothing.

    Args:
        draft: the open turn.
        cluster: name under which the scheduler delivers.
        scheduler: its id.
        records: in any order; those that are known already are passed over.

    Returns:
        number of the last record of the scheduler that is in the ledger once the turn is written.
    """
    book = _book(draft, cluster)
    taken, position = following(tuple(records), book.positions.get(scheduler, 0))
    for record in taken:
        for event, decision in _events(record):
            for each in _with_conclusions(_book(draft, cluster), scheduler, event):
                made = DeliveredEvent(draft.now, cluster, scheduler, record.number, each, decision)
                draft.record(made)
    return position


def _book(draft: Transaction, cluster: str) -> ClusterBook:
    return draft.book.clusters.of.get(cluster) or ClusterBook()


def _events(record: DeliveryRecord) -> Iterator[tuple[Delivered, bool]]:
    yield from ((each, False) for each in record.facts)
    yield from ((each, True) for each in record.decisions)


def _with_conclusions(book: ClusterBook, scheduler: str, event: Delivered) -> Iterator[Delivered]:
    """An event, and what only the server can conclude from it."""
    if isinstance(event, SchedulerStarted):
        for other in book.unaccounted(scheduler, event.follows):
            yield RecordsLost(event.at, RecordLoss.UNKNOWN, scheduler=other)
    yield event
    if isinstance(event, SchedulerSettled) and scheduler == book.scheduler:
        for each in book.gone():
            yield GangEnded(
                event.at,
                each.gang.id,
                each.number,
                Outcome.CANCELLED,
                message=GONE.format(scheduler),
                cause=UNSEEN,
            )
