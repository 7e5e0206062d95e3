"""Types of fields that queues and policies have: words of an enumeration, amounts, flavors."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import PlainSerializer, WithJsonSchema

from ganglion.model.kinds import KindRules, Weighted
from ganglion.model.policy import (
    Backfill,
    Entitlement,
    Escalation,
    Order,
    Placing,
    PriorityClass,
    StandbyCharge,
    VictimOrder,
)
from ganglion.model.queue import Victims
from ganglion.model.resources import Amount
from ganglion.model.workload import Kind
from ganglion.specs.grammar.amounts import (
    parse_amounts,
    parse_scores,
    print_amounts,
    print_scores,
)
from ganglion.specs.grammar.rules.classes import (
    parse_classes,
    parse_steps,
    print_classes,
    print_steps,
)
from ganglion.specs.grammar.rules.kinds import parse_kinds, print_kinds
from ganglion.specs.grammar.scalars import parse_bool
from ganglion.specs.grammar.shares import parse_permille, print_permille
from ganglion.specs.grammar.words import one_of
from ganglion.specs.reading import fields as f

W = TypeVar("W", bound=StrEnum)

VICTIM_WORDS = {
    "lowerpriority": "lower",
    "lowerornewerequalpriority": "lower_or_newer",
    "lower-or-newer": "lower_or_newer",
}
"""Kueue's words."""


def word_of(words: type[W], others: dict[str, str] | None = None) -> Callable[[object], W]:
    """Make a parser of one word of an enumeration, with other names for some."""
    parse = one_of(tuple(each.value for each in words), others or {})
    return lambda value: words(parse(value))


def either(yes: tuple[str, ...], no: str) -> Callable[[object], bool]:
    """Make a parser of a truth value that these words may express."""

    def parse(value: object) -> bool:
        word = value.strip().lower() if isinstance(value, str) else value
        return word in yes if word in (*yes, no) else parse_bool(value)

    return parse


def _words(words: type[StrEnum]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "examples": [each.value for each in words]})


def among(words: type[StrEnum]) -> str:
    """All words of an enumeration, for a description."""
    return ", ".join(each.value for each in words)


TEXT = PlainSerializer(str)

VictimRule = Annotated[Victims, f.told(word_of(Victims, VICTIM_WORDS)), TEXT, _words(Victims)]
OrderRule = Annotated[Order, f.told(word_of(Order)), TEXT, _words(Order)]
EntitlementRule = Annotated[Entitlement, f.told(word_of(Entitlement)), TEXT, _words(Entitlement)]
VictimOrderRule = Annotated[VictimOrder, f.told(word_of(VictimOrder)), TEXT, _words(VictimOrder)]
PlacingRule = Annotated[Placing, f.told(word_of(Placing)), TEXT, _words(Placing)]
RightsRule = Annotated[StandbyCharge, f.told(word_of(StandbyCharge)), TEXT, _words(StandbyCharge)]
BackfillRule = Annotated[Backfill, f.told(word_of(Backfill)), TEXT, _words(Backfill)]

Amounts = Annotated[
    dict[str, Amount],
    f.told(parse_amounts),
    PlainSerializer(print_amounts),
    WithJsonSchema(
        {"type": "object", "additionalProperties": {"type": ["number", "string", "object"]}}
    ),
]
Scores = Annotated[
    tuple[Weighted, ...],
    f.told(parse_scores),
    PlainSerializer(print_scores),
    f.schema("array", "object", "string"),
]
Classes = Annotated[
    dict[str, PriorityClass],
    f.told(parse_classes),
    PlainSerializer(print_classes),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["integer", "object"]}}),
]
Kinds = Annotated[
    dict[Kind, KindRules],
    f.told(parse_kinds),
    PlainSerializer(print_kinds),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "object"}}),
]
Steps = Annotated[
    tuple[Escalation, ...],
    f.told(parse_steps),
    PlainSerializer(print_steps),
    WithJsonSchema({"type": ["array", "object"], "items": {"type": "object"}}),
]
Permille = Annotated[
    int, f.told(parse_permille), PlainSerializer(print_permille), f.schema("string", "integer")
]
Rank = Annotated[int, f.whole(-2_000_000_000, 2_000_000_000), f.schema("integer")]
Count = Annotated[int, f.whole(0, 1_000_000), f.schema("integer", minimum=0)]
Tries = Annotated[int, f.whole(1, 1024), f.schema("integer", minimum=1)]
StrictRule = Annotated[
    bool, f.told(either(("strictfifo",), "besteffortfifo")), f.schema("boolean", "string")
]
BorrowFirst = Annotated[
    bool,
    f.told(either(("borrow", "maystopsearch"), "trynextflavor")),
    f.schema("boolean", "string"),
]
PreemptFirst = Annotated[
    bool,
    f.told(either(("preempt", "maystopsearch"), "trynextflavor")),
    f.schema("boolean", "string"),
]
PreferPreempting = Annotated[
    bool,
    f.told(either(("preemptionoverborrowing",), "borrowingoverpreemption")),
    f.schema("boolean", "string"),
]
