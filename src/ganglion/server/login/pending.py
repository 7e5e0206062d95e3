"""Sign-ins that have begun and have not come back from the provider yet."""

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256

from msgspec import Struct

from ganglion.seams.randomness import Randomness

LASTING_MS = 600_000
"""How long a user may take at the provider."""
MOST = 10_000
"""Sign-ins at once; the oldest goes when another one begins."""
BYTES = 32


class PendingSignIn(Struct, frozen=True):
    """One sign-in.

    Attributes:
        state: comes back from the provider with the browser.
        nonce: comes back in the ID token.
        verifier: shows the provider that who redeems the code is who asked for it.
        browser: secret in a cookie of the browser that began.
        target: path to go to afterwards.
        until_ms: when it ends.
    """

    state: str
    nonce: str
    verifier: str
    browser: str
    target: str
    until_ms: int

    @property
    def challenge(self) -> str:
        """What the provider gets of the verifier, by S256 of RFC 7636."""
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


class PendingSignIns:
    """Each one can be taken once.

    Args:
        randomness: makes secrets.
    """

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._open: dict[str, PendingSignIn] = {}

    def begin(self, browser: str, target: str, now_ms: int) -> PendingSignIn:
        """Begin a sign-in.

        Args:
            browser: secret that the browser has from one before; empty = it has none.
            target: path to go to afterwards.
            now_ms: the time.
        """
        while self._open and self._is_done(next(iter(self._open.values())), now_ms):
            del self._open[next(iter(self._open))]
        state, nonce, verifier, made = (self._randomness.token_urlsafe(BYTES) for _ in range(4))
        found = PendingSignIn(state, nonce, verifier, browser or made, target, now_ms + LASTING_MS)
        self._open[state] = found
        return found

    def take(self, state: str, browser: str, now_ms: int) -> PendingSignIn | None:
        """The sign-in of a state; None = there is none, it is over, or another browser began."""
        found = self._open.get(state)
        if found is None or not hmac.compare_digest(found.browser.encode(), browser.encode()):
            return None
        del self._open[state]
        return found if now_ms < found.until_ms else None

    def _is_done(self, attempt: PendingSignIn, now_ms: int) -> bool:
        return len(self._open) >= MOST or attempt.until_ms <= now_ms
