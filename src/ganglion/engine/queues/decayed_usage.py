"""Past use of queues and users, which counts for half after every half-life.

What was used at time t counts `2 ** -((now - t) / half_life)` as much as what is used now. Sums
are kept as if weights grew by `2 ** (t / half_life)` instead, so that nothing has to be touched
while time passes, and so that it does not matter how often a sum is brought up to date.

Weights come from a table of 1024 steps per half-life and straight lines between them. Those lie
at most 60 billionths above the curve, and their slope is off by at most 0.04 %, which is then
the error of use within one step. Source: forward decay (Cormode and others, ICDE 2009).
"""

from collections.abc import Iterable
from copy import copy

from msgspec import Struct

_STEPS = 1024
_BITS = 40
_LN2_MILLIONTHS = 693_147
_MILLION = 1_000_000


def _root(number: int) -> int:
    """The integer square root, by Newton's method."""
    guess = 1 << ((number.bit_length() + 1) >> 1)
    while True:
        better = (guess + number // guess) >> 1
        if better >= guess:
            return guess
        guess = better


def _powers() -> tuple[int, ...]:
    """`2 ** (k / 1024)` for k = 0..1024, in units of 2**-40."""
    step = 2 << 2 * _BITS
    for _ in range(10):
        step = _root(step << 2 * _BITS)
    powers = [1 << 2 * _BITS]
    for _ in range(_STEPS):
        powers.append((powers[-1] * step) >> 2 * _BITS)
    return tuple((each + (1 << (_BITS - 1))) >> _BITS for each in powers)


_POWERS = _powers()


class Sum(Struct):
    """One sum.

    Attributes:
        milli: in use since `at`, in thousandths of GPUs.
        at: time up to which use is summed up, in ms.
        weighted: use x weight, the weight being 1 at the start of `at`'s half-life.
    """

    milli: int = 0
    at: int = 0
    weighted: int = 0


Image = list[tuple[tuple[str, str | None], Sum | None]]
"""Some sums, by queue and user, as they were at a time."""


class PastUse:
    """Decayed use of queues, and of users in queues. All calls do nothing without a half-life.

    Args:
        half_life_ms: use counts half after so long; 0 = nothing is remembered.
    """

    def __init__(self, half_life_ms: int = 0) -> None:
        self.half_life_ms = half_life_ms
        self._sums: dict[tuple[str, str | None], Sum] = {}

    def charge(self, path: Iterable[str], user: str, gpu_milli: int, sign: int, now: int) -> None:
        """A gang takes (`sign` 1) or gives back (-1) GPUs.

        Args:
            path: its queue and all above it; the user is counted in each of them.
            user: whose gang it is.
            gpu_milli: thousandths of GPUs.
            sign: 1 or -1.
            now: the time in ms; news from before an earlier call count from that call on.
        """
        if not self.half_life_ms or not gpu_milli:
            return
        for queue in path:
            for key in ((queue, None), (queue, user)):
                self._add(key, sign * gpu_milli, now)

    def sums(self) -> dict[tuple[str, str | None], Sum]:
        """All sums by queue and user; None = of all its users."""
        return self._sums

    def image(self, path: Iterable[str], user: str) -> Image:
        """The sums of queues, and of a user in them, as they are now."""
        keys = [(queue, whose) for queue in path for whose in (None, user)]
        return [(key, copy(self._sums.get(key))) for key in keys]

    def restore(self, image: Image) -> None:
        """Some sums are as in an earlier image."""
        for key, each in image:
            if each is None:
                self._sums.pop(key, None)
            else:
                self._sums[key] = each

    def level(self, queue: str, now: int) -> int:
        """Decayed use of a queue, subtree included, in thousandths of GPUs x ms."""
        return self._level((queue, None), now)

    def of_user(self, queue: str, user: str, now: int) -> int:
        """Decayed use of one user in a queue, in thousandths of GPUs x ms."""
        return self._level((queue, user), now)

    def mean(self, queue: str, now: int, user: str | None = None) -> int:
        """The steady use, in thousandths of GPUs, that would have given the present level."""
        if not self.half_life_ms:
            return 0
        level = self._level((queue, user), now)
        return level * _LN2_MILLIONTHS // (self.half_life_ms * _MILLION)

    def forget(self, queue: str) -> None:
        """A queue was removed."""
        for key in [key for key in self._sums if key[0] == queue]:
            del self._sums[key]

    def change(self, half_life_ms: int, now: int) -> None:
        """Decay by another half-life from now on; levels stay what they are."""
        levels = {key: self._level(key, now) for key in self._sums}
        self.half_life_ms = half_life_ms
        if not half_life_ms:
            self._sums = {}
        for key, each in self._sums.items():
            each.at = now
            each.weighted = (
                levels[key] * self._weight(now) * _LN2_MILLIONTHS // (half_life_ms * _MILLION)
            )

    def _add(self, key: tuple[str, str | None], milli: int, now: int) -> None:
        each = self._sums.get(key)
        if each is None:
            each = self._sums[key] = Sum(at=now)
        each.weighted, each.at = self._summed(each, now), max(now, each.at)
        each.milli += milli

    def _level(self, key: tuple[str, str | None], now: int) -> int:
        each = self._sums.get(key)
        if each is None:
            return 0
        unit = _LN2_MILLIONTHS * self._weight(now)
        return self._summed(each, now) * self.half_life_ms * _MILLION // unit

    def _summed(self, each: Sum, now: int) -> int:
        """Use x weight up to now, the weight being 1 at the start of the present half-life."""
        if now <= each.at:
            return each.weighted
        passed = now // self.half_life_ms - each.at // self.half_life_ms
        start = self._weight(each.at)
        return (
            (each.weighted >> passed)
            + each.milli * self._weight(now)
            - ((each.milli * start) >> passed)
        )

    def _weight(self, time: int) -> int:
        """`2 ** (part of a half-life that has passed)`, in units of 2**-40."""
        step, rest = divmod(time % self.half_life_ms * _STEPS, self.half_life_ms)
        low, high = _POWERS[step], _POWERS[step + 1]
        return low + (high - low) * rest // self.half_life_ms
