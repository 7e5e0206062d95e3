"""A proxy between clients and the API server that makes trouble on request.

It shows the API server's own certificate, so that a kubeconfig differs in the URL alone, and
speaks HTTP/1.1 with one connection to the server for each of a client's. Tests talk to it from
their own thread; it runs in another one.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, Self

from tests.controlplane.faults import ALWAYS, Fault, Match, everything, status, writes
from tests.controlplane.http1 import Head, Request, read_head, read_request, response_body

from benchmarks.controlplane.control_plane import ControlPlane

_LIMIT = 1 << 20
_CLOSING_S = 0.02  # transports close in later turns of the loop


class Proxy:
    """The proxy before one control plane; without faults it changes nothing.

    Args:
        plane: where it forwards to.

    Attributes:
        seen: every request, in the order in which they came.
        answered: the requests whose answers have begun to reach their clients.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._trusted = ssl.create_default_context(cafile=plane.ca)
        self._faults: list[Fault] = []
        self._stalled: list[Match] = []
        self._moved = asyncio.Event()
        self._open: dict[asyncio.Task[None], Request | None] = {}
        self._server: asyncio.Server | None = None
        self._port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True, name="proxy")
        self.seen: list[Request] = []
        self.answered: list[Request] = []

    def start(self) -> Self:
        """Begin to listen."""
        self._thread.start()
        self.up()
        return self

    def stop(self) -> None:
        """End all connections and the thread."""
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"https://127.0.0.1:{self._port}"

    def kubeconfig(self, user: str = "admin", groups: Sequence[str] = ()) -> Path:
        """A kubeconfig that leads through the proxy."""
        return self._plane.kubeconfig(user, groups, server=self.url)

    def add(self, fault: Fault) -> Fault:
        """Let this happen; set its `times` to 0 to end it."""
        self._faults.append(fault)
        return fault

    def fail(
        self,
        match: Match,
        code: int,
        *,
        nth: int = 1,
        times: int = 1,
        reason: str = "",
        retry_after_s: int | None = None,
    ) -> Fault:
        """Refuse requests, the `nth` that matches and `times` of them, without forwarding."""
        answer = status(code, reason=reason, retry_after_s=retry_after_s)
        return self.add(Fault(match, nth - 1, times, answer=answer))

    def swallow(self, match: Match, *, nth: int = 1, times: int = 1) -> Fault:
        """Forward requests, then close the connection instead of passing the answer on."""
        return self.add(Fault(match, nth - 1, times, after=_nothing, cut=True))

    def cut(self, match: Match, *, nth: int = 1, times: int = 1) -> Fault:
        """Close the connection instead of forwarding requests."""
        return self.add(Fault(match, nth - 1, times, cut=True))

    def delay(self, match: Match, seconds: float, *, times: int = ALWAYS) -> Fault:
        """Forward requests late."""
        return self.add(Fault(match, 0, times, delay_s=seconds))

    def at_write(self, nth: int, deed: Callable[[], None], *, forwarded: bool) -> Fault:
        """Do something, as killing the client, at the `nth` write from now on.

        Args:
            nth: which write; 1 = the next.
            deed: called in a thread; the client's connection is closed when it returns.
            forwarded: after the server took the write (the client never learns), or before.
        """
        before, after = (None, deed) if forwarded else (deed, None)
        return self.add(Fault(writes, nth - 1, before=before, after=after, cut=True))

    def stall(self, match: Match = everything) -> None:
        """Pass nothing on any more to clients of these requests, of those under way as well."""
        self._stalled = [*self._stalled, match]

    def heal(self) -> None:
        """No more faults; what was stalled goes on."""
        self._faults, self._stalled = [], []
        self._loop.call_soon_threadsafe(self._moved.set)

    def drop(self, match: Match = everything) -> None:
        """Close the connections of the requests under way that match."""
        self._call(self._drop(match))

    def down(self) -> None:
        """Close all connections and take no new ones, as if the API server was not there."""
        self._call(self._down())

    def up(self) -> None:
        """Take connections, at the same port as before."""
        self._call(self._up())

    def _call(self, what: Any) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(30.0)

    async def _up(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._plane.ca, self._plane.key)
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", self._port, ssl=context, limit=_LIMIT
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def _down(self) -> None:
        if self._server:
            self._server.close()
        await self._drop(everything, idle=True)
        await asyncio.sleep(_CLOSING_S)

    async def _drop(self, match: Match, *, idle: bool = False) -> None:
        hit = [task for task, now in self._open.items() if (match(now) if now else idle)]
        for task in hit:
            task.cancel()
        await asyncio.gather(*hit, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open[task] = None
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await self._serve(task, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # one side went away: so does the other
        finally:
            del self._open[task]
            writer.transport.abort()

    async def _serve(
        self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        port = int(self._plane.url.rpartition(":")[2])
        opening = asyncio.ensure_future(
            asyncio.open_connection("127.0.0.1", port, ssl=self._trusted, limit=_LIMIT)
        )
        try:
            upstream = await asyncio.shield(opening)
        except asyncio.CancelledError:  # cancelled in the middle, it would leave a socket open
            (await opening)[1].transport.abort()
            raise
        try:
            while request := await read_request(reader):
                self._open[task] = request
                self.seen.append(request)
                if not await self._exchange(request, writer, *upstream):
                    return
                self._open[task] = None
        finally:
            upstream[1].transport.abort()

    async def _exchange(
        self,
        request: Request,
        client: asyncio.StreamWriter,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Serve one request; whether the connection goes on."""
        fault = next((each for each in self._faults if each.hits(request)), Fault(everything))
        await asyncio.sleep(fault.delay_s)
        if fault.before:
            await asyncio.to_thread(fault.before)
        if fault.answer:
            client.write(fault.answer)
            return True
        if fault.cut and not fault.after:
            return False
        writer.write(request.raw + request.body)
        head = await read_head(reader)
        if head is None:
            return False
        if fault.after:
            async for _ in response_body(reader, head, request.method):
                pass
            await asyncio.to_thread(fault.after)
            return False
        await self._pass_on(request, head, reader, client)
        return head.get("connection") != "close"

    async def _pass_on(
        self,
        request: Request,
        head: Head,
        reader: asyncio.StreamReader,
        client: asyncio.StreamWriter,
    ) -> None:
        await self._flowing(request)
        client.write(head.raw)
        self.answered.append(request)
        async for raw in response_body(reader, head, request.method):
            await self._flowing(request)
            client.write(raw)
            await client.drain()

    async def _flowing(self, request: Request) -> None:
        while any(match(request) for match in self._stalled):
            self._moved.clear()
            await self._moved.wait()


def _nothing() -> None:
    """Nothing is done, but the answer is waited for."""
