"""From GPU time and prices to money, exactly.

Money is kept as GPU-microseconds times millionths per GPU-hour, so that nothing is rounded and sums
over parts are the sum over the whole. It is rounded once, when figures are shown: see `rounded`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from ganglion.metering.intervals import SupplyInterval, UsageInterval
from ganglion.pricing.book import PriceBook, PriceState, PriceTable

HOUR_GPU_US = 3_600_000_000
"""GPU-microseconds of one GPU-hour: as many units of exact money are one millionth."""

HeldIn = dict[PriceState, int]
"""GPU-microseconds by the prices that held meanwhile."""


class Charge(Struct, gc=False):
    """What GPU time costs, as exact money.

    Attributes:
        cost: by the prices that are known now.
        corrected: the part of it that came by prices that were set after the time they are about.
        standard: the same time by the prices of the flavor for all kinds of workloads.
        unpriced_gpu_us: GPU time that has no price, and no part in the sums.
        corrections: number of each such price -> what it changed; they add up to `corrected`.
    """

    cost: int = 0
    corrected: int = 0
    standard: int = 0
    unpriced_gpu_us: int = 0
    corrections: dict[int, int] = field(default_factory=dict)

    def plus(self, other: "Charge") -> None:
        """Add to it."""
        self.cost += other.cost
        self.corrected += other.corrected
        self.standard += other.standard
        self.unpriced_gpu_us += other.unpriced_gpu_us
        for number, change in other.corrections.items():
            self.corrections[number] = self.corrections.get(number, 0) + change


class _Rate(Struct, frozen=True):
    """What one GPU-microsecond costs while some prices hold.

    Attributes:
        price: None = there is none.
        standard: by the price for all kinds of workloads.
        changes: number of each price that corrected it -> by how much.
    """

    price: int | None
    standard: int
    changes: tuple[tuple[int, int], ...]


class Rates:
    """Charges for GPU time; what each flavor and kind costs is worked out once.

    Args:
        book: with the prices.
    """

    def __init__(self, book: PriceBook) -> None:
        self._book = book
        self._known: dict[tuple[str, str], dict[PriceState, _Rate]] = defaultdict(dict)

    def charged(self, held: Mapping[PriceState, int], flavor: str, kind: str) -> Charge:
        """What was held of a flavor by workloads of a kind costs.

        Args:
            held: GPU-microseconds by the prices that held.
            flavor: kind of node.
            kind: of the workload.
        """
        cost = corrected = standard = unpriced = 0
        corrections, known = dict[int, int](), self._known[flavor, kind]
        for state, gpu_us in held.items():
            if not gpu_us:
                continue
            rate = known.get(state)
            if rate is None:
                rate = known[state] = self._rate(state, flavor, kind)
            standard += gpu_us * rate.standard
            if rate.price is None:
                unpriced += gpu_us
            else:
                cost += gpu_us * rate.price
            for number, change in rate.changes:
                corrected += gpu_us * change
                corrections[number] = corrections.get(number, 0) + gpu_us * change
        return Charge(cost, corrected, standard, unpriced, corrections)

    def _rate(self, state: PriceState, flavor: str, kind: str) -> _Rate:
        price, book = self._book.price(state.now, flavor, kind), self._book
        after, changes = price or 0, list[tuple[int, int]]()
        for number, numbers in reversed(state.versions):
            before = book.price(numbers, flavor, kind) or 0
            if after != before:
                changes.append((number, after - before))
            after = before
        return _Rate(price, book.price(state.now, flavor) or 0, tuple(changes))


def supply_charge(book: PriceBook, gpu_us: Mapping[PriceState, int], flavor: str) -> int:
    """What GPU time of a flavor costs by the prices for all kinds, as exact money."""
    return sum(amount * (book.price(state.now, flavor) or 0) for state, amount in gpu_us.items())


def held_in(
    table: PriceTable, interval: UsageInterval | SupplyInterval, milli: int, into: HeldIn
) -> None:
    """Add thousandths of GPUs over an interval, as far as it lies in the period of a table."""
    for lasts, state in table.within(interval.begin_ms, interval.end_ms):
        into[state] = into.get(state, 0) + lasts * milli


def rounded(amounts: Iterable[int]) -> list[int]:
    """Exact money in millionths, so that the figures add up to their rounded total.

    Running sums are rounded, half up, and the figures are their differences: each is off by less
    than one millionth, and together they are the total.
    """
    found, before, total = list[int](), 0, 0
    for each in amounts:
        total += each
        now = (2 * total + HOUR_GPU_US) // (2 * HOUR_GPU_US)
        found.append(now - before)
        before = now
    return found


def divided(total: int, weights: Iterable[int]) -> list[int]:
    """Parts of exact money in proportion to weights; they add up to it, if there is any weight."""
    every = list(weights)
    whole, found, before, seen = sum(every), list[int](), 0, 0
    for each in every:
        seen += each
        now = total * seen // whole if whole else 0
        found.append(now - before)
        before = now
    return found
