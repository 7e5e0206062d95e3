"""The workloads that ever were."""

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Engine, Row, Select, and_, bindparam, func, or_, select

from ganglion.ledger.records import Changed, Ended, Filed, Submitted
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.tables import workloads
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.model.workload import Kind, Workload

MOST_MS = 1 << 62
"""Later than any time."""

MOST_NAME = 190
"""Longest name of a workload of a cluster; its id adds its number."""

TRIMMED = b"{}"
"""Document of a workload of which only what lists show is kept."""
UNLISTED = ("time_limit_ms", "submitted_limit_ms", "url", "use", "scaling", "sessions")
"""Keys of what there is to show about a workload that lists do not show."""

_DECODE = msgspec.json.Decoder(Workload)


def trimmed(detail: bytes) -> bytes:
    """What lists show of an ended workload, out of everything there was to show about it."""
    try:
        shown = msgspec.json.decode(detail, type=dict[str, msgspec.Raw])
        count = len(msgspec.json.decode(shown["gangs"], type=list[msgspec.Raw]))
    except (msgspec.MsgspecError, ValueError, KeyError):
        return detail
    for key in UNLISTED:
        shown.pop(key, None)
    shown |= {"gangs": msgspec.Raw(b"[]"), "document": msgspec.Raw(TRIMMED)}
    return msgspec.json.encode({**shown, "count": count})


# Every submit asks this, and to make the statement takes longer than to ask.
_OF_KEYS = select(workloads.c.request_key, workloads.c.number).where(
    workloads.c.request_key.in_(bindparam("keys", expanding=True))
)


class WantedWorkloads(Struct, frozen=True):
    """Which ended workloads to list.

    Attributes:
        since, until: they ended at or after, and before this time in ms; `until` 0 = now.
        states: states that they ended in; empty = any.
        equal: values that columns (`queue`, `user`, `kind`) must have.
        name: pattern of the name, in which `*` is any text and `?` any character.
    """

    since: int = 0
    until: int = 0
    states: tuple[str, ...] = ()
    equal: Mapping[str, str] = {}
    name: str = ""


class WorkloadHistory:
    """Reads workloads; safe from any thread. Every call may raise `EnvironmentFault`."""

    def __init__(self, engine: Engine, where: str, pinned: Connection | None = None) -> None:
        self._engine, self._where, self._pinned = engine, where, pinned

    def live(self) -> list[Filed]:
        """All that have not ended, oldest first."""
        return self._read(
            select(workloads).where(workloads.c.ended.is_(None)).order_by(workloads.c.number)
        )

    def ended(
        self,
        *,
        below: int,
        limit: int,
        since: int = 0,
        until: int = MOST_MS,
        text: str = "",
        **among: Collection[str],
    ) -> list[Filed]:
        """Ended workloads, newest first.

        Args:
            below: only those with a smaller number.
            limit: most workloads.
            since: first time of submission, in ms.
            until: last time of submission, in ms.
            text: in small letters; part of the id, name, queue or user.
            among: values of which columns (`state`, `queue`, `user`, `kind`) must have one.
        """
        found = select(workloads).where(workloads.c.ended.is_not(None))
        found = found.where(workloads.c.number < below)
        if since or until < MOST_MS:
            found = found.where(workloads.c.at.between(since, until))
        if text:
            parts = (func.lower(workloads.c[each]) for each in ("id", "name", "queue", "user"))
            found = found.where(or_(*(part.contains(text, autoescape=True) for part in parts)))
        for column, values in among.items():
            found = found.where(workloads.c[column].in_(sorted(values)))
        return self._read(found.order_by(workloads.c.number.desc()).limit(limit))

    def page(
        self, wanted: "WantedWorkloads", after: tuple[int, int] | None, limit: int
    ) -> list[Filed]:
        """Ended workloads by their end, the last first.

        Args:
            wanted: which.
            after: end and number of the last workload of the page before; None = the first page.
            limit: most workloads.
        """
        table = workloads.c
        found = select(workloads).where(table.ended.is_not(None), table.ended >= wanted.since)
        found = found.where(table.ended < wanted.until) if wanted.until else found
        if wanted.states:
            found = found.where(table.state.in_(wanted.states))
        for column, value in wanted.equal.items():
            found = found.where(table[column] == value)
        if wanted.name:
            found = found.where(table.name.like(_like(wanted.name), escape="\\"))
        if after:
            at, number = after
            found = found.where(
                or_(table.ended < at, and_(table.ended == at, table.number < number))
            )
        return self._read(found.order_by(table.ended.desc(), table.number.desc()).limit(limit))

    def by_id(self, workload: str) -> Filed | None:
        """The workload of that id."""
        return self._one(select(workloads).where(workloads.c.id == workload))

    def by_requests(self, keys: Collection[str]) -> dict[str, Filed]:
        """The workloads that requests with these idempotency keys made, by key."""
        with faults(self._where), self._engine.connect() as connection:
            found = connection.execute(_OF_KEYS, {"keys": sorted(keys)})
            numbers = {row.number: row.request_key for row in found}
        if not numbers:
            return {}
        made = self._read(select(workloads).where(workloads.c.number.in_(sorted(numbers))))
        return {numbers[each.number]: each for each in made}

    def latest(self, name: str) -> Filed | None:
        """The newest workload of that name."""
        named = select(workloads).where(workloads.c.name == name)
        return self._one(named.order_by(workloads.c.number.desc()))

    def metered_as(self, keys: Collection[str]) -> dict[str, Filed]:
        """The newest workload that is each key in usage, as `east:lab/Job/train/7f`.

        One of the parts of such a key is the name of the workload, by which rows are found.
        """
        if not keys:
            return {}
        parts = (each.partition(CLUSTER_SIGN)[2].split("/") for each in keys)
        names = {each[:MOST_NAME] for some in parts for each in some}
        named = select(workloads).where(workloads.c.name.in_(sorted(names)))
        found = named.where(workloads.c.metered.in_(sorted(keys)))
        return {each.metered: each for each in self._read(found.order_by(workloads.c.number))}

    def starting_with(self, prefix: str, limit: int = 5) -> list[Filed]:
        """Workloads whose id begins so, newest first."""
        found = select(workloads).where(workloads.c.id.startswith(prefix, autoescape=True))
        return self._read(found.order_by(workloads.c.number.desc()).limit(limit))

    def _one(self, query: Select[Any]) -> Filed | None:
        found = self._read(query.limit(1))
        return found[0] if found else None

    def _read(self, query: Select[Any]) -> list[Filed]:
        with faults(self._where):
            if self._pinned:
                return [_filed(row) for row in self._pinned.execute(query)]
            with self._engine.connect() as connection:
                rows = connection.execute(query).all()
        return [_filed(row) for row in rows]


