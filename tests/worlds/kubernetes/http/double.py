"""A server that answers as a test says, byte for byte; a proxy that stops on request."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Self, TypeVar

from msgspec import Struct

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person

T = TypeVar("T")
PATIENCE_S = 20.0


class Asked(Struct):
    """One request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Script = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


def whole(status: int, body: object = None, **headers: str) -> bytes:
    """An answer with its length."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} So", f"Content-Length: {len(raw)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + raw


def begin() -> bytes:
    """The beginning of an answer in chunks."""
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk; an empty one is the end."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(kind: str, body: object) -> bytes:
    """One event of a watch, as a chunk."""
    return chunk(json.dumps({"type": kind, "object": body}).encode() + b"\n")


def status_of(code: int, reason: str, message: str = "no", **details: object) -> dict[str, object]:
    """What API servers say of an error."""
    return {"kind": "Status", "code": code, "reason": reason, "message": message} | (
        {"details": details} if details else {}
    )


class Double:
    """Answers on a port of its own, within the test's event loop.

    Attributes:
        asked: every request so far.
        connections: how many were made.
    """

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self._script, self._tls = script, tls
        self._serving: set[asyncio.Task[None]] = set()
        self.asked: list[Asked] = []
        self.connections = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", ssl=self._tls)
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    def endpoint(self, token: str = "") -> ApiEndpoint:
        return ApiEndpoint(
            name="double",
            url=f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}",
            person=Person(token=token or None),
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                await self._script(asked, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client hung up, as some tests want, or the test is over
        finally:
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode().rstrip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    method, target, _ = first.split(" ")
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, target, headers, body)


def serving(
    script: Script, task: Callable[[Api, Double], Coroutine[Any, Any, T]], **options: Any
) -> T:
    """Run a task against a double."""

    async def everything() -> T:
        async with Double(script) as double:
            return await with_api(double.endpoint(), lambda api: task(api, double), **options)

    return asyncio.run(asyncio.wait_for(everything(), PATIENCE_S))


async def with_api(
    endpoint: ApiEndpoint, task: Callable[[Api], Coroutine[Any, Any, T]], **options: Any
) -> T:
    """Run a task with a client of its own."""
    api = Api(endpoint, **options)
    try:
        return await task(api)
    finally:
        await api.close()


def using(
    endpoint: ApiEndpoint, task: Callable[[Api], Coroutine[Any, Any, T]], **options: Any
) -> T:
    """The same, from outside an event loop."""
    return asyncio.run(asyncio.wait_for(with_api(endpoint, task, **options), 3 * PATIENCE_S))


async def until(ready: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while not ready():
        assert asyncio.get_running_loop().time() < end, f"still waiting for {what}"
        await asyncio.sleep(0.02)
