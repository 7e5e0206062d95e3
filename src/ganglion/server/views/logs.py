"""The log of one rank of one attempt: whole, its end, or as it grows."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio

from ganglion.engine.gangs.record import WAITING
from ganglion.ledger.records import Filed
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.plan import Phase
from ganglion.model.workload import Kind
from ganglion.server.state.feed import Feed
from ganglion.server.state.refs import resolve
from ganglion.server.state.transaction import Mind
from ganglion.server.views.workloads import filed_detail, ranks_of
from ganglion.worlds.local.run_files.logs import ranks, stream
from ganglion.worlds.local.run_files.retention import FILE as RETENTION
from ganglion.worlds.local.run_files.retention import pruned

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

WAIT_S = 1.0
"""How often at least a gang is looked at whose start is waited for."""


class Which(NamedTuple):
    """One attempt of one gang.

    Attributes:
        gang: its id.
        attempt: its number; 0 = it has not begun.
        over: whether nothing more will be written.
    """

    gang: str
    attempt: int
    over: bool


class WantedLog(NamedTuple):
    """Which log a request wants.

    Attributes:
        ref: id, name or unique prefix, with `/index` for one gang.
        gang: its index; None = the one in `ref`, or the first.
        rank: the process.
        previous: whether the attempt before the present one is meant.
    """

    ref: str
    gang: int | None = None
    rank: int = 0
    previous: bool = False


def which(mind: Mind, ledger: "Ledger", wanted: WantedLog) -> Which:
    """Find the attempt that a request means.

    Raises:
        NotFound: there is no such workload, gang, rank or attempt.
        Conflict: the reference is ambiguous.
    """
    found = resolve(mind, ledger, wanted.ref)
    index = found.gang if wanted.gang is None else wanted.gang
    gang = _filed(found.filed, index) if found.filed else _live(mind, found.workload, index)
    if wanted.rank >= gang.ranks:
        raise NotFound(
            f"{gang.id} has no rank {wanted.rank}", f"its ranks are 0 to {gang.ranks - 1}"
        )
    if wanted.previous and gang.attempt < 2:
        raise NotFound(f"{gang.id} has no attempt before this one", "leave `previous` out")
    if wanted.previous:
        return Which(gang.id, gang.attempt - 1, over=True)
    waits_again = gang.phase in WAITING and gang.attempt > 0
    return Which(gang.id, gang.attempt, over=waits_again or gang.phase == Phase.ENDED)


class _Gang(NamedTuple):
    id: str
    attempt: int
    ranks: int
    phase: str


def _filed(filed: Filed, index: int | None) -> _Gang:
    gangs = filed_detail(filed).gangs
    gang = next((each for each in gangs if index in (None, each.index)), None)
    if gang is None:
        raise NotFound(f"{filed.id} has no gang {index}", f"it had {len(gangs)}, from 0")
    return _Gang(gang.id, gang.attempt, gang.ranks, gang.phase)


def _live(mind: Mind, workload: str, index: int | None) -> _Gang:
    gangs = mind.book.gangs[workload]
    gang = _oldest(mind, gangs) if index is None else mind.book.gang(workload, index)
    record = mind.state.gangs.records[gang]
    return _Gang(gang, record.attempt, ranks_of(record.gang), record.phase)


def _oldest(mind: Mind, gangs: list[str]) -> str:
    """The first gang; of a service the first that has not been ended for another."""
    kept = (each for each in gangs if mind.state.gangs.records[each].phase is not Phase.ENDED)
    is_service = mind.state.gangs.records[gangs[0]].gang.kind is Kind.SERVICE
    return next(kept, gangs[0]) if is_service else gangs[0]


def check(found: Which, *, follow: bool) -> None:
    """There is a log, or there will be one.

    Raises:
        NotFound: there never will be.
        Conflict: not yet, and it is not to be waited for.
    """
    if found.attempt:
        return
    if found.over:
        raise NotFound(f"{found.gang} ended before it started and has no log")
    if not follow:
        raise Conflict(
            f"{found.gang} has not started yet",
            f"see why: ganglion why {found.gang}; to wait for it, follow the log",
        )


async def followed(
    home: Path, look: Callable[[], Which], feed: Feed, rank: int, tail: int | None, since_ms: int
) -> AsyncIterator[bytes]:
    """The log of an attempt as it grows, until the attempt is over.

    Args:
        home: Ganglion's home directory.
        look: the attempt as it is now.
        feed: wakes it when something happened.
        rank: the process.
        tail: begin with this number of last lines; None = with the first.
        since_ms: begin with what was written about then.
    """
    head, now = feed.head, await anyio.to_thread.run_sync(look)
    while not now.attempt and not now.over and not feed.closing:
        await feed.wait(head, WAIT_S)
        head, now = feed.head, await anyio.to_thread.run_sync(look)
    if not now.attempt:
        return

    seen, over = -1, False

    def ended() -> bool:
        nonlocal seen, over
        if feed.head != seen:
            seen, latest = feed.head, look()
            over = latest.over or latest.attempt != now.attempt
        return over or feed.closing

    async for piece in stream(
        home, now.gang, now.attempt, rank=rank, tail=tail, since_ms=since_ms, ended=ended
    ):
        yield piece


def copied(
    home: Path, found: Which, rank: int, tail: int | None, since_ms: int
) -> AsyncIterator[bytes]:
    """The log of an attempt as it is now; nothing when its processes never came to write.

    Raises:
        NotFound: it was removed, by the rule that the message names.
    """
    if rank not in ranks(home, found.gang, found.attempt):
        why = pruned(home, found.gang, found.attempt)
        if why:
            raise NotFound(why, f"what is kept: {home / RETENTION}")
        return _nothing()
    return stream(home, found.gang, found.attempt, rank=rank, tail=tail, since_ms=since_ms)


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
