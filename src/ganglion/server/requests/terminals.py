"""Which pod a caller means, and the way of messages between its WebSocket and that pod."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct
from starlette.websockets import WebSocket, WebSocketDisconnect

from ganglion.engine.gangs.record import HOLDING, GangRecord
from ganglion.model.errors import Conflict, GanglionError, NotFound
from ganglion.model.plan import Phase
from ganglion.server.state.refs import resolve
from ganglion.server.state.transaction import Mind
from ganglion.worlds.local.attempts.reaching import Ends, receive
from ganglion.worlds.local.supervision.frames import STATUS, framed

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

MOST_CODE = 1 << 31
MOST_RUNNING = "it has to run; see why it does not: ganglion why"


class SessionPod(NamedTuple):
    """One pod of an attempt that is there."""

    gang: str
    attempt: int
    pod: int


class Ending(NamedTuple):
    """How a session ended.

    Attributes:
        exit_code: of the command; None = there is none, or it is unknown.
        reason: why; empty = the command ended.
    """

    exit_code: int | None = None
    reason: str = ""


class _Status(Struct):
    """The last message of a pod."""

    exit_code: Annotated[int, Meta(ge=-MOST_CODE, le=MOST_CODE)] | None = None
    error: str = ""
    ended: bool = False


class ExecRequest(Struct, forbid_unknown_fields=True):
    """What a caller wants to run; the first message of `exec`.

    Attributes:
        command: argument vector.
        path: what it copies, as the caller says it: a path in the pod; empty = it is no copy.
        tty: whether it has a terminal.
        term: sort of terminal.
        rows, columns: its size.
    """

    command: list[str]
    path: str = ""
    tty: bool = False
    term: str = "dumb"
    rows: int = 24
    columns: int = 80


def seat_of(
    mind: Mind, ledger: "Ledger", ref: str, *, pod: int | None = None, index: int | None = None
) -> SessionPod:
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
    return SessionPod(record.gang.id, record.attempt, pod or 0)


def _gang(mind: Mind, workload: str, index: int | None) -> GangRecord:
    if index is not None:
        return mind.state.gangs.records[mind.book.gang(workload, index)]
    records = [mind.state.gangs.records[gang] for gang in mind.book.gangs[workload]]
    return next((each for each in records if each.phase in HOLDING), records[0])


def meant(mind: Mind, ledger: "Ledger", ref: str, *, pod: int | None = None) -> SessionPod | None:
    """The pod that a refused request names, as far as it is known; None = no workload."""
    try:
        found = resolve(mind, ledger, ref)
    except GanglionError:
        return None
    gangs = mind.book.gangs.get(found.workload, [])
    known = f"{found.workload}/{found.gang}" if found.gang is not None or not gangs else ""
    record = mind.state.gangs.records.get(known) if known else _gang(mind, found.workload, None)
    gang = record.gang.id if record else f"{found.workload}/{found.gang or 0}"
    return SessionPod(gang, record.attempt if record else 0, pod or 0)


async def relay(caller: WebSocket, ends: Ends) -> Ending:
    """Carry messages both ways until either side ends; then end the other."""
    reader, writer = ends
    onward = asyncio.create_task(_onward(caller, writer))
    said = [b""]
    back = asyncio.create_task(_back(reader, caller, said))
    try:
        await asyncio.wait((onward, back), return_when=asyncio.FIRST_COMPLETED)
        if onward.done() and onward.result():
            await back  # the pod takes no more, but may have had the last word
        left = not back.done()
    finally:
        for task in (onward, back):
            task.cancel()
        await asyncio.gather(onward, back, return_exceptions=True)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # the caller left already
        await caller.close()
    if not left:
        back.result()
    # A caller that has the status may leave before the pod closes its side.
    return Ending(reason="the caller left") if left and not said[0] else _ending(said[0])


def _ending(said: bytes) -> Ending:
    """Read the last message of a pod; empty = there was none."""
    try:
        status = msgspec.json.decode(said or b"{}", type=_Status)
    except msgspec.MsgspecError:
        return Ending(reason="the pod ended it with a message that cannot be read")
    if status.ended:
        return Ending(status.exit_code, "the terminal was closed")
    known = status.exit_code is not None or status.error
    return Ending(status.exit_code, status.error if known else "the attempt ended")


async def _onward(caller: WebSocket, writer: asyncio.StreamWriter) -> bool:
    """Forward the caller's input; returns whether the pod takes no more; else the caller left."""
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


async def _back(reader: asyncio.StreamReader, caller: WebSocket, said: list[bytes]) -> None:
    """Forward what a pod sends; `said` gets the status that it ends with, empty = none yet."""
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while body := await receive(reader):
            said[0] = body[1:] if body[0] == STATUS else b""
            await caller.send_bytes(body)
