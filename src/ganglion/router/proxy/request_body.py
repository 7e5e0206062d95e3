"""A request's body on its way to a replica: passed on as it comes, bounded, sometimes kept."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import hdrs
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion11
from aiohttp.payload import Payload
from aiohttp.web import BaseRequest, RequestPayloadError

from ganglion.transport.limits import BODY_S

KEPT_BYTES = 256 << 10
"""Bodies up to this size can be sent a second time."""


class BodyTooLarge(Exception):
    """The body has more bytes than the service allows."""


class Upload(Payload):
    """The body of one request. May be written to several replicas, one after the other.

    Args:
        request: where it comes from.
        most: bytes allowed; 0 = no bound.
        keep: whether it must be repeatable after a part of it was sent.
        silent_s: longest silence of the caller before an answer has begun.
    """

    _autoclose = True
    _consumed = True  # whether it can be sent again is decided here, not by aiohttp

    def __init__(
        self, request: BaseRequest, most: int, *, keep: bool, silent_s: float = BODY_S
    ) -> None:
        super().__init__(None)
        self._request, self._most = request, most
        self._kept: list[bytes] | None = [] if keep else None
        self._seen = 0
        self._silent_s, self._answered = silent_s, False
        self._patience: asyncio.Timeout | None = None
        self._writer: asyncio.Task[Any] | None = None
        self._cut: Callable[[], None] = lambda: None
        self.wrong: Exception | None = None

    @property
    def repeatable(self) -> bool:
        """Whether it can be sent from its beginning."""
        return self._kept is not None or not self._seen

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """A stream has no text."""
        raise TypeError(f"a stream has no text in {encoding} ({errors})")

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write all of it."""
        await self.write_with_length(writer, None)

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Write all of it; a declared length has been checked where the request came in."""
        del content_length
        self._writer = asyncio.current_task()
        if not self._request.content.is_eof():
            # Replicas learn of the request before its body is there.
            writer.send_headers()
        for chunk in self._kept or ():
            await writer.write(chunk)
        await self._invite()
        async for chunk in self._incoming():
            await writer.write(chunk)

    async def _incoming(self) -> AsyncIterator[bytes]:
        """Read the rest; an error here is not the replica's fault."""
        try:
            while chunk := await self._part():
                self._take(chunk)
                yield chunk
        except (BodyTooLarge, RequestPayloadError, OSError) as error:
            self.wrong = error
            self._cut()
            raise

    async def _part(self) -> bytes:
        """The next bytes; empty = that was all.

        Raises:
            TimeoutError: the caller sent nothing for too long, and no answer has begun.
        """
        limit_s = None if self._answered else self._silent_s
        try:
            async with asyncio.timeout(limit_s) as self._patience:
                return await self._request.content.readany()
        finally:
            self._patience = None

    def _take(self, chunk: bytes) -> None:
        self._seen += len(chunk)
        if self._most and self._seen > self._most:
            raise BodyTooLarge
        if self._kept is not None:
            self._kept.append(chunk)
            if self._seen > KEPT_BYTES:
                self._kept = None

    async def _invite(self) -> None:
        """Send `100 Continue` to a caller that waits for it."""
        request = self._request
        asked = request.headers.get(hdrs.EXPECT, "").lower() == "100-continue"
        if asked and not self._seen and request.version == HttpVersion11:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0  # the answer itself has not begun

    def beside(self, answer: Callable[[], None]) -> None:
        """The answer has begun; it is given up, by this call, when the body turns out wrong."""
        self._cut, self._answered = answer, True
        if self._patience:
            self._patience.reschedule(None)  # request and response may overlap
        if self.wrong:
            answer()

    async def halt(self) -> None:
        """Stop all readers of the body, so that another replica's writer can."""
        if self._writer and not self._writer.done():
            self._writer.cancel()
            await asyncio.wait([self._writer])
        self._writer = None
