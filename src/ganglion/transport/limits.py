"""How many callers a server has at once, in all and from one address, and what others get."""

import asyncio
import resource
from collections import Counter
from ipaddress import IPv6Address

from ganglion.transport.hosts import plain
from ganglion.transport.refusals import BUSY

BACKLOG = 512
"""Connections that may wait to be accepted; as many are open for a moment and then refused."""
RESERVE = 256
"""Open files that are kept for everything but callers."""
FEWEST = 16
UNLIMITED = 1 << 16
"""Open files where the system says that there is no limit."""
HEADERS_S = 10.0
"""Longest time from a connection, or the first byte of a further request, to the end of headers."""
BODY_S = 30.0
"""Longest silence amid the body of a request."""
IDLE_S = 75.0
"""Longest pause between two requests of a connection."""
DROPPED_BYTES = 64 << 20
"""Most of a body that is refused is read and dropped, so that the caller gets to the answer."""

LINGER_S, LINGER_BYTES = 1.0, 1 << 16
MOST_LINGERING = 128


def raise_file_limit() -> int:
    """Let this process open as many files as the system allows; returns how many it could before.

    What it starts inherits the limit: programs that use select(2) want the former one back.
    """
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems say "no limit" and refuse to set that.
    wanted = UNLIMITED if most == resource.RLIM_INFINITY else most
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before, wanted), most))
    return before


def affordable(wanted: int) -> int:
    """How many callers the limit of open files allows, at most `wanted`."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(FEWEST, min(wanted, files - BACKLOG - RESERVE))


class CallerLimit:
    """Counts callers; one address may have half of all.

    Args:
        most: callers at once.

    Attributes:
        inside: callers now.
        refused: callers refused at the limit.
    """

    def __init__(self, most: int) -> None:
        self.most, self.most_each = most, max(1, most // 2)
        self.inside = self.refused = 0
        self._by_address: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Let a caller in; False = the limit is reached."""
        key = network_of(address)
        if self.inside >= self.most or self._by_address[key] >= self.most_each:
            self.refused += 1
            return False
        self.inside += 1
        self._by_address[key] += 1
        return True

    def leave(self, address: str) -> None:
        """A caller that was let in is gone."""
        key = network_of(address)
        self.inside -= 1
        self._by_address[key] -= 1
        if not self._by_address[key]:
            del self._by_address[key]


def network_of(address: str) -> str:
    """An address as its owner has it: of IPv6 a subnet of 2**64."""
    if ":" not in address:
        return address
    found = plain(address.partition("%")[0])
    return found.packed[:8].hex() if isinstance(found, IPv6Address) else str(found)


class RefusedConnection(asyncio.Protocol):
    """Answers 503 and closes; waits a moment for the caller to read it, unless many do."""

    _lingering = 0

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._dropped = 0

    def take(self, transport: asyncio.Transport) -> None:
        """Take a connection over from the protocol that it was made for, and refuse it."""
        self._transport = transport
        transport.set_protocol(self)
        if RefusedConnection._lingering >= MOST_LINGERING:
            transport.abort()
            return
        RefusedConnection._lingering += 1
        self._timer = asyncio.get_running_loop().call_later(LINGER_S, transport.abort)
        transport.write(BUSY)
        transport.write_eof()

    def data_received(self, data: bytes) -> None:
        """Drop what it sends: a close with unread data would take the answer back."""
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES and self._transport:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        del exc
        if self._timer:
            self._timer.cancel()
            RefusedConnection._lingering -= 1