def _like(pattern: str) -> str:
    """A glob as the pattern of LIKE."""
    escaped = re.sub(r"([\\%_])", r"\\\1", pattern)
    return escaped.replace("*", "%").replace("?", "_")


def _filed(row: Row[Any]) -> Filed:
    """A row as it lies there; what cannot be read of it is made up, and named in `flaw`."""
    flaw, (name, queue, user) = "", (str(each or "") for each in (row.name, row.queue, row.user))
    try:
        workload = _DECODE.decode(_bytes(row.body))
        _check(row)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        kind = Kind(row.kind) if row.kind in tuple(Kind) else Kind.TRAIN
        workload = Workload(name, kind=kind, queue=queue, user=user)
        flaw = f"the row of workload {row.id} cannot be read: {error}"
    return Filed(
        id=str(row.id),
        number=_int(row.number),
        name=name,
        at=_int(row.at),
        document=_bytes(row.document),
        workload=workload,
        request_hash=str(row.request_hash),
        ended=None if row.ended is None else _int(row.ended),
        state=str(row.state),
        detail=_bytes(row.detail),
        flaw=flaw,
        metered=str(row.metered or ""),
    )


def _check(row: Row[Any]) -> None:
    """Raises TypeError, MsgspecError: a column holds something else than it should."""
    if not (isinstance(row.number, int) and isinstance(row.at, int)):
        raise TypeError("its number or time is no number")
    if row.ended is None:
        msgspec.json.decode(_bytes(row.document), type=dict[str, msgspec.Raw])


def _bytes(value: object) -> bytes:
    """A manual edit may have left text where bytes belong."""
    return value if isinstance(value, bytes) else str(value or "").encode()


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def row_of(new: Submitted) -> dict[str, Any]:
    """The row of a workload that enters."""
    return {
        "number": new.number,
        "id": new.id,
        "name": new.workload.name,
        "at": new.at,
        "user": new.workload.user,
        "kind": new.workload.kind.value,
        "document": new.document,
        "request_key": new.request_key,
        "request_hash": new.request_hash,
        "metered": new.metered,
        "first_at": new.first_at,
        "first_milli": new.first_milli,
        "ended": None,
        "state": "",
        "detail": b"",
        **columns_of(Changed(new.id, new.workload)),
    }


def columns_of(change: Changed) -> dict[str, Any]:
    """What changes in the row of a live workload."""
    return {"queue": change.workload.queue, "body": msgspec.json.encode(change.workload)}


def ending_of(end: Ended) -> dict[str, Any]:
    """What changes in the row of a workload that is over."""
    return {"ended": end.at, "state": end.state, "detail": end.detail}
