"""Command lines that wait for a user to confirm them in a browser, as RFC 8628 describes.

They are kept in memory: a pairing ends with the server.
"""

from collections.abc import Iterator
from enum import Enum, auto
from hashlib import sha256

from msgspec import Struct

from ganglion.seams.randomness import Randomness

LASTING_MS = 600_000
"""How long a user may take, and for how long it is said afterwards that it took too long."""
INTERVAL_MS = 5_000
"""How long a command waits between two questions; a hasty one waits longer by that."""
FETCH_MS = 60_000
"""How long a command may take to fetch a token that was made for it, at least."""
MOST = 10_000
"""Pairings at once; the oldest goes when another one begins."""
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Of codes: no vowels, so that they make no words, and no letter looks like another one."""
LENGTH, GROUP = 8, 4
"""Letters of a code; they are shown in groups."""
BYTES = 32


class PairingState(Enum):
    """What became of a pairing."""

    OPEN = auto()
    DECIDED = auto()
    """The user has confirmed it, and the token is being made."""
    CONFIRMED = auto()
    REFUSED = auto()


class Pairing(Struct):
    """One command line.

    Attributes:
        digest: SHA-256 of the secret that only the command has.
        code: what the user compares, without a hyphen.
        label: how the command names itself.
        days: how long it wants its token to count.
        address: where its request came from.
        begun_ms: when that was.
        until_ms: when it ends.
        interval_ms: how long the command has to wait between two questions.
        asked_ms: when it asked last.
        state: what became of it.
        token: made for it, and not fetched yet; empty = there is none.
        token_until_ms: when that expires.
        user: whose token it is.
    """

    digest: bytes
    code: str
    label: str
    days: int
    address: str
    begun_ms: int
    until_ms: int
    interval_ms: int
    asked_ms: int
    state: PairingState = PairingState.OPEN
    token: str = ""
    token_until_ms: int = 0
    user: str = ""

    @property
    def shown(self) -> str:
        """The code as people read it."""
        return f"{self.code[:GROUP]}-{self.code[GROUP:]}"


class PairingAnswer(Struct, frozen=True):
    """What a command that asks is answered.

    Attributes:
        error: of RFC 8628 or RFC 6749; empty = it gets its token.
        why: one sentence about the error.
        token: the personal token; nothing else has it.
        until_ms: when that expires.
        user: whose token it is.
    """

    error: str = ""
    why: str = ""
    token: str = ""
    until_ms: int = 0
    user: str = ""


UNKNOWN = PairingAnswer(
    "invalid_grant",
    "this server knows no such pairing: its token was handed out already, or the server was"
    " restarted since",
)
TOO_LATE = PairingAnswer("expired_token", "it was not confirmed within ten minutes")
REFUSED = PairingAnswer("access_denied", "it was refused in the browser")
PENDING = PairingAnswer("authorization_pending", "it is neither confirmed nor refused yet")


class Pairings:
    """Each one gives one token, to the holder of its secret.

    Args:
        randomness: makes codes and secrets.
    """

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._known: dict[bytes, Pairing] = {}
        self._by_code: dict[str, Pairing] = {}

    def begin(self, label: str, days: int, address: str, now_ms: int) -> tuple[Pairing, str]:
        """Begin a pairing.

        Args:
            label: how the command names itself.
            days: how long it wants its token to count.
            address: where its request came from.
            now_ms: the time.

        Returns:
            the pairing, and the secret of the command, which is kept nowhere.
        """
        for each in list(self._stale(now_ms)):
            self._forget(each)
        secret = self._randomness.token_urlsafe(BYTES)
        code = next(each for each in self._codes() if each not in self._by_code)
        until = now_ms + LASTING_MS
        made = Pairing(
            _digest(secret), code, label, days, address, now_ms, until, INTERVAL_MS, now_ms
        )
        self._known[made.digest] = self._by_code[code] = made
        return made, secret

    def find(self, code: str, now_ms: int) -> Pairing | None:
        """The pairing of a code that a user may decide about; None = there is none.

        Args:
            code: as a user types it, in letters of any case.
            now_ms: the time.
        """
        found = self._by_code.get("".join(code.upper().replace("-", "").split()))
        if found is None or found.state is not PairingState.OPEN or now_ms >= found.until_ms:
            return None
        return found

    def decide(self, pairing: Pairing, now_ms: int) -> None:
        """Take a pairing out of those that may be decided about, while its token is made."""
        pairing.state = PairingState.DECIDED
        pairing.until_ms = max(pairing.until_ms, now_ms + FETCH_MS)

    def answer(self, secret: str, now_ms: int) -> PairingAnswer:
        """Answer a command that asks what became of its pairing; hands a token out once.

        Args:
            secret: of the command.
            now_ms: the time.
        """
        found = self._known.get(_digest(secret))
        if found is None:
            return UNKNOWN
        if found.state is PairingState.REFUSED:
            return REFUSED
        if now_ms >= found.until_ms:
            return TOO_LATE
        if found.state is PairingState.CONFIRMED:
            self._forget(found)
            return PairingAnswer("", "", found.token, found.token_until_ms, found.user)
        hasty = now_ms - found.asked_ms < found.interval_ms
        found.asked_ms = now_ms
        if hasty:
            found.interval_ms += INTERVAL_MS
            return PairingAnswer("slow_down", f"ask every {found.interval_ms // 1000} s")
        return PENDING

    def _stale(self, now_ms: int) -> Iterator[Pairing]:
        """Those that are forgotten when another one begins, the oldest first."""
        left = len(self._known)
        for each in self._known.values():
            if left < MOST and now_ms < each.until_ms + LASTING_MS:
                return
            left -= 1
            yield each

    def _forget(self, pairing: Pairing) -> None:
        del self._known[pairing.digest], self._by_code[pairing.code]

    def _codes(self) -> Iterator[str]:
        while True:
            number, code = int.from_bytes(self._randomness.token_bytes(BYTES)), ""
            for _ in range(LENGTH):
                number, letter = divmod(number, len(LETTERS))
                code += LETTERS[letter]
            yield code


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "replace")).digest()
