"""How many nodes to keep switched on while the rest sleeps.

What was needed lately is kept, the longer ago the less of it: the maximum of the last hour less
a little, that of the last half hour, of the last minutes and of this moment with a little more
each. On top of that comes a margin that sets itself: every minute in which nodes were short
raises it at once, every other one lowers it, in such a proportion that in the long run only the
part of the minutes is short that was asked for.

Source: Gibbs and Candès, "Adaptive Conformal Inference Under Distribution Shift", NeurIPS 2021;
the reference it is measured against keeps the maximum of a window plus a fixed number.
"""

from collections import deque
from collections.abc import Sequence

from msgspec import Struct

PPM = 1_000_000

ENVELOPE = ((1, 3), (5, 3), (30, 0), (60, -2))
"""(minutes, nodes): the maximum of these minutes counts with this number of nodes more."""


class Peak:
    """The maximum of the last values.

    Args:
        length: how many values.
    """

    def __init__(self, length: int) -> None:
        self._length, self._number = length, 0
        self._falling: deque[tuple[int, int]] = deque()

    def add(self, value: int) -> int:
        """Take one value in; returns the maximum."""
        while self._falling and self._falling[-1][1] <= value:
            self._falling.pop()
        self._falling.append((self._number, value))
        self._number += 1
        while self._falling[0][0] <= self._number - 1 - self._length:
            self._falling.popleft()
        return self._falling[0][1]


class PowerWish(Struct, frozen=True):
    """What is asked of the nodes that are on.

    Attributes:
        short_ppm: minutes of a million in which there may be too few.
        step: nodes by which one short minute raises the margin.
        most: largest margin, in nodes.
        envelope: see `ENVELOPE`.
    """

    short_ppm: int = 1_200
    step: int = 1
    most: int = 40
    envelope: tuple[tuple[int, int], ...] = ENVELOPE


class Keep:
    """Decides minute by minute how many nodes are on in the next one; a pure function of the past.

    Args:
        wish: what is asked for.
        margin: nodes on top of the envelope at the beginning.
    """

    def __init__(self, wish: PowerWish | None = None, margin: int = 8) -> None:
        self._wish = wish or PowerWish()
        self._peaks = [(Peak(minutes), more) for minutes, more in self._wish.envelope]
        self._margin_ppm = margin * PPM

    @property
    def margin(self) -> int:
        """Nodes on top of the envelope."""
        return -(-self._margin_ppm // PPM)

    def next(self, needed: int, *, short: bool) -> int:
        """How many nodes to have on in the next minute.

        Args:
            needed: nodes that had work in this minute, or would have had if they had been on.
            short: whether there were too few.
        """
        wish = self._wish
        change = PPM - wish.short_ppm if short else -wish.short_ppm
        moved = self._margin_ppm + wish.step * change
        self._margin_ppm = min(max(moved, 0), wish.most * PPM)
        return max(peak.add(needed) + more for peak, more in self._peaks) + self.margin


def replayed(needed: Sequence[int], there: Sequence[int], wake: int = 1) -> list[int]:
    """Nodes on in every minute of a past, decided by `Keep` without a look ahead.

    Args:
        needed: nodes with work, by minute.
        there: nodes that exist, by minute; all of them are on at first.
        wake: minutes from a decision until the nodes are on.
    """
    keep, wanted, found = Keep(), deque[int](), list[int]()
    for now, (need, most) in enumerate(zip(needed, there, strict=True)):
        on = most if now < wake else min(wanted.popleft(), most)
        found.append(on)
        wanted.append(keep.next(need, short=need > on))
    return found
