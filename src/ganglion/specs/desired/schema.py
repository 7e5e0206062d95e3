"""Files of a desired fleet: a policy file that may also list prices, budgets and roles."""

from typing import Annotated

from ganglion.model.queue import GRACE_MS, WARN_PERCENT
from ganglion.specs.grammar.money import parse_currency, parse_money, parse_price_hours
from ganglion.specs.grammar.names import ROLES, parse_any_queue, parse_subject
from ganglion.specs.grammar.scalars import parse_percentages, parse_text
from ganglion.specs.grammar.times.instants import parse_instant
from ganglion.specs.grammar.words import one_of
from ganglion.specs.policy import schema as policy
from ganglion.specs.reading import fields as f
from ganglion.specs.reading.mapping import Mapping, described
from ganglion.specs.reading.renaming import Vocabulary

NONE = "none"
"""How a file writes that there is no price from a date on."""


def _price(value: object) -> int | None:
    return None if value == NONE else parse_money(value)


Moment = Annotated[int, f.told(parse_instant), f.schema("string")]
Money = Annotated[int, f.told(parse_money), f.schema("string", "integer")]
MoneyOrNone = Annotated[int | None, f.told(_price), f.schema("string", "integer")]
DayHours = Annotated[
    tuple[int, int], f.told(lambda v: parse_price_hours(parse_text(v))), f.schema("string")
]
Percentages = Annotated[
    tuple[int, ...], f.told(parse_percentages), f.schema("string", "integer", "array")
]
Currency = Annotated[str, f.told(lambda v: parse_currency(parse_text(v))), f.schema("string")]
RoleName = Annotated[str, f.told(one_of(ROLES, {})), f.schema("string")]
AnyQueue = Annotated[str, f.told(parse_any_queue), f.schema("string", "integer")]
Subject = Annotated[str, f.told(parse_subject), f.schema("string")]


class PriceFile(Mapping):
    """What an hour of a GPU costs from a date on."""

    flavor: f.Text = described("kind of node")
    price: MoneyOrNone = described("for a GPU-hour: `2.50`; `none` ends a price")
    since: Moment = described("from when on: `2027-01-01`; UTC where it says no offset")
    kind: f.KindName = described("of the workloads that it is for; left out = all others", "")
    hours: DayHours = described("of the day: `20:00-08:00`; left out = the whole day", (0, 0))
    zone: f.Zone = described("time zone of the hours", "")
    currency: Currency = described("as `EUR`; a ledger has one", "")


class BudgetFile(Mapping):
    """What a queue and all below it may spend in a month."""

    queue: AnyQueue = described("which queue; `east:team` of a cluster")
    amount: Money = described("limit of a month: `8000`")
    zone: f.Zone = described("time zone in which months begin", "UTC")
    carry_over: f.Flag = described("what is left of a month is added to the next one", False)
    warn: Percentages = described(
        "percentages of the amount at which people are notified", WARN_PERCENT
    )
    grace: f.Duration = described("how long what runs goes on once the amount is spent", GRACE_MS)


class RoleFile(Mapping):
    """A role on a subtree of queues."""

    subject: Subject = described("`user:eve` or `group:research`; a bare name is a user's")
    role: RoleName = described(f"one of {', '.join(ROLES)}")
    queue: AnyQueue = described("root of the subtree; left out = the whole fleet", "")
    until: Moment | None = described("when it ends; left out = when it is revoked", None)
    break_glass: f.Flag = described("it gives nothing until a holder breaks the glass", False)


class DesiredFile(policy.Topped):
    """The whole file."""

    prices: tuple[PriceFile, ...] | None = described(
        "prices by flavor and date; left out = they stay as they are", None
    )
    budgets: tuple[BudgetFile, ...] | None = described(
        "budgets by queue; left out = they stay as they are", None
    )
    roles: tuple[RoleFile, ...] | None = described("grants; left out = they stay as they are", None)


LISTS: dict[str, type[Mapping]] = {
    "prices": PriceFile,
    "budgets": BudgetFile,
    "roles": RoleFile,
}
"""Lists beside those of a policy file -> what they hold."""
BESIDE = frozenset({"queues", "bookings", *LISTS})
"""Keys of the top that are no settings of the policy."""

_SCOPES: dict[str, type[Mapping]] = {**policy.SCOPES, "": DesiredFile, **LISTS}
VOCABULARY = Vocabulary(
    keys={scope: tuple(model.model_fields) for scope, model in _SCOPES.items()},
    aliases={**policy.ALIASES, "budgets": {"limit": "amount"}, "roles": {"user": "subject"}},
    children={
        **policy.VOCABULARY.children,
        "": {**policy.VOCABULARY.children[""], **{name: name for name in LISTS}},
    },
    lists=(*policy.VOCABULARY.lists, *LISTS),
)
