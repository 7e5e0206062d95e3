"""All prices that were ever set, and which of them hold when.

A price of a kind of workload goes before one of all kinds, and among these one of some hours before
one of the whole day. Where no price is left, time is unpriced: counted, never charged as nothing.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct, field

from ganglion.model.errors import Conflict
from ganglion.model.events import PriceSet
from ganglion.model.fleet.price import Price, active, meet, share_minutes, steps_of
from ganglion.pricing.zones import cuts_of, minute_of

ALL_KINDS = ""


class PriceState(Struct, frozen=True, cache_hash=True, gc=False):
    """The prices that hold during one span of time.

    Attributes:
        now: numbers of the prices that hold, by what is known now.
        versions: for each price that was set after the time it is about, in order: its number,
            and the numbers that held before it was known; empty = no price was corrected.
    """

    now: tuple[int, ...]
    versions: tuple[tuple[int, tuple[int, ...]], ...] = ()


class PriceSpan(Struct, frozen=True):
    """A span of time in which all prices stay as they are, in ms."""

    begin: int
    end: int
    state: PriceState


class PriceBook(Struct):
    """Prices in the order in which they were set; a price is known by its place there, from 0."""

    records: list[PriceSet] = field(default_factory=list)

    def note(self, event: object) -> None:
        """Take an event in."""
        if isinstance(event, PriceSet):
            self.records.append(event)

    @property
    def currency(self) -> str:
        """Code of the one currency; empty = there are no prices."""
        return self.records[0].price.currency if self.records else ""

    @property
    def zone(self) -> str:
        """Time zone of hours of the day; empty = no price has hours."""
        zones = (each.price.zone for each in self.records if not each.price.whole_day)
        return next(zones, "")

    @property
    def names_kinds(self) -> bool:
        """Whether any price is one of a kind of workloads; else all kinds cost the same."""
        return any(each.price.kind for each in self.records)

    def check(self, price: Price) -> None:
        """Whether a price can be set.

        Raises:
            Conflict: its hours overlap those of another one at the same time, or it has another
                currency or time zone than those before.
        """
        if self.records and price.currency != self.currency:
            raise Conflict(
                f"prices are in {self.currency}, not in {price.currency}",
                "a ledger has one currency; leave it out, or convert the price",
            )
        if self.zone and not price.whole_day and price.zone != self.zone:
            raise Conflict(
                f"hours of prices are those of {self.zone}, not of {price.zone}",
                f"all prices have one time zone: give hours of {self.zone}",
            )
        own = active(self._of(price.key), price)
        keys = dict.fromkeys(each.price.key for each in self.records)
        for key in keys:
            if key == price.key or key[:2] != price.key[:2]:
                continue
            other = self._of(key)
            if share_minutes(other[0], price) and meet(own, active(other)):
                hours = f"{_time(key[2])}-{_time(key[3])}"
                raise Conflict(
                    f"its hours overlap the price of {price.flavor} for {hours}",
                    f"end that one first: ganglion price set {price.flavor} none --hours {hours}",
                )

    def spans(self, begin: int, end: int) -> Iterator[PriceSpan]:
        """Cut a period, in ms, where a price begins or ends, or became known."""
        cuts = sorted({begin, end, *(at for at in self._cuts(begin, end) if begin < at < end)})
        last: PriceSpan | None = None
        for since, until in pairwise(cuts):
            state = self.state(since)
            if last is not None and last.state == state:
                last = PriceSpan(last.begin, until, state)
                continue
            if last is not None:
                yield last
            last = PriceSpan(since, until, state)
        if last is not None:
            yield last

    def state(self, at: int) -> PriceState:
        """The prices that hold at a time in ms."""
        minute = minute_of(at, self.zone) if self.zone else 0
        late = [n for n, each in enumerate(self.records) if each.price.since_ms <= at < each.at]
        versions = tuple((n, self._holding(at, minute, n)) for n in late)
        return PriceState(self._holding(at, minute, len(self.records)), versions)

    def price(self, numbers: Sequence[int], flavor: str, kind: str = ALL_KINDS) -> int | None:
        """Millionths for a GPU-hour by the prices that hold; None = it has no price."""
        best: tuple[tuple[bool, bool], int] | None = None
        for number in numbers:
            price = self.records[number].price
            if price.flavor != flavor or price.kind not in (ALL_KINDS, kind):
                continue
            rank = (bool(price.kind), not price.whole_day)
            if best is None or rank > best[0]:
                best = rank, price.micro or 0
        return best and best[1]

    def highest(self, begin: int, flavor: str, kind: str) -> int | None:
        """The highest price from a time on, of those that are known; None = there is none.

        Args:
            begin: the time in ms; hours of the day are left out of account.
            flavor: kind of node.
            kind: of the workload.
        """
        found: list[int] = []
        for key in dict.fromkeys(each.price.key for each in self.records):
            if key[0] != flavor or key[1] not in (ALL_KINDS, kind):
                continue
            for since, until, price in steps_of(self._of(key)):
                if until > begin and price.micro is not None and since < until:
                    found.append(price.micro)
        return max(found, default=None)

    def _holding(self, at: int, minute: int, known: int) -> tuple[int, ...]:
        """Numbers of the prices that hold, of the first `known` and those known at the time."""
        newest: dict[tuple[str, str, int, int], int] = {}
        for number, each in enumerate(self.records):
            price = each.price
            if price.since_ms > at or (number >= known and each.at > at):
                continue
            before = newest.get(price.key)
            if before is None or self.records[before].price.since_ms <= price.since_ms:
                newest[price.key] = number
        priced = (n for n in newest.values() if self.records[n].price.micro is not None)
        return tuple(sorted(n for n in priced if self.records[n].price.at(minute)))

    def _cuts(self, begin: int, end: int) -> Iterator[int]:
        minutes: dict[int, None] = {}
        for each in self.records:
            yield each.price.since_ms
            if each.price.since_ms < each.at:
                yield each.at
            if not each.price.whole_day:
                minutes |= {each.price.start_min: None, each.price.end_min: None}
        if minutes:
            yield from cuts_of(minutes, self.zone, begin, end)

    def _of(self, key: tuple[str, str, int, int]) -> list[Price]:
        return [each.price for each in self.records if each.price.key == key]


def _time(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


class PriceTable:
    """The spans of a period, found by time.

    Args:
        book: with the prices.
        begin, end: the period, in ms.

    Attributes:
        spans: in order, without gaps.
    """

    def __init__(self, book: PriceBook, begin: int, end: int) -> None:
        self.spans = tuple(book.spans(begin, end))
        self._ends = [each.end for each in self.spans]

    def within(self, begin: int, end: int) -> Iterator[tuple[int, PriceState]]:
        """How long, in ms, each state holds within a part of the period."""
        place = bisect_right(self._ends, begin)
        for span in self.spans[place:]:
            if span.begin >= end:
                return
            lasts = min(end, span.end) - max(begin, span.begin)
            if lasts > 0:
                yield lasts, span.state
