"""Passwords of local users: how they are kept and checked, and how often they may be tried.

They are kept as Argon2id (RFC 9106) with the parameters that the OWASP Password Storage Cheat Sheet
gives as its least. Their length is what NIST SP 800-63B-4 asks of a password that is all there is.
"""

import asyncio
import threading
import unicodedata
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from ganglion.model.errors import FieldError, RateLimited
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.access.tries.limits import MOST_KEYS, RateLimit, Tries

MEMORY_KIB, PASSES, LANES = 19_456, 2, 1
SALT_BYTES, HASH_BYTES = 16, 32
FORM = f"$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}$"
"""How the PHC string of a password begins that is kept with the parameters of today."""
AT_ONCE = 2
"""Passwords that are hashed at once: each takes `MEMORY_KIB` of memory and a core."""
MOST_WAITING = 64
"""Passwords that are hashed or wait for it; further ones are refused."""

SHORTEST, LONGEST, LONGEST_BYTES = 15, 200, 800
"""Characters of a password, and bytes in UTF-8."""
FEWEST_DIFFERENT = 5
"""Different characters of a password."""

WRONG_OF_NETWORK = RateLimit(tries=30, per_s=600.0)
WRONG_OF_PAIR = RateLimit(tries=10, per_s=600.0)
"""Of one user from one network."""
WRONG_OF_USER = RateLimit(tries=100, per_s=3600.0)
"""Of one user, from all networks from which that user has not signed in."""
MOST_NAME = 200
"""Characters of a name that tries are counted by."""

T = TypeVar("T")


class Passwords:
    """Hashes and checks passwords, on a few threads of its own.

    Tries are counted as they begin and given back when they were right, so that those at the same
    time count, too. What a guesser uses up elsewhere stops no user at a network from which that
    user has signed in since the server started.

    Args:
        effects: clock and chance.
    """

    def __init__(self, effects: Effects = SYSTEM) -> None:
        self._effects, self._lock, self._waiting = effects, threading.Lock(), 0
        self._pool = ThreadPoolExecutor(AT_ONCE, "passwords")
        self._of_network, self._of_pair = Tries(WRONG_OF_NETWORK), Tries(WRONG_OF_PAIR)
        self._of_user = Tries(WRONG_OF_USER)
        self._seen: OrderedDict[str, None] = OrderedDict()

    def hashed(self, password: str) -> str:
        """The PHC string of a password; waits for it.

        Raises:
            RateLimited: too many are being hashed.
        """
        return self._begun(lambda: self._hashed(password)).result()

    async def hashed_soon(self, password: str) -> str:
        """The same, for event loops."""
        return await asyncio.wrap_future(self._begun(lambda: self._hashed(password)))

    def is_right(self, user: str, network: str, kept: str, password: str) -> bool:
        """Whether a password is the one that is kept; waits for it.

        Args:
            user: whose it is.
            network: where the try comes from.
            kept: PHC string; empty = there is no such user, and the answer takes as long.
            password: as it was typed.

        Raises:
            RateLimited: there were too many wrong tries, or too many are being checked.
        """
        self._take(user, network)
        found = self._begun(lambda: self._is_right(kept, password)).result()
        return self._counted(user, network, right=found)

    async def is_right_soon(self, user: str, network: str, kept: str, password: str) -> bool:
        """The same, for event loops."""
        self._take(user, network)
        begun = self._begun(lambda: self._is_right(kept, password))
        return self._counted(user, network, right=await asyncio.wrap_future(begun))

    def _begun(self, work: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._waiting >= MOST_WAITING:
                raise RateLimited.after(1, "too many passwords are being checked")
            self._waiting += 1
        begun = self._pool.submit(work)
        begun.add_done_callback(self._done)
        return begun

    def _done(self, _begun: Future[T]) -> None:
        with self._lock:
            self._waiting -= 1

    def _hashed(self, password: str) -> str:
        salt = self._effects.randomness.token_bytes(SALT_BYTES)
        made = Argon2id(
            salt=salt, length=HASH_BYTES, iterations=PASSES, lanes=LANES, memory_cost=MEMORY_KIB
        )
        return made.derive_phc_encoded(_plain(password))

    def _is_right(self, kept: str, password: str) -> bool:
        try:
            Argon2id.verify_phc_encoded(_plain(password), kept or self._of_nobody())
        except InvalidKey:
            return False
        return bool(kept)

    def _of_nobody(self) -> str:
        """A PHC string that no password has, as far as one can be found."""
        salt, made = map(self._effects.randomness.token_bytes, (SALT_BYTES, HASH_BYTES))
        return FORM + "$".join(b64encode(each).decode().rstrip("=") for each in (salt, made))

    def _take(self, user: str, network: str) -> None:
        now_s, counted = self._effects.clock.monotonic(), self._counts(user, network)
        with self._lock:
            wait_s = max(tries.wait_s(key, now_s, taking=False) for tries, key in counted)
            for tries, key in counted if not wait_s else ():
                tries.wait_s(key, now_s)
        if wait_s:
            raise RateLimited.after(wait_s, "too many wrong passwords")

    def _counted(self, user: str, network: str, *, right: bool) -> bool:
        """Give a try back that was right, and remember where it came from."""
        if right:
            now_s, pair = self._effects.clock.monotonic(), _pair(user, network)
            with self._lock:
                for tries, key in self._counts(user, network):
                    tries.spend(key, -1, now_s)
                self._seen[pair] = None
                self._seen.move_to_end(pair)
                if len(self._seen) > MOST_KEYS:
                    self._seen.popitem(last=False)
        return right

    def _counts(self, user: str, network: str) -> list[tuple[Tries, str]]:
        pair = _pair(user, network)
        found = [(self._of_network, network), (self._of_pair, pair)]
        return found if pair in self._seen else [*found, (self._of_user, user[:MOST_NAME])]


def is_current(kept: str) -> bool:
    """Whether a password is kept with the parameters of today."""
    return kept.startswith(FORM)


def check_password(user: str, password: str) -> None:
    """Check that a password may be one.

    Raises:
        FieldError: it may not; the message does not repeat it.
    """
    trouble = _trouble(user, unicodedata.normalize("NFC", password))
    if trouble:
        raise FieldError(
            trouble, key="password", hint="some words that do not belong together, and spaces"
        )


def _trouble(user: str, password: str) -> str:
    if not SHORTEST <= len(password) <= LONGEST:
        return f"it has to have {SHORTEST} to {LONGEST} characters, and has {len(password):,}"
    if not password.isprintable():
        return "it has characters that cannot be printed"
    if len(password.encode()) > LONGEST_BYTES:
        return f"it has more than {LONGEST_BYTES} bytes"
    if len(set(password)) < FEWEST_DIFFERENT or password.casefold() in user.casefold() * 10:
        return "it is too easy to guess"
    return ""


def _plain(password: str) -> bytes:
    """What is hashed: RFC 8265 has equal characters be one, whichever keyboard makes them."""
    return unicodedata.normalize("NFC", password).encode("utf-8", "replace")


def _pair(user: str, network: str) -> str:
    return f"{network} {user[:MOST_NAME]}"
