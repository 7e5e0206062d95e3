"""One-time tickets that admit a browser; the server makes them from the key of a service."""

import hmac

from ganglion.seams.randomness import SYSTEM_RANDOMNESS, Randomness

TICKET = "ganglion-ticket"
"""Query parameter that admits one browser once and gives it a cookie."""
TICKET_S = 300
"""How long a ticket may be used."""


def ticket(key: str, now_s: float, randomness: Randomness = SYSTEM_RANDOMNESS) -> str:
    """Return a ticket for a service; valid once, for `TICKET_S`."""
    said = f"{int(now_s) + TICKET_S}.{randomness.token_urlsafe(12)}"
    return f"{said}.{mac(key, 'ticket', said)}"


def until(given: str, key: str, now_s: float) -> int:
    """When a ticket ends, in s since 1970; 0 = it is none of this key, or has ended."""
    said, _, found = given.rpartition(".")
    expiry = said.partition(".")[0]
    if not same(found, mac(key, "ticket", said)) or not expiry.isdigit():
        return 0
    return int(expiry) if int(expiry) >= now_s else 0


def mac(key: str, *words: str) -> str:
    """Return the HMAC of a text (RFC 2104)."""
    return hmac.new(key.encode(), "\0".join(words).encode(), "sha256").hexdigest()


def same(given: str, expected: str) -> bool:
    """Compare secrets in the same time, whatever differs."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
