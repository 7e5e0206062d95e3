"""Slows callers down whose tokens count for nothing."""

from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganglion.model.errors import RateLimited
from ganglion.server.access.denials import Denials
from ganglion.server.access.tries.limits import RateLimit, Tries
from ganglion.server.rest.listening.connections import PEER
from ganglion.server.rest.problems import answer
from ganglion.transport.limits import network_of

if TYPE_CHECKING:
    from ganglion.seams.clock import Clock

WRONG_TOKENS = RateLimit(tries=30, per_s=60.0)
"""Requests with tokens that count for nothing, by address."""
UNAUTHORIZED = 401
OPERATION = "authenticate"
"""What the event of a denial says that such a caller wanted."""


class TokenLimit:
    """Answers 429 in the place of 401 once an address over TCP has sent too many wrong tokens.

    Only refusals count and only refusals change: a token that is right passes from every address,
    so that a caller behind a proxy or NAT cannot lock out its neighbours. It bounds what is
    written about wrong tokens; tokens themselves are too long to be guessed.

    Args:
        app: the guard, which answers 401 to a token that counts for nothing.
        denials: records the first refusal of a minute.
        clock: steady time.
        limit: of every address; of IPv6, of every /64.
    """

    def __init__(
        self, app: ASGIApp, denials: Denials, clock: "Clock", limit: RateLimit = WRONG_TOKENS
    ) -> None:
        self._app, self._denials, self._clock = app, denials, clock
        self._tries = Tries(limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and look at how it is answered."""
        near = scope["type"] == "lifespan" or PEER in scope.get("state", {})
        if near or "authorization" not in Headers(scope=scope):
            await self._app(scope, receive, send)
            return
        refused = False

        async def counted(message: Message) -> None:
            nonlocal refused
            if refused:
                return  # the rest of the answer that is not sent
            begins = message["type"].endswith("http.response.start")
            if begins and message["status"] == UNAUTHORIZED:
                address = network_of((scope.get("client") or ("",))[0])
                wait_s = self._tries.wait_s(address, self._clock.monotonic())
                if wait_s:
                    refused = True
                    rule = f"too many wrong tokens from {address}"
                    await self._denials.note("", OPERATION, rule)
                    await answer(RateLimited.after(wait_s, rule))(scope, receive, send)
                    return
            await send(message)

        await self._app(scope, receive, counted)
