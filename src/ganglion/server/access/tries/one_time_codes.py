"""One-time codes that browsers send: none that others can read, and few that are wrong."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ganglion.model.errors import Forbidden, RateLimited
from ganglion.server.access.denials import Denials
from ganglion.server.access.tries.limits import RateLimit, Tries
from ganglion.transport.hosts import is_loopback
from ganglion.transport.limits import network_of

if TYPE_CHECKING:
    from ganglion.seams.clock import Clock

WRONG_CODES = RateLimit(tries=30, per_s=600.0)
"""Of a network. Codes are too long to be guessed: this bounds what is written about them."""


class OneTimeCodes:
    """Looks at the codes of one kind of link.

    Args:
        denials: takes down what was refused.
        clock: steady time.
        operation: what denials call it.
        secure: whether browsers reach this server by TLS, to itself or to a proxy before it.
    """

    def __init__(self, denials: Denials, clock: "Clock", operation: str, *, secure: bool) -> None:
        self._denials, self._clock, self._operation = denials, clock, operation
        self._secure, self._wrong = secure, Tries(WRONG_CODES)

    async def require(
        self, look: Callable[[], Awaitable[None]], address: str, scheme: str, user: str = ""
    ) -> None:
        """Have a code looked at.

        Args:
            look: raises Forbidden if the code does not count.
            address: where it comes from; empty = a Unix socket.
            scheme: of the request's URL.
            user: who sends it; empty = not known.

        Raises:
            Forbidden: it does not count, or the way it came by can be read by others.
            RateLimited: too many of that network did not count.
        """
        safe = self._secure or scheme == "https"
        if not (safe or not address or is_loopback(address)):
            raise Forbidden(
                "others on the network can read this link", "open it by https, or on the server"
            )
        now_s, network = self._clock.monotonic(), network_of(address)
        wait_s = self._wrong.wait_s(network, now_s, taking=False)
        if wait_s:
            raise RateLimited.after(wait_s, "too many wrong codes")
        try:
            await look()
        except Forbidden as error:
            self._wrong.wait_s(network, now_s)
            await self._denials.note(user, self._operation, error.message)
            raise
