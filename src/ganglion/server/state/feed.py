"""The stream of events: from the ledger, then live. Nothing is kept per consumer but a number."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING

import anyio
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from ganglion.ledger.codec import shown
from ganglion.ledger.records import Entry
from ganglion.model.credentials import redacted
from ganglion.model.errors import Conflict

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

WITH_DIGESTS = frozenset(
    {"token_created", "signed_in", "user_added", "password_changed", "bootstrap_made"}
)
"""Kinds of events that are sent without the digests that they have."""
PAGE = 500
"""Events sent at once."""
RECENT = 1_000
"""Newest events that are kept in memory: a thousand streams need not read the ledger for each."""
MOST_BEHIND = 10_000
"""A live consumer that falls further behind is dropped."""
BEAT_S = 15.0
"""How often a silent stream shows that it lives."""
STUCK_S = 30.0
"""Time without reading after which a consumer is dropped."""


ERASED = "user_erased"
"""Type of the event after which a name is not sent any more."""


class Feed:
    """Wakes streams when there is more to read.

    Args:
        ledger: what they read.
        most_behind: events a live consumer may lag.
        beat_s: seconds between signs of life.

    Attributes:
        head: number of the newest event.
        closing: whether streams are to end.
        streams: how many are open.
        leaving: called when streams are to end, for other answers that wait.
    """

    def __init__(
        self, ledger: "Ledger", most_behind: int = MOST_BEHIND, beat_s: float = BEAT_S
    ) -> None:
        self._ledger, self._most_behind, self._beat_s = ledger, most_behind, beat_s
        self.head = ledger.head
        self._loop: asyncio.AbstractEventLoop | None = None
        self._more, self._waiting = asyncio.Event(), 0
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=RECENT)
        self.closing = False
        self.streams = 0
        self.leaving: Callable[[], None] = lambda: None

    def attach(self) -> None:
        """Serve streams of the running event loop."""
        self._loop = asyncio.get_running_loop()

    def publish(self, entries: list[Entry]) -> None:
        """New events lie in the ledger. Safe from any thread."""
        self._recent.extend((entry.seq, _event(entry)) for entry in entries)
        if any(entry.kind == ERASED for entry in entries):
            self._recent.clear()  # the name is in them
        self.head = entries[-1].seq
        self._wake()

    def close(self) -> None:
        """End all streams. Safe from any thread and from signal handlers."""
        self.closing = True
        self._wake()
        self.leaving()

    def _wake(self) -> None:
        # Readers that wait count themselves before they read the head, which was set before this.
        if self._waiting and self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        # Readers that wait hold the old bell; later ones wait for the next.
        self._more.set()
        self._more = asyncio.Event()

    async def wait(self, seen: int, seconds: float) -> bool:
        """Wait until something is published or the end begins; False = nothing was in time.

        Args:
            seen: number of the newest event that the caller knows.
            seconds: the longest wait.
        """
        self._waiting += 1
        try:
            if self.head == seen and not self.closing:
                await asyncio.wait_for(self._more.wait(), seconds)
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def check(self, after: int) -> None:
        """Raises Conflict when the ledger has no event of that number, or has no longer."""
        cut = self._ledger.base() if after else None
        if cut and after < cut.seq:
            raise Conflict(
                f"events up to {cut.seq} have left the ledger, those behind {after} among them",
                f"go on with after={cut.seq}; `archive` in the home has the others, if it is kept",
            )
        if after > self.head:
            raise Conflict(
                f"the ledger ends at event {self.head}, before {after}",
                "begin anew, with after=0: the ledger is another one than you read before",
            )

    async def stream(self, after: int, *, follow: bool = True) -> AsyncIterator[bytes]:
        """Events above `after` in the form of server-sent events, endless if `follow` is set."""
        live = False
        yield b": events\n\n"
        while True:
            if live and self.head - after > self._most_behind:
                behind = self.head - after
                yield _end("slow_consumer", f"{behind} events behind", "reconnect and go on")
                return
            page = self._newest(after) if live else None
            if page is None:
                found = await anyio.to_thread.run_sync(self._ledger.events, after, PAGE)
                page = [(entry.seq, _event(entry)) for entry in found]
            if page:
                yield b"".join(event for _, event in page)
                after = page[-1][0]
                continue
            if not follow:
                return
            live = True
            if self.closing:
                yield _end("shutting_down", "the server is shutting down", "reconnect later")
                return
            if not await self.wait(after, self._beat_s):
                yield b": alive\n\n"

    def _newest(self, after: int) -> list[tuple[int, bytes]] | None:
        """At most a page of events above `after` from memory; None = older ones are asked for."""
        if after >= self.head:
            return []
        # Another thread may publish meanwhile: a list is made of it in one step.
        recent = list(self._recent)
        if not recent or recent[0][0] > after + 1:
            return None
        first = after + 1 - recent[0][0]
        return recent[first : first + PAGE]


def _event(entry: Entry) -> bytes:
    return framed(entry.seq, body_of(entry))


def framed(seq: int, body: bytes) -> bytes:
    """One event as it is sent."""
    return b"id: %d\ndata: %b\n\n" % (seq, body)


def body_of(entry: Entry) -> bytes:
    """An event as clients may read it, as JSON."""
    if entry.kind == "schedule_set":
        return _without_credentials(entry.body)
    if entry.kind in WITH_DIGESTS:
        return json.dumps({**json.loads(entry.body), "digest": ""}).encode()
    return shown(entry)


def _without_credentials(body: bytes) -> bytes:
    """The event of a schedule, which holds a workload file."""
    event = json.loads(body)
    event["document"] = json.dumps(redacted(json.loads(event["document"])))
    return json.dumps(event).encode()


def _end(code: str, message: str, hint: str) -> bytes:
    body = json.dumps({"code": code, "message": message, "hint": hint})
    return f"event: end\ndata: {body}\n\n".encode()


class Patient(StreamingResponse):
    """A stream that gives up on a client which takes nothing any more.

    Args:
        content: what is sent.
        feed: counts it among its streams; None = it is none of events.
        media_type: of the answer; None = it says none.
        headers: more of its headers.
    """

    def __init__(
        self,
        content: AsyncIterator[bytes],
        *,
        feed: Feed | None = None,
        media_type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(content, media_type=media_type, headers=headers)
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and count it meanwhile."""
        if self._feed is None:
            await super().__call__(scope, receive, send)
            return
        self._feed.streams += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.streams -= 1

    async def stream_response(self, send: Send) -> None:
        """Send chunk by chunk, each within `STUCK_S`."""

        async def bounded(message: Message) -> None:
            with anyio.fail_after(STUCK_S):
                await send(message)

        await super().stream_response(bounded)
