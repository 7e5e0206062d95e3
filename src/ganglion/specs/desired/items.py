"""One object of a fleet in the words of files, whether files or a server name it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.model.policy import Policy
from ganglion.model.queue import GRACE_MS, WARN_PERCENT, Budget
from ganglion.specs.grammar.money import print_money
from ganglion.specs.grammar.times.durations import print_duration
from ganglion.specs.grammar.times.instants import print_instant

Json = dict[str, Any]
PriceStep = tuple[int, int | None]
"""From when on, in ms, and millionths for a GPU-hour; None = no price."""


class ItemKind(StrEnum):
    """Sorts of objects, in the order in which they are applied."""

    POLICY = "policy"
    QUEUE = "queue"
    PRICE = "price"
    BUDGET = "budget"
    ROLE = "role"


class FleetItem(Struct, frozen=True):
    """One object.

    Attributes:
        kind: its sort.
        name: unique among its sort.
        document: all that it says, in keys of files; equal documents are equal objects.
        text: of a policy: the file that is to be in force.
        steps: of a price: what was set, by date.
        file, line: where it is written; empty and 0 = a server has it.
        over: of a price: whether none holds or is to come.
    """

    kind: ItemKind
    name: str
    document: Json
    text: str = ""
    steps: tuple[PriceStep, ...] = ()
    file: str = ""
    line: int = 0
    over: bool = False

    def at(self, place: tuple[str, int]) -> "FleetItem":
        """The object, written at a file and line."""
        return replace(self, file=place[0], line=place[1])

    @property
    def key(self) -> tuple[ItemKind, str]:
        """What it is known by."""
        return self.kind, self.name


class PresentFleet(Struct, frozen=True):
    """What a fleet is now, as far as the caller may see it.

    Attributes:
        items: its objects.
        hidden: sorts that could not be read -> why.
        policy: in force; None = it could not be read.
        flavors: those of the nodes; empty = unknown.
        busy: queue -> workloads in it and the queues below it.
        subjects: of whom grants are the caller's own.
        tags: what names the present rules of the policy (`""`) and of queues.
        currency: of prices; empty = there are none.
        zone: of hours of prices; empty = no price has hours.
        bounded: whether the caller may only change queues below its own: rules about the work
            of other queues stay as they are then.
        now: the time in ms.
    """

    items: tuple[FleetItem, ...] = ()
    hidden: Mapping[ItemKind, str] = field(default_factory=dict)
    policy: Policy | None = None
    flavors: tuple[str, ...] = ()
    busy: Mapping[str, int] = field(default_factory=dict)
    subjects: frozenset[str] = frozenset()
    tags: Mapping[str, str] = field(default_factory=dict)
    currency: str = ""
    zone: str = ""
    bounded: bool = False
    now: int = 0

    def of(self, kind: ItemKind) -> tuple[FleetItem, ...]:
        """The objects of a sort."""
        return tuple(each for each in self.items if each.kind is kind)


def value_at(steps: Sequence[PriceStep], at: int) -> int | None:
    """The price that holds at a time in ms, of steps in any order; None = there is none."""
    before = [each for each in steps if each[0] <= at]
    return max(before, key=lambda each: each[0])[1] if before else None


class PriceKey(Struct, frozen=True):
    """What a price is of, in the words of files.

    Attributes:
        flavor: kind of node.
        kind: of workloads; empty = all others.
        hours: of the day; empty = all.
        zone: time zone of the hours.
        currency: as `EUR`.
    """

    flavor: str
    kind: str = ""
    hours: str = ""
    zone: str = ""
    currency: str = ""


def price_item(about: PriceKey, steps: Sequence[PriceStep], now: int = 0) -> FleetItem:
    """A price by date.

    Steps that change nothing are left out of its document: prices are only ever added.

    Args:
        about: what it is of.
        steps: what was set; of two with one date the last counts.
        now: the time in ms.
    """
    dated = dict(steps)
    kept: list[PriceStep] = []
    for since in sorted(dated):
        if (kept[-1][1] if kept else None) != dated[since]:
            kept.append((since, dated[since]))
    shown = {print_instant(at): "none" if v is None else print_money(v) for at, v in kept}
    document: Json = {"flavor": about.flavor, "kind": about.kind, "hours": about.hours}
    document = {key: value for key, value in document.items() if value}
    document |= {"zone": about.zone} if about.hours else {}
    document |= {"currency": about.currency, "from": shown}
    over = not kept or (kept[-1][1] is None and kept[-1][0] <= now)
    name = " ".join(filter(None, (about.flavor, about.kind, about.hours)))
    return FleetItem(ItemKind.PRICE, name, document, steps=tuple(dated.items()), over=over)


def budget_item(budget: Budget) -> FleetItem:
    """The budget of a queue."""
    document: Json = {"queue": budget.queue, "amount": print_money(budget.micro)}
    document |= {"zone": budget.zone}
    document |= {"carry_over": True} if budget.carry_over else {}
    document |= {"warn": list(budget.warn)} if budget.warn != WARN_PERCENT else {}
    if budget.grace_ms != GRACE_MS:
        document |= {"grace": print_duration(budget.grace_ms)}
    return FleetItem(ItemKind.BUDGET, budget.queue, document)


def role_item(subject: str, role: str, queue: str, until: int | None, *, glass: bool) -> FleetItem:
    """A grant; with `glass` it is dormant until a holder breaks the glass."""
    document: Json = {"subject": subject, "role": role}
    document |= {"queue": queue} if queue else {}
    document |= {"until": print_instant(until)} if until is not None else {}
    document |= {"break_glass": True} if glass else {}
    name = f"{subject} {role}" + (f" on {queue}" if queue else "")
    return FleetItem(ItemKind.ROLE, name, document)


def queue_item(document: Json) -> FleetItem:
    """A queue, by what `queue_document` says of it."""
    return FleetItem(ItemKind.QUEUE, str(document["name"]), document)


def policy_item(document: Json, text: str = "") -> FleetItem:
    """The settings of the policy; `text` is the file with them."""
    rest = {key: value for key, value in document.items() if key not in ("queues", "bookings")}
    return FleetItem(ItemKind.POLICY, "", rest, text)
