"""Who was stopped, or made smaller, for whom: read from the causes of events."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from sqlalchemy import LargeBinary, cast, select

from ganglion.ledger.codec import UNREADABLE, decoded
from ganglion.ledger.reader import Reader
from ganglion.ledger.sql.tables import STOPS, events, usage, workloads
from ganglion.metering.intervals import UsageInterval
from ganglion.model.causes import RECLAIMS, CauseKind
from ganglion.model.events import GangResized, GangStopping

AT_ONCE = 500
"""Names in one statement."""


class Reclaim(Struct, frozen=True):
    """One attempt that was stopped, or made smaller, for a gang of another queue.

    Attributes:
        at: when it was asked to, in ms.
        cause: the kind of its cause.
        gang, attempt: whose attempt it was.
        asker: id of the gang for whose sake.
        kept_milli: thousandths of GPUs that it went on with; 0 = it was stopped.
    """

    at: int
    cause: CauseKind
    gang: str
    attempt: int
    asker: str
    kept_milli: int = 0


class ReclaimsFound(Struct, frozen=True):
    """What was found.

    Attributes:
        items: the newest first.
        cut: whether there were more stops than are read; then the oldest are missing.
    """

    items: tuple[Reclaim, ...]
    cut: bool


def reclaims(reader: Reader, period: tuple[int, int], most: int) -> ReclaimsFound:
    """Attempts that were stopped or made smaller in a period, for other queues.

    Args:
        reader: of the ledger.
        period: its begin and end, in ms.
        most: stops and resizes that are looked at, the newest, whatever their causes.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    body = cast(events.c.body, LargeBinary)
    found = select(body).where(STOPS, events.c.at.between(*period))
    rows = reader.rows(found.order_by(events.c.at.desc(), events.c.seq.desc()).limit(most + 1))
    return ReclaimsFound(
        tuple(each for (raw,) in rows[:most] for each in _reclaim(raw or b"")), len(rows) > most
    )


def _reclaim(raw: bytes) -> Iterator[Reclaim]:
    try:
        event = decoded(raw)
    except UNREADABLE:
        return  # an audit names it
    if not isinstance(event, GangStopping | GangResized):
        return
    cause = event.cause
    if cause is None or cause.kind not in RECLAIMS or not cause.gang:
        return
    kept = 0
    if isinstance(event, GangResized):
        kept = sum(pod.milli * len(pod.devices) for pod in event.placement.pods)
    yield Reclaim(event.at, cause.kind, event.gang, event.attempt, cause.gang, kept)


def held_before(
    reader: Reader, stops: Sequence[Reclaim], still: Iterable[UsageInterval]
) -> dict[Reclaim, int]:
    """Thousandths of GPUs that attempts wanted just before they were asked; unknown ones not.

    Args:
        reader: of the ledger.
        stops: of the attempts.
        still: what is open, noted before the ledger is read.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    spans = dict[tuple[str, int], dict[tuple[str, int], tuple[int, int]]]()
    wanted = {(each.gang, each.attempt) for each in stops}
    for each in still:
        if (each.gang, each.attempt) in wanted:
            place = spans.setdefault((each.gang, each.attempt), {})
            place[each.node, each.begin_ms] = each.end_ms, each.requested_milli
    table, since = usage.c, min((each.at for each in stops), default=0)
    columns = (table.gang, table.attempt, table.node, table.begin_ms, table.end_ms)
    for names in _some(sorted({workload_of(each.gang) for each in stops})):
        found = select(*columns, table.requested_milli)
        found = found.where(table.workload.in_(names), table.end_ms >= since)
        for gang, attempt, node, begin, end, milli in reader.rows(found):
            if (gang, attempt) in wanted:
                spans.setdefault((gang, attempt), {})[node, begin] = end, milli
    before = {
        stop: [
            milli
            for (_, begin), (end, milli) in spans.get((stop.gang, stop.attempt), {}).items()
            if begin < stop.at <= end
        ]
        for stop in stops
    }
    return {stop: sum(held) for stop, held in before.items() if held}


def queues_of_ended(reader: Reader, ids: Sequence[str]) -> dict[str, str]:
    """The queues of workloads that were filed, by id.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    found = dict[str, str]()
    for names in _some(ids):
        query = select(workloads.c.id, workloads.c.queue).where(workloads.c.id.in_(names))
        found.update((key, queue) for key, queue in reader.rows(query))
    return found


def workload_of(gang: str) -> str:
    """Id of the workload of a gang."""
    return gang.rpartition("/")[0] or gang


def _some(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for low in range(0, len(names), AT_ONCE):
        yield names[low : low + AT_ONCE]
