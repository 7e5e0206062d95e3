"""What people write to say what should be otherwise: `+4xH100:8`, `research=quota:H100:16`."""

import re

from msgspec import Struct
from msgspec.structs import replace

from ganglion.model.errors import FieldError
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import WHOLE, Amount
from ganglion.specs.grammar.money import parse_currency, parse_money
from ganglion.specs.grammar.scalars import parse_decimal, parse_whole

NODES = re.compile(
    r"(?P<sign>[+-])(?P<count>[1-9]\d{0,3})x(?P<flavor>[^\s:]{1,100})(:(?P<gpus>\d{1,4}))?"
)
PRICE = re.compile(r"(?P<flavor>[^\s=]{1,100})=(?P<amount>[0-9.]{1,20})(?P<currency>[A-Za-z]{3})?")
KEYS = ("quota", "limit", "weight", "priority")
MOST_NODES = 5_000


class OtherNodes(Struct, frozen=True):
    """Nodes that join (`count` above 0) or leave; `gpus` None = as those of the flavor have."""

    count: int
    flavor: str
    gpus: int | None = None


class OtherQueue(Struct, frozen=True):
    """Settings of one queue; what is left out stays."""

    name: str
    quota: dict[str, Amount]
    limit: dict[str, Amount]
    weight: int | None = None
    priority: int | None = None

    def of(self, queue: Queue) -> Queue:
        """The queue with these settings."""
        weight, priority = self.weight, self.priority
        return replace(
            queue,
            quota=queue.quota | self.quota,
            limit=queue.limit | self.limit,
            over_quota_weight=queue.over_quota_weight if weight is None else weight,
            priority=queue.priority if priority is None else priority,
        )


class OtherPrice(Struct, frozen=True):
    """A price of a GPU-hour; `currency` empty = that of the prices there are."""

    flavor: str
    micro: int
    currency: str = ""


def parse_nodes(text: str) -> OtherNodes:
    """Read `+4xH100:8`, `+2xcpu` or `-1xH100`. Raises FieldError."""
    found = NODES.fullmatch(text.strip())
    if not found:
        raise FieldError(
            f"{text!r} names no nodes", key="nodes", hint="write `+4xH100:8` or `-2xH100`"
        )
    count = int(found["count"])
    if count > MOST_NODES:
        raise FieldError(f"{count} nodes are too many", key="nodes", hint=f"at most {MOST_NODES}")
    gpus = None if found["gpus"] is None else int(found["gpus"])
    return OtherNodes(count if found["sign"] == "+" else -count, found["flavor"], gpus)


def parse_queue(text: str) -> OtherQueue:
    """Read `research=quota:H100:16,limit:24,weight:2`. Raises FieldError."""
    name, equals, rest = text.strip().partition("=")
    hint = "write `NAME=quota:16`, `NAME=quota:H100:16,limit:24` or `NAME=weight:2`"
    if not name or not equals or not rest:
        raise FieldError(f"{text!r} changes no queue", key="queue", hint=hint)
    amounts: dict[str, dict[str, Amount]] = {"quota": {}, "limit": {}}
    whole: dict[str, int] = {}
    for part in rest.split(","):
        key, colon, value = part.strip().partition(":")
        if key not in KEYS or not colon:
            raise FieldError(f"{part!r} is no setting of a queue", key="queue", hint=hint)
        if key in amounts:
            flavor, _, gpus = value.rpartition(":")
            milli = parse_decimal(gpus, "a number of GPUs", hint) * WHOLE
            amounts[key][flavor or ANY_FLAVOR] = Amount(gpu_milli=int(milli))
        else:
            whole[key] = parse_whole(value, 0, 1_000_000)
    return OtherQueue(name, amounts["quota"], amounts["limit"], **whole)


def parse_price(text: str) -> OtherPrice:
    """Read `H100=2.50` or `H100=2.50EUR`. Raises FieldError."""
    found = PRICE.fullmatch(text.strip())
    if not found:
        raise FieldError(
            f"{text!r} is no price", key="price", hint="write `H100=2.50`, or `H100=2.50EUR`"
        )
    currency = parse_currency(found["currency"]) if found["currency"] else ""
    return OtherPrice(found["flavor"], parse_money(found["amount"]), currency)
