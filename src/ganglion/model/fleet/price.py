"""What an hour of a GPU costs: by flavor, kind of workload and hours of the day, from a date on.

Money is integers: millionths of a unit of the ledger's one currency.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from msgspec import Struct

MICRO = 1_000_000
"""Millionths in one unit of the currency."""
DAY_MIN = 1_440
FOREVER = 1 << 62
"""When a price ends that none follows, in ms."""


class Price(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A price from a date on, until another one of the same key is set.

    Attributes:
        flavor: kind of node.
        since_ms: from when on it holds; it may lie in the past or ahead.
        micro: for one GPU-hour; None = from then on there is no price of this key.
        kind: of the workloads that it is for; empty = those without a price of their own.
        start_min, end_min: the hours of the day that it is for, in minutes from midnight, the
            end excluded; an end before the start lies in the next day. Equal = the whole day.
        zone: time zone of these hours; empty without hours.
        currency: code of the currency.
    """

    flavor: str
    since_ms: int
    micro: int | None
    kind: str = ""
    start_min: int = 0
    end_min: int = 0
    zone: str = ""
    currency: str = ""

    @property
    def whole_day(self) -> bool:
        """Whether it holds at every hour."""
        return self.start_min == self.end_min

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What it is a price of; a later one of the same key takes its place."""
        return self.flavor, self.kind, self.start_min, self.end_min

    def at(self, minute: int) -> bool:
        """Whether it is for a minute of the day."""
        if self.start_min < self.end_min:
            return self.start_min <= minute < self.end_min
        return self.whole_day or minute >= self.start_min or minute < self.end_min


def overlaps(prices: Sequence[Price]) -> Iterator[tuple[Price, Price]]:
    """Pairs of prices of one flavor and kind whose hours overlap while both hold, in any order.

    Of each two sorts of hours, the first price of either, in the order that is given.
    """
    keys: dict[tuple[str, str, int, int], list[Price]] = {}
    for each in prices:
        keys.setdefault(each.key, []).append(each)
    for one, other in combinations(keys.values(), 2):
        if one[0].key[:2] != other[0].key[:2] or not share_minutes(one[0], other[0]):
            continue
        if meet(active(one), active(other)):
            yield one[0], other[0]


def steps_of(prices: Sequence[Price]) -> list[tuple[int, int, Price]]:
    """Begin, end and price of each step of one key, in ms."""
    dated: dict[int, Price] = {}
    for each in prices:
        dated[each.since_ms] = each
    begins = sorted(dated)
    return [
        (since, until, dated[since])
        for since, until in zip(begins, [*begins[1:], FOREVER], strict=True)
    ]


def active(prices: Sequence[Price], new: Price | None = None) -> list[tuple[int, int]]:
    """When there is a price of one key; with `new`: when that one would hold."""
    found = steps_of([*prices, new] if new else prices)
    return [
        (since, until)
        for since, until, price in found
        if price.micro is not None and (new is None or price is new)
    ]


def meet(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> bool:
    """Whether two lists of spans have a moment in common."""
    return any(a < d and c < b for a, b in one for c, d in other)


def share_minutes(one: Price, other: Price) -> bool:
    """Whether two prices of some hours have a minute in common."""
    if one.whole_day or other.whole_day:
        return False
    return one.at(other.start_min) or other.at(one.start_min)
