"""Links by which the owner of a server opens the portal, each of them once."""

from threading import Lock

from ganglion.identity.tokens import digest
from ganglion.seams.randomness import Randomness

LASTING_MS = 3_600_000
"""How long a link counts."""
MOST = 16
"""Links that count at once; the oldest is forgotten first."""
CODE_BYTES = 32


class PortalLinks:
    """Remembers digests of codes until they are used; they end with the server.

    Safe from any thread.

    Args:
        randomness: makes the codes.
    """

    def __init__(self, randomness: Randomness) -> None:
        self._randomness, self._until, self._lock = randomness, dict[str, int](), Lock()

    def make(self, now_ms: int) -> tuple[str, int]:
        """Make a code; returns it and until when it counts, in ms."""
        code, until = self._randomness.token_urlsafe(CODE_BYTES), now_ms + LASTING_MS
        with self._lock:
            self._until[digest(code)] = until
            while len(self._until) > MOST:
                del self._until[next(iter(self._until))]
        return code, until

    def take(self, code: str, now_ms: int) -> bool:
        """Whether a code counts, which it does no more afterwards."""
        with self._lock:
            until = self._until.pop(digest(code), 0)
        return now_ms < until
