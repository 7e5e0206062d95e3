"""A router on this loop, replicas that follow a script, and callers that see every byte."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from ganglion.router.balancing.registry import ServiceRegistry
from ganglion.router.balancing.stats import ServiceStats
from ganglion.router.balancing.table import (
    Limits,
    ReplicaEndpoint,
    RoutedService,
    RoutingState,
    RoutingTable,
)
from ganglion.router.port import bind
from ganglion.router.process import connections, serving
from ganglion.router.proxy.connections import CallerLimits
from ganglion.router.proxy.front import Front
from ganglion.router.proxy.probe import Prober
from ganglion.transport.hosts import LOOPBACK

PATIENCE_S = 20.0
HOSTS = ("here",)
"""Names that the router answers to."""
END = b"\r\n\r\n"
Script = Callable[["Wire"], Awaitable[None]]


def act(story: Coroutine[Any, Any, None]) -> None:
    """Run a test's story; it fails when it takes too long."""
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


async def until(there: Callable[[], bool]) -> None:
    """Poll; the patience of `act` is the deadline."""
    while not there():
        await asyncio.sleep(0.002)


class Wire:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def until(self, mark: bytes) -> bytes:
        """Read up to and with a mark."""
        return await self._reader.readuntil(mark)

    async def exactly(self, count: int) -> bytes:
        return await self._reader.readexactly(count)

    async def rest(self) -> bytes:
        """Read to the end of the connection."""
        return await self._reader.read()

    async def head(self) -> bytes:
        """Read a request's or an answer's head."""
        return await self.until(END)

    async def chunk(self) -> bytes:
        """Read one chunk of a chunked body; empty = the last."""
        size = int(await self.until(b"\r\n"), 16)
        data = await self.exactly(size + 2)
        return data[:-2]

    async def ended(self) -> None:
        """Wait until the other side has closed or reset the connection."""
        try:
            while await self._reader.read(65_536):
                pass
        except ConnectionResetError:
            return

    def close(self) -> None:
        self._writer.close()

    async def gone(self) -> None:
        """Close it, and wait until that is done."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    def reset(self) -> None:
        transport = self._writer.transport
        transport.abort()


def ok(body: bytes, extra: str = "") -> bytes:
    """A whole answer."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{extra}\r\n".encode() + body


def request(method: str, path: str, body: bytes = b"", extra: str = "") -> bytes:
    """A whole request."""
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nHost: here\r\n{length}{extra}\r\n".encode() + body


class Actor:
    """A replica that follows a script on every connection."""

    def __init__(self, name: str, script: Script) -> None:
        self.name, self._script = name, script
        self.connections = 0
        self.port = 0
        self._server: asyncio.Server | None = None
        self._wires: set[Wire] = set()
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._met, LOOPBACK, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        wire = Wire(reader, writer)
        self._wires.add(wire)
        self._tasks.add(asyncio.current_task())
        try:
            await self._script(wire)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the router went away, as the tests have it
        finally:
            self._wires.discard(wire)
            self._tasks.discard(asyncio.current_task())
            wire.close()

    async def shut(self) -> None:
        """It dies: listens no more, and its connections break."""
        if self._server:
            self._server.close()
        for wire in list(self._wires):
            wire.reset()
        await asyncio.gather(*filter(None, self._tasks), return_exceptions=True)

    @property
    def busy(self) -> bool:
        """Whether any connection is open."""
        return bool(self._wires)

    def draining(self) -> ReplicaEndpoint:
        return self.endpoint(RoutingState.DRAINING)

    def endpoint(
        self, state: RoutingState = RoutingState.READY, models: tuple[str, ...] = ()
    ) -> ReplicaEndpoint:
        return ReplicaEndpoint(self.name, f"{LOOPBACK}:{self.port}", state, models)


def says(answer: bytes) -> Script:
    """Answers every request without a body in the same words."""

    async def script(wire: Wire) -> None:
        while True:
            await wire.head()
            await wire.send(answer)

    return script


class Stage:
    """A router and its callers."""

    def __init__(self, services: ServiceRegistry, port: int) -> None:
        self.services, self.port = services, port
        self._version = 0
        self._actors: list[Actor] = []
        self._calls: list[Wire] = []

    async def actor(self, name: str, script: Script) -> Actor:
        """A new replica."""
        actor = Actor(name, script)
        await actor.open()
        self._actors.append(actor)
        return actor

    def publish(self, *services: RoutedService) -> None:
        self._version += 1
        self.services.apply(RoutingTable(self._version, services, HOSTS))

    def route(self, *actors: Actor, **limits: int) -> None:
        """Have `chat` served by these."""
        endpoints = tuple(actor.endpoint() for actor in actors)
        self.publish(RoutedService("chat", endpoints, Limits(**limits)))

    async def call(self, address: str = LOOPBACK) -> Wire:
        """A new connection to the router, from an address of this machine."""
        source = (address, 0)
        wire = Wire(*await asyncio.open_connection(LOOPBACK, self.port, local_addr=source))
        self._calls.append(wire)
        return wire

    async def ask(self, data: bytes) -> tuple[Wire, bytes]:
        """Send a request; returns the connection and the head of the answer."""
        wire = await self.call()
        await wire.send(data)
        return wire, await wire.head()

    async def fetch(self, data: bytes) -> tuple[bytes, bytes]:
        """Send a request on a connection of its own; returns head and body."""
        wire, head = await self.ask(data)
        lines = head.lower().split(b"\r\n")
        if b"transfer-encoding: chunked" in lines:
            body = b""
            while piece := await wire.chunk():
                body += piece
        else:
            length = next((line for line in lines if line.startswith(b"content-length:")), b":0")
            body = await wire.exactly(int(length.partition(b":")[2]))
        wire.close()
        return head, body

    def stats(self, name: str = "chat") -> ServiceStats:
        return next(each for each in self.services.stats().services if each.name == name)

    async def close(self) -> None:
        for wire in self._calls:
            await wire.gone()
        for actor in self._actors:
            await actor.shut()


@asynccontextmanager
async def stage(bounds: CallerLimits | None = None) -> AsyncIterator[Stage]:
    """A router in this process."""
    async with connections() as session:
        prober = Prober(session, check_s=0.01)
        services = ServiceRegistry(prober.watch, Random(1))
        taken = bind(LOOPBACK, 0)
        async with serving(Front(services, session, prober), taken, finish_s=0.1, bounds=bounds):
            made = Stage(services, taken.getsockname()[1])
            try:
                yield made
            finally:
                await made.close()
                await prober.close()
