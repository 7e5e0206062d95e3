"""ID tokens that were exchanged: each one counts once."""

from collections.abc import Mapping
from hashlib import sha256
from heapq import heappop, heappush
from typing import Any

MOST = 100_000
"""ID tokens that are remembered at once."""


class SpentTokens:
    """Remembers ID tokens until they have expired; keeps digests alone.

    Args:
        most: at once.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known = set[bytes]()
        self._ends = list[tuple[float, bytes]]()

    def has_room(self, now_s: float) -> bool:
        """Whether another one can be remembered; forgets those that have expired."""
        while self._ends and self._ends[0][0] < now_s:
            self._known.discard(heappop(self._ends)[1])
        return len(self._known) < self._most

    def spend(self, mark: bytes, until_s: float) -> bool:
        """Remember an ID token; returns whether it was new.

        Args:
            mark: as `mark_of` returned it.
            until_s: from when on it is refused as expired anyway.
        """
        if mark in self._known:
            return False
        self._known.add(mark)
        heappush(self._ends, (until_s, mark))
        return True

    def give_back(self, mark: bytes) -> None:
        """Forget an ID token for which there was no personal token after all."""
        self._known.discard(mark)
        self._ends = sorted(each for each in self._ends if each[1] != mark)


def mark_of(token: str, claims: Mapping[str, Any]) -> bytes:
    """What an ID token is remembered by: its issuer and `jti`, or what was signed.

    The signature is left out: some algorithms let everyone write another one that counts, too.
    """
    name = claims.get("jti")
    kind, text = ("jti", name) if isinstance(name, str) and name else ("", token.rpartition(".")[0])
    return sha256("\0".join((kind, str(claims["iss"]), text)).encode("utf-8", "replace")).digest()
