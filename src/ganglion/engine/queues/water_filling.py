"""Fair division of GPUs among queues, and down the queue tree; whole GPUs, exact integers.

Source: the division of KAI-Scheduler as its users observe it (published shares of 200 queue
trees are a test here), with the rounding of largest remainders (Hamilton). Unlike there, no
queue is given more than it asks for.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ganglion.model.resources import WHOLE

PARTS = 1_000_000
"""Past use of a claim is given in millionths of the whole capacity."""


class DivisionClaim(NamedTuple):
    """What one queue may ask of a division; amounts in thousandths of GPUs.

    Attributes:
        quota: what it is guaranteed; None = all there is.
        limit: most it may have; None = no bound.
        weight: its part of what no claim is guaranteed, relative to the others'; 0 = none.
        priority: queues of higher priority divide what is left over first.
        request: what it uses and waits for.
        past: its decayed use, in millionths of the whole capacity.
    """

    quota: int | None
    limit: int | None
    weight: int
    priority: int
    request: int
    past: int = 0

    @property
    def wanted(self) -> int:
        """The most that a share is good for."""
        return self.request if self.limit is None else min(self.request, self.limit)


def divide(total: int, claims: Sequence[DivisionClaim], correction: int = 0) -> list[int]:
    """Shares of `total` thousandths, one per claim; claims in order of age, the oldest first.

    1. Every claim gets its quota, as far as it wants it. Quotas are guarantees: when they add
       up to more than the total, so do the shares.
    2. What is left goes to one priority after the other, by weight; a part that does not
       cover all that is wanted is rounded down to whole GPUs.
    3. What rounding left goes out GPU by GPU: higher priority first, then the largest
       fraction, then the older.

    Args:
        total: thousandths of GPUs.
        claims: one per queue.
        correction: how strongly past use lowers the weight, in thousandths; 0 = not at all.
    """
    everything = max(total, 0)
    wanted = [each.wanted for each in claims]
    shares = [
        min(everything if each.quota is None else each.quota, want)
        for each, want in zip(claims, wanted, strict=True)
    ]
    left = total - sum(shares)
    if left <= 0:
        return shares
    peers: dict[int, list[int]] = {}
    for i, each in enumerate(claims):
        if shares[i] < wanted[i] and each.weight > 0:
            peers.setdefault(-each.priority, []).append(i)
    rounded: list[int] = []
    for priority in sorted(peers):
        rounds = _Rounds(claims, correction, wanted, shares)
        left = rounds.run(left, peers[priority])
        rounded += rounds.by_fraction()
    for i in rounded:
        given = min(WHOLE, left, wanted[i] - shares[i])
        shares[i] += given
        left -= given
    return shares


class _Rounds:
    """Step 2 for claims of one priority, added to `shares`."""

    def __init__(
        self, claims: Sequence[DivisionClaim], correction: int, wanted: list[int], shares: list[int]
    ) -> None:
        self._claims, self._correction = claims, correction
        self._wanted, self._shares = wanted, shares
        self._fractions: dict[int, tuple[int, int]] = {}

    def run(self, left: int, peers: list[int]) -> int:
        """Divide until no claim needs less than its part; returns what is left."""
        while left > 0 and peers:
            given, again = self._round(left, peers)
            left -= given
            if not again:
                break
            peers = [i for i in peers if self._shares[i] < self._wanted[i]]
        return left

    def by_fraction(self) -> list[int]:
        """Claims that were rounded down, the largest fraction first, then the oldest."""
        return sorted(self._fractions, key=lambda i: (-_scaled(*self._fractions[i]), i))

    def _round(self, pot: int, peers: list[int]) -> tuple[int, bool]:
        weights = self._weights(peers)
        whole = sum(weights)
        if not whole:
            return 0, False
        unit, again, spent = whole * WHOLE, False, 0
        for i, weight in zip(peers, weights, strict=True):
            part, want = pot * weight, self._wanted[i] - self._shares[i]
            if part >= want * whole:
                again = again or part > want * whole
                self._fractions.pop(i, None)
                given = want
            else:
                units, fraction = divmod(part, unit)
                given = units * WHOLE
                if fraction:
                    self._fractions[i] = (fraction, unit)
            self._shares[i] += given
            spent += given
        return spent, again

    def _weights(self, peers: list[int]) -> list[int]:
        claims, correction = self._claims, self._correction
        weights = [claims[i].weight for i in peers]
        if not correction:
            return weights
        whole = sum(weights)
        return [
            max(0, weight * (WHOLE + correction) * PARTS - correction * claims[i].past * whole)
            for i, weight in zip(peers, weights, strict=True)
        ]


def _scaled(fraction: int, unit: int) -> int:
    """A fraction of a GPU in units of 2**-64, so that fractions of all rounds compare."""
    return (fraction << 64) // unit


def divide_tree(
    total: int, claims: Mapping[str, DivisionClaim], parents: Mapping[str, str], correction: int = 0
) -> dict[str, int]:
    """Divide among the roots, then every share among the children of its queue.

    Args:
        total: thousandths of GPUs.
        claims: by queue, in order of age; requests of inner queues included.
        parents: queue -> its parent; empty = a root.
        correction: see `divide`.

    Returns:
        The share of every queue, in thousandths of GPUs.
    """
    children: dict[str, list[str]] = {}
    for name in claims:
        children.setdefault(parents[name], []).append(name)
    shares: dict[str, int] = {}
    groups = [(total, "")]
    while groups:
        amount, above = groups.pop()
        names = children.get(above)
        if names:
            found = divide(amount, [claims[name] for name in names], correction)
            shares.update(zip(names, found, strict=True))
            groups += zip(found, names, strict=True)
    return shares
