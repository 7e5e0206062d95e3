"""How a server shows that it knows the token before a client sends it (challenge and response).

The answer covers the address that the client connected to: a stranger on one port cannot pass
on the answer of the true server on another one. HMAC: RFC 2104.
"""

import hmac
import re
import secrets

from ganglion.identity.tokens import PREFIX as PERSONAL
from ganglion.identity.tokens import digest, token_id

PATH = "/api/v1/proof"
NONCE_BYTES = 32
LABEL = b"ganglion server proof 1"
"""Keeps these answers apart from any other use of the token as a key."""
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,128}")


def nonce() -> str:
    """A challenge that was never used before."""
    return secrets.token_urlsafe(NONCE_BYTES)


def is_nonce(text: str) -> bool:
    """Whether a text can be a challenge."""
    return bool(_NONCE.fullmatch(text))


def key_of(token: str) -> tuple[str, str]:
    """What a token proves with: its id for the challenge, and the key that both sides have.

    Of a personal token a server has the digest alone; every other token is its own key, without
    an id.
    """
    return (token_id(token), digest(token)) if token.startswith(PERSONAL) else ("", token)


def proof(token: str, challenge: str, authority: str) -> str:
    """The answer to a challenge.

    Args:
        token: the key that client and server share.
        challenge: see `nonce`.
        authority: `host:port` as the client sends it in `Host`; letter case does not matter.
    """
    said = b"\0".join((LABEL, challenge.encode(), authority.lower().encode()))
    return hmac.new(token.encode(), said, "sha256").hexdigest()


def matches(given: str, token: str, challenge: str, authority: str) -> bool:
    """Whether an answer proves knowledge of the token; takes equally long either way."""
    expected = proof(token, challenge, authority)
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
