"""WebSockets into running pods: a command, the terminal of rank 0, a port.

Who may cancel a workload may do this. The ledger records each session, before it begins.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import Annotated

import anyio
import msgspec
from fastapi import APIRouter, Query, WebSocket
from starlette.websockets import WebSocketDisconnect

from ganglion.model.errors import Conflict, EnvironmentFault, GanglionError, InputError
from ganglion.model.events.access import Verb
from ganglion.server.requests.context import ServerContext, context_of
from ganglion.server.requests.pod_sessions import PodSession
from ganglion.server.requests.terminals import (
    Ending,
    ExecRequest,
    SessionPod,
    meant,
    relay,
    seat_of,
)
from ganglion.server.rest.listening.connections import PEER
from ganglion.server.rest.problems import answer
from ganglion.worlds.local.attempts.listening import PortOwner, listener
from ganglion.worlds.local.attempts.reaching import Ends, execute, terminal
from ganglion.worlds.local.run_files.paths import run_dir

router = APIRouter()

LOOPBACK = "127.0.0.1"
FIRST_S = 10.0
"""How long a caller may take to say what it wants to run."""
PIECE = 1 << 16
MOST_PORT, MOST_NUMBER = 65_535, 1 << 31

Number = Annotated[int | None, Query(ge=0, le=MOST_NUMBER)]


@router.websocket("/workloads/{ref:ref}/exec")
async def run_command(caller: WebSocket, ref: str, pod: Number = None, rank: Number = None) -> None:
    """Run a command in a pod, with its environment; the first message says which."""
    here = context_of(caller)
    seat = await _found(caller, Verb.EXEC, ref, pod)
    if seat is None:
        return
    await caller.accept()
    try:
        asked = await _asked(caller)
        verb, words = Verb.CP if asked.path else Verb.EXEC, asked.command
        session = PodSession(here, seat, verb, _uid(caller), command=words, path=asked.path)
        await session.begin()
    except (GanglionError, WebSocketDisconnect) as error:
        await _refused(caller, error)
        return
    wanted = {"pod": seat.pod, "rank": rank, **msgspec.to_builtins(asked)}
    try:
        ends = await execute(here.home.root, seat.gang, seat.attempt, wanted)
    except GanglionError as error:
        session.end(Ending(reason=error.message), refused=True)
        await _refused(caller, error)
        return
    await _recorded(session, relay(caller, ends))


async def _recorded(session: PodSession, carried: Awaitable[Ending]) -> None:
    """Carry what is sent, and record how that ended, also where it breaks."""
    ending = Ending(reason="the connection broke")
    try:
        ending = await carried
    finally:
        session.end(ending)


async def _asked(caller: WebSocket) -> ExecRequest:
    """What the caller wants to run.

    Raises:
        InputError: that is not what its first message says.
    """
    try:
        with anyio.fail_after(FIRST_S):
            asked = msgspec.json.decode(await caller.receive_text(), type=ExecRequest)
    except (msgspec.MsgspecError, KeyError) as error:
        raise InputError(f"the first message must name a command: {error}") from error
    except TimeoutError:
        raise InputError("the first message must name a command; none came") from None
    if not asked.command or not asked.command[0]:
        raise InputError("there is no command to run")
    return asked


@router.websocket("/workloads/{ref:ref}/attach")
async def attach(caller: WebSocket, ref: str) -> None:
    """Look at the terminal of rank 0, and type."""
    here = context_of(caller)
    seat = await _found(caller, Verb.ATTACH, ref, None)
    if seat is None:
        return
    session = PodSession(here, seat, Verb.ATTACH, _uid(caller))
    ends = await _connected(caller, session, terminal(here.home.root, seat.gang, seat.attempt))
    if ends:
        await _recorded(session, relay(caller, ends))


@router.websocket("/workloads/{ref:ref}/port-forward")
async def forward(
    caller: WebSocket,
    ref: str,
    port: Annotated[int, Query(ge=1, le=MOST_PORT)],
    pod: Number = None,
) -> None:
    """Carry the bytes of one connection to a port of a pod, which has this machine's network."""
    here = context_of(caller)
    seat = await _found(caller, Verb.PORT_FORWARD, ref, pod, port)
    if seat is None:
        return
    session = PodSession(here, seat, Verb.PORT_FORWARD, _uid(caller), port=port)
    ends = await _connected(caller, session, _reached(here.home.root, seat, port))
    if ends:
        await _recorded(session, _carry(caller, *ends))


async def _reached(home: Path, seat: SessionPod, port: int) -> Ends:
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
    if found is PortOwner.OTHER:
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
) -> Ending:
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

    there, here = asyncio.create_task(onward()), asyncio.create_task(back())
    try:
        done, left = await asyncio.wait((there, here), return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in (there, here):
            task.cancel()
        await asyncio.gather(there, here, return_exceptions=True)
        writer.close()
    if not left:
        await caller.close()
    broken = next((each.exception() for each in done if each.exception()), None)
    if broken is None:
        return Ending(reason="both sides were done")
    left_it = isinstance(broken, WebSocketDisconnect | RuntimeError)
    return Ending(reason="the caller left" if left_it else f"the connection broke: {broken}")


def _seat(here: ServerContext, ref: str, pod: int | None) -> SessionPod:
    with here.service.read() as mind:
        return seat_of(mind, here.service.ledger, ref, pod=pod)


def _meant(here: ServerContext, ref: str, pod: int | None) -> SessionPod | None:
    with here.service.read() as mind:
        return meant(mind, here.service.ledger, ref, pod=pod)


def _uid(caller: WebSocket) -> int | None:
    """The user at the other end of the Unix socket, as the kernel reports it."""
    uid: int | None = caller.scope.get("state", {}).get(PEER)
    return uid


async def _found(
    caller: WebSocket, verb: Verb, ref: str, pod: int | None, port: int = 0
) -> SessionPod | None:
    """Find the pod; None = the caller was refused; of a known workload that is recorded."""
    here = context_of(caller)
    try:
        return await anyio.to_thread.run_sync(_seat, here, ref, pod)
    except GanglionError as error:
        named = await anyio.to_thread.run_sync(_meant, here, ref, pod)
        if named:
            await PodSession(here, named, verb, _uid(caller), port=port).refuse(error.message)
        await caller.send_denial_response(answer(error))
        return None


async def _connected(
    caller: WebSocket, session: PodSession, wanted: Coroutine[None, None, Ends]
) -> Ends | None:
    """Record the beginning, connect and accept the caller; None = the caller was refused."""
    try:
        await session.begin()
    except GanglionError as error:
        wanted.close()
        await caller.send_denial_response(answer(error))
        return None
    try:
        ends = await wanted
    except GanglionError as error:
        session.end(Ending(reason=error.message), refused=True)
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
