"""WebSockets into running pods: a command, the terminal of rank 0, a port.

Whoever may cancel a workload may do this: all of it asks for the token.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path, PurePath
from typing import Annotated

import anyio
import msgspec
import structlog
from fastapi import APIRouter, Query, WebSocket
from starlette.websockets import WebSocketDisconnect

from ganglion.model.errors import Conflict, EnvironmentFault, GanglionError, InputError
from ganglion.server.context import Context
from ganglion.server.problems import answer
from ganglion.server.terminals import Asked, Seat, relay, seat_of
from ganglion.worlds.local.listening import Listener, listener
from ganglion.worlds.local.paths import run_dir
from ganglion.worlds.local.reaching import Ends, execute, terminal

router = APIRouter()

LOOPBACK = "127.0.0.1"
FIRST_S = 10.0
"""How long a caller may take to say what it wants to run."""
PIECE = 1 << 16
MOST_PORT = 65_535

Number = Annotated[int | None, Query(ge=0)]

log = structlog.get_logger(__name__)


@router.websocket("/workloads/{ref:ref}/exec")
async def run_command(caller: WebSocket, ref: str, pod: Number = None, rank: Number = None) -> None:
    """Run a command in a pod, with its environment; the first message says which."""
    here: Context = caller.app.state.context
    seat = await _found(caller, partial(_seat, here, ref, pod))
    if seat is None:
        return
    await caller.accept()
    try:
        asked = await _asked(caller)
        ends = await execute(
            here.home.root,
            seat.gang,
            seat.attempt,
            {"pod": seat.pod, "rank": rank, **msgspec.to_builtins(asked)},
        )
    except (GanglionError, WebSocketDisconnect) as error:
        await _refused(caller, error)
        return
    # Arguments may hold secrets.
    facts = {"gang": seat.gang, "attempt": seat.attempt, "pod": seat.pod, "user": here.user}
    command, began = PurePath(asked.command[0]).name, time.monotonic()
    log.info("exec", command=command, tty=asked.tty, **facts)
    await relay(caller, ends)
    log.info("exec ended", command=command, seconds=round(time.monotonic() - began, 3), **facts)


async def _asked(caller: WebSocket) -> Asked:
    """What the caller wants to run.

    Raises:
        InputError: that is not what its first message says.
    """
    try:
        with anyio.fail_after(FIRST_S):
            asked = msgspec.json.decode(await caller.receive_text(), type=Asked)
    except (msgspec.MsgspecError, KeyError) as error:
        raise InputError(f"the first message should say what to run: {error}") from error
    except TimeoutError:
        raise InputError("the first message should say what to run; none came") from None
    if not asked.command or not asked.command[0]:
        raise InputError("there is no command to run")
    return asked


@router.websocket("/workloads/{ref:ref}/attach")
async def attach(caller: WebSocket, ref: str) -> None:
    """Look at the terminal of rank 0, and type."""
    here: Context = caller.app.state.context
    seat = await _found(caller, partial(_seat, here, ref, None))
    if seat is None:
        return
    ends = await _connected(caller, terminal(here.home.root, seat.gang, seat.attempt))
    if ends:
        log.info("attached", gang=seat.gang, attempt=seat.attempt, user=here.user)
        await relay(caller, ends)


@router.websocket("/workloads/{ref:ref}/port-forward")
async def forward(
    caller: WebSocket,
    ref: str,
    port: Annotated[int, Query(ge=1, le=MOST_PORT)],
    pod: Number = None,
) -> None:
    """Carry the bytes of one connection to a port of a pod, which has this machine's network."""
    here: Context = caller.app.state.context
    seat = await _found(caller, partial(_seat, here, ref, pod))
    if seat is None:
        return
    ends = await _connected(caller, _reached(here.home.root, seat, port))
    if ends:
        await _carry(caller, *ends)


async def _reached(home: Path, seat: Seat, port: int) -> Ends:
    """A connection to a port at which a process of the attempt listens.

    Raises:
        Conflict: another program of this machine listens there.
        EnvironmentFault: nothing does, or the machine does not say.
    """
    run = run_dir(home, seat.gang, seat.attempt)
    try:
        found = await anyio.to_thread.run_sync(listener, run, port)
    except OSError as error:
        raise EnvironmentFault(f"cannot see who listens at port {port}: {error}") from error
    if found is Listener.OTHER:
        raise Conflict(
            f"no process of {seat.gang} listens at port {port}: another program does",
            "port-forward reaches what the workload itself has opened",
        )
    return await _open(port)


async def _open(port: int) -> Ends:
    try:
        return await asyncio.open_connection(LOOPBACK, port)
    except OSError as error:
        raise EnvironmentFault(
            f"nothing takes connections at port {port}: {error.strerror or error}",
            "is the program still starting?",
        ) from error


async def _carry(
    caller: WebSocket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Carry bytes both ways; an empty message is the end of one direction."""

    async def onward() -> None:
        while body := await caller.receive_bytes():
            writer.write(body)
            await writer.drain()
        writer.write_eof()

    async def back() -> None:
        while body := await reader.read(PIECE):
            await caller.send_bytes(body)
        await caller.send_bytes(b"")

    tasks = {asyncio.create_task(onward()), asyncio.create_task(back())}
    try:
        done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        del done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.close()
    if not left:
        await caller.close()


def _seat(here: Context, ref: str, pod: int | None) -> Seat:
    with here.service.read() as mind:
        return seat_of(mind, here.service.ledger, ref, pod=pod)


async def _found(caller: WebSocket, look: Callable[[], Seat]) -> Seat | None:
    """Find the pod; None = the caller was refused."""
    try:
        return await anyio.to_thread.run_sync(look)
    except GanglionError as error:
        await caller.send_denial_response(answer(error))
        return None


async def _connected(caller: WebSocket, wanted: Awaitable[Ends]) -> Ends | None:
    """Connect and accept the caller; None = the caller was refused."""
    try:
        ends = await wanted
    except GanglionError as error:
        await caller.send_denial_response(answer(error))
        return None
    await caller.accept()
    return ends


async def _refused(caller: WebSocket, error: Exception) -> None:
    """End an accepted caller with the reason."""
    if isinstance(error, GanglionError):
        body = {"error": error.message, "hint": error.hint, "code": error.code}
        await caller.send_bytes(b"\x03" + msgspec.json.encode(body))
        await caller.close()
