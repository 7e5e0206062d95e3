"""What an hour of a GPU costs: by flavor, kind of workload and hours of the day, from a date on.

Money is integers: millionths of a unit of the ledger's one currency.
"""

from msgspec import Struct

MICRO = 1_000_000
"""Millionths in one unit of the currency."""
DAY_MIN = 1_440


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
