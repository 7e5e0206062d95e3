"""Who was stopped, or made smaller, for whom: read from the causes of events."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from sqlalchemy import LargeBinary, cast, func, select

from ganglion.ledger.codec import UNREADABLE, decoded
from ganglion.ledger.reader import Reader
from ganglion.ledger.sql.tables import STOPS, events, usage, workloads
from ganglion.model.causes import CauseKind
from ganglion.model.events import GangResized, GangStopping

RECLAIMS = frozenset({CauseKind.RECLAIMED, CauseKind.RECLAIMED_BORROWING, CauseKind.SHARED})
"""Causes for which queues take from one another."""
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


def held_before(reader: Reader, stops: Sequence[Reclaim]) -> dict[Reclaim, int]:
    """Thousandths of GPUs that attempts wanted just before they were asked; unknown ones not.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    table, spans = usage.c, dict[tuple[str, int], list[tuple[int, int, int]]]()
    since = min((each.at for each in stops), default=0)
    for names in _some(sorted({workload_of(each.gang) for each in stops})):
        columns = (table.gang, table.attempt, table.begin_ms, table.end_ms)
        rows = (
            select(*columns, func.sum(table.requested_milli))
            .where(table.workload.in_(names), table.end_ms >= since)
            .group_by(*columns)
        )
        for gang, attempt, begin, end, milli in reader.rows(rows):
            spans.setdefault((gang, attempt), []).append((begin, end, int(milli)))
    found = {}
    for each in stops:
        known = spans.get((each.gang, each.attempt), [])
        before = [milli for begin, end, milli in known if begin < each.at <= end]
        if before:
            found[each] = sum(before)
    return found


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
