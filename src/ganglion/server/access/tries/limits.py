"""How often something may be tried: a bucket of tries per key, in bounded memory."""

import threading
from collections import OrderedDict
from math import ceil

from msgspec import Struct

MOST_KEYS = 10_000
"""Keys that are remembered; the one that tried least recently is forgotten first."""


class RateLimit(Struct, frozen=True):
    """A bucket holds `tries`, and fills from empty to full in `per_s` seconds."""

    tries: int
    per_s: float


class _Bucket(Struct):
    left: float
    at: float


class Tries:
    """Counts tries by key. Safe from any thread.

    Args:
        limit: of every key.
        most: keys that are remembered.
    """

    def __init__(self, limit: RateLimit, most: int = MOST_KEYS) -> None:
        self._limit, self._most, self._lock = limit, most, threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_s(self, key: str, now_s: float, *, taking: bool = True) -> int:
        """Take one try of a key; returns whole seconds until there is one, 0 = it was taken.

        Args:
            key: an address, a user or a session.
            now_s: monotonic time.
            taking: False = only look whether there is one.
        """
        with self._lock:
            bucket = self._filled(key, now_s)
            if bucket.left < 1:
                return self._until(1 - bucket.left)
            bucket.left -= taking
            return 0

    def spend(self, key: str, tries: float, now_s: float) -> None:
        """Take further tries of a key, also such as it does not have yet."""
        with self._lock:
            self._filled(key, now_s).left -= tries

    def debt_s(self, key: str, now_s: float) -> int:
        """Whole seconds until a key has paid for what it spent; 0 = it has."""
        with self._lock:
            return self._until(max(0.0, -self._filled(key, now_s).left))

    def _filled(self, key: str, now_s: float) -> _Bucket:
        """The bucket of a key, as full as it is by now."""
        bucket = self._buckets.pop(key, None) or _Bucket(self._limit.tries, now_s)
        self._buckets[key] = bucket
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        gained = (now_s - bucket.at) * self._limit.tries / self._limit.per_s
        bucket.left, bucket.at = min(self._limit.tries, bucket.left + gained), now_s
        return bucket

    def _until(self, tries: float) -> int:
        return ceil(round(tries * self._limit.per_s / self._limit.tries, 6))
