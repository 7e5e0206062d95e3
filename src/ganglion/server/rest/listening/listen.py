"""Serving until a request to end: uvicorn on sockets that were taken."""

import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import structlog
import uvicorn
from starlette.types import ASGIApp

from ganglion.server.rest.listening.connections import Conversation, limited
from ganglion.tracing import spans
from ganglion.transport.limits import BACKLOG, IDLE_S, affordable

if TYPE_CHECKING:  # a scheduler of clusters has no TLS, and no `cryptography`
    from ganglion.transport.tls.certificate import ServedCertificate

LAST_WORDS_S = 3
"""How long requests may take to finish once the server is asked to end."""
MOST_CALLERS = 2_048
"""Default limit of connections over TCP."""

log = structlog.get_logger(__name__)


class HttpListener(uvicorn.Server):
    """Serves until a signal or `halt`.

    Args:
        app: the application.
        ready: called once clients can connect.
        leaving: called when the end begins, so that endless answers end.
        most: callers over TCP at once; one address may have half of them. Fewer where the limit
            of open files is too low for them.
        certificate: what callers over TCP are shown; None = they speak plain HTTP.
        shared: address of the socket for other accounts; empty = there is none.
    """

    def __init__(
        self,
        app: ASGIApp,
        ready: Callable[[], None],
        leaving: Callable[[], None],
        most: int = MOST_CALLERS,
        certificate: "ServedCertificate | None" = None,
        shared: str = "",
    ) -> None:
        able = affordable(most)
        if able < most:
            log.info("fewer callers than wanted: open files are limited", most=able, wanted=most)
        super().__init__(
            uvicorn.Config(
                app,
                http=limited(able, certificate, shared),
                backlog=BACKLOG,
                timeout_keep_alive=int(IDLE_S),
                ws=Conversation,
                proxy_headers=False,  # no proxy is trusted to say who calls
                log_config=None,
                access_log=False,
                lifespan="on",
                server_header=False,
                timeout_graceful_shutdown=LAST_WORDS_S,
            )
        )
        self._ready, self._leaving = ready, leaving

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        if not self.should_exit:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal ends the server."""
        self._leaving()
        super().handle_exit(sig, frame)

    def halt(self) -> None:
        """End the server. Safe from any thread."""
        self._leaving()
        self.should_exit = True

    def serve_until_told(self, *taken: socket.socket) -> None:
        """Serve; returns after SIGTERM, SIGINT or `halt`."""
        spans.called("ganglion-server")
        # uvicorn raises the signals again that it was ended by; here they have done their work.
        heeded = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self._told) for number in heeded}
        try:
            self.run(sockets=list(taken))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _told(self, _number: int, _frame: FrameType | None) -> None:
        self.should_exit = True
