"""Which pod a caller means, and the way of messages between its WebSocket and that pod."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from starlette.websockets import WebSocket, WebSocketDisconnect

from ganglion.engine.record import HOLDING, GangRecord
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.plan import Phase
from ganglion.server.draft import Mind
from ganglion.server.refs import resolve
from ganglion.worlds.local.frames import framed
from ganglion.worlds.local.reaching import Ends, receive

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

MOST_RUNNING = "it has to run; see why it does not: ganglion why"


class Seat(NamedTuple):
    """One pod of an attempt that is there."""

    gang: str
    attempt: int
    pod: int


class Asked(Struct, forbid_unknown_fields=True):
    """What a caller wants to run; the first message of `exec`.

    Attributes:
        command: argument vector.
        tty: whether it has a terminal.
        term: sort of terminal.
        rows, columns: its size.
    """

    command: list[str]
    tty: bool = False
    term: str = "dumb"
    rows: int = 24
    columns: int = 80


def seat_of(
    mind: Mind, ledger: "Ledger", ref: str, *, pod: int | None = None, index: int | None = None
) -> Seat:
    """Find the pod that a request means.

    Args:
        mind: state and book.
        ledger: where ended workloads are looked up.
        ref: id, name or unique prefix, with `/index` for one gang.
        pod: number of the pod in its gang; None = 0.
        index: of the gang; None = the one in `ref`, or the first that runs.

    Raises:
        NotFound: there is no such workload, gang or pod.
        Conflict: it does not run.
    """
    found = resolve(mind, ledger, ref)
    if found.filed:
        raise Conflict(f"{found.workload} has ended, as {found.filed.state}", "see: ganglion ps")
    wanted = found.gang if index is None else index
    record = _gang(mind, found.workload, wanted)
    if record.phase not in HOLDING or record.placement is None:
        said = "waits" if record.phase is not Phase.ENDED else "has ended"
        raise Conflict(f"{record.gang.id} {said}: nothing of it runs", f"{MOST_RUNNING} {ref}")
    count = len(record.placement.pods)
    if pod is not None and pod >= count:
        raise NotFound(f"{record.gang.id} has no pod {pod}", f"its pods are 0 to {count - 1}")
    return Seat(record.gang.id, record.attempt, pod or 0)


def _gang(mind: Mind, workload: str, index: int | None) -> GangRecord:
    if index is not None:
        return mind.state.records[mind.book.gang(workload, index)]
    records = [mind.state.records[gang] for gang in mind.book.gangs[workload]]
    return next((each for each in records if each.phase in HOLDING), records[0])


async def relay(caller: WebSocket, ends: Ends) -> None:
    """Carry messages both ways until either side ends; then end the other."""
    reader, writer = ends
    onward = asyncio.create_task(_onward(caller, writer))
    back = asyncio.create_task(_back(reader, caller))
    try:
        await asyncio.wait((onward, back), return_when=asyncio.FIRST_COMPLETED)
        if onward.done() and onward.result():
            await back  # the pod takes no more, but may have had the last word
    finally:
        for task in (onward, back):
            task.cancel()
        await asyncio.gather(onward, back, return_exceptions=True)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # the caller left already
        await caller.close()


async def _onward(caller: WebSocket, writer: asyncio.StreamWriter) -> bool:
    """Hand on what the caller says; returns whether the pod takes no more, else the caller left."""
    try:
        while True:
            writer.write(framed(await _bytes(caller)))
            await writer.drain()
    except WebSocketDisconnect:
        return False
    except ConnectionError:
        return True


async def _bytes(caller: WebSocket) -> bytes:
    """The next message of a caller that is no text."""
    while True:
        found: Mapping[str, object] = await caller.receive()
        if found["type"] == "websocket.disconnect":
            raise WebSocketDisconnect
        body = found.get("bytes")
        if isinstance(body, bytes) and body:
            return body


async def _back(reader: asyncio.StreamReader, caller: WebSocket) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while body := await receive(reader):
            await caller.send_bytes(body)
