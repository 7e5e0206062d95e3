"""The handshake of a connection that was accepted without TLS, so that it counts from its start."""

import asyncio
import ssl

import structlog

CLOSING_S = 5.0
"""Time in which the other end has to agree that an encrypted connection ends."""

log = structlog.get_logger(__name__)


class EarlyBytes(asyncio.Protocol):
    """Keeps what comes between the end of a TLS handshake and the first look at the connection.

    Attributes:
        kept: what came.
        lost: whether the connection is gone.
        heir: what has taken the connection over since.
    """

    def __init__(self) -> None:
        self.kept, self.lost = b"", False
        self.heir: asyncio.Protocol | None = None

    def data_received(self, data: bytes) -> None:
        """Keep it."""
        self.kept += data

    def connection_lost(self, exc: Exception | None) -> None:
        """Remember it; asyncio may say so here after the connection was taken over."""
        self.lost = True
        if self.heir:
            self.heir.connection_lost(exc)


async def encrypted(
    transport: asyncio.Transport, heir: asyncio.Protocol, context: ssl.SSLContext, seconds: float
) -> tuple[asyncio.Transport, bytes] | None:
    """Go on behind TLS once both ends agree.

    Args:
        transport: the connection as it was accepted.
        heir: what the encrypted connection belongs to from then on; it is not called meanwhile.
        context: with the certificate that is shown.
        seconds: longest that the handshake may take.

    Returns:
        the encrypted connection and what came early; None = the connection is gone.
    """
    loop, early = asyncio.get_running_loop(), EarlyBytes()
    try:
        made = await loop.start_tls(
            transport,
            early,
            context,
            server_side=True,
            ssl_handshake_timeout=seconds,
            ssl_shutdown_timeout=CLOSING_S,
        )
    except OSError as error:
        address = (transport.get_extra_info("peername") or ("",))[0]
        log.debug("no TLS with a caller", address=address, error=str(error))
        return None
    if made is None or early.lost:
        return None
    early.heir = heir
    made.set_protocol(heir)
    return made, early.kept
