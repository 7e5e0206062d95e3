"""Connections kept open between requests."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from ganglion.worlds.kubernetes.http.connect import Address, dial
from ganglion.worlds.kubernetes.http.http1 import HttpResponse, Wire

IDLE_S = 30.0
"""Unused connections are closed before API servers do (90 s) or balancers in between (60 s)."""


class RequestPool:
    """At most `most` requests at a time, each on a connection of its own.

    Args:
        address: where to connect.
        tls: how; None = in the clear.
        most: requests in flight; more wait for their turn.
    """

    def __init__(self, address: Address, tls: ssl.SSLContext | None, most: int) -> None:
        self._address, self._tls = address, tls
        self._turns = asyncio.Semaphore(most)
        self._idle: deque[tuple[Wire, float]] = deque()
        """With the time since when; the oldest first."""

    async def ask(self, request: bytes, timeout_s: float) -> HttpResponse:
        """Send a request and return the answer; the wait for a turn takes none of the time.

        Raises:
            OSError, asyncio.IncompleteReadError, Garbled, TimeoutError: see `Wire`.
        """
        async with self._turns, asyncio.timeout(timeout_s):
            wire = self._kept() or await dial(self._address, self._tls)
            try:
                answer = await wire.ask(request)
            except BaseException:  # cancelled in the middle, too: what follows would be another's
                wire.close()
                raise
            self._put_back(wire, answer)
            return answer

    @asynccontextmanager
    async def own(self, timeout_s: float) -> AsyncIterator[Wire]:
        """Lend a new connection that is closed afterwards, for answers without end."""
        async with asyncio.timeout(timeout_s):
            wire = await dial(self._address, self._tls)
        try:
            yield wire
        finally:
            wire.close()

    def forget(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.pop()[0].close()

    def _put_back(self, wire: Wire, answer: HttpResponse) -> None:
        endless = not answer.head.chunked and answer.head.length < 0
        if answer.head.last or endless:
            wire.close()
        else:
            self._idle.append((wire, monotonic()))
        while self._idle and monotonic() - self._idle[0][1] >= IDLE_S:
            self._idle.popleft()[0].close()

    def _kept(self) -> Wire | None:
        """The one used last: the others grow old and are closed."""
        while self._idle:
            wire, since = self._idle.pop()
            if wire.alive and monotonic() - since < IDLE_S:
                return wire
            wire.close()
        return None
