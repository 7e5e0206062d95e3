"""HTTP/1.1 messages as a proxy sees them: enough to tell one from the next."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

Headers = tuple[tuple[str, str], ...]
_LIMIT = 1 << 20


class Request(Struct, frozen=True):
    """One request of a client.

    Attributes:
        method: as `POST`.
        path: without the query.
        query: parameters.
        headers: as they came.
        body: whole.
        raw: start line and headers, as they came.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: Headers
    body: bytes
    raw: bytes


class Head(Struct, frozen=True):
    """Start line and headers."""

    start: str
    headers: Headers
    raw: bytes

    def get(self, name: str) -> str:
        """Value of a header, in lower case; empty when absent."""
        return next((value.lower() for key, value in self.headers if key.lower() == name), "")


async def read_head(stream: asyncio.StreamReader) -> Head | None:
    """The next message's head; None when the other side has closed."""
    try:
        raw = await stream.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    start, *lines = raw[:-4].decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return Head(start, tuple((name, value.strip()) for name, _, value in pairs), raw)


async def read_request(stream: asyncio.StreamReader) -> Request | None:
    """The next request with its body; None when the client has closed."""
    head = await read_head(stream)
    if head is None:
        return None
    method, target, _ = head.start.split(" ")
    parts = urlsplit(target)
    chunks = [raw async for raw in _body(stream, head)]
    return Request(
        method=method,
        path=parts.path,
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        headers=head.headers,
        body=b"".join(chunks),
        raw=head.raw,
    )


async def response_body(
    stream: asyncio.StreamReader, head: Head, method: str
) -> AsyncIterator[bytes]:
    """The body of a response in pieces, framed as it came."""
    status = head.start.split(" ")[1]
    if method == "HEAD" or status in {"204", "304"}:
        return
    async for raw in _body(stream, head):
        yield raw


async def _body(stream: asyncio.StreamReader, head: Head) -> AsyncIterator[bytes]:
    if head.get("transfer-encoding") == "chunked":
        async for raw in _chunks(stream):
            yield raw
        return
    left = int(head.get("content-length") or 0)
    while left:
        raw = await stream.read(min(left, _LIMIT))
        if not raw:
            raise ConnectionError("closed in the middle of a body")
        left -= len(raw)
        yield raw


async def _chunks(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    size = -1
    while size:
        line = await stream.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        yield line + await stream.readexactly(size + 2)
