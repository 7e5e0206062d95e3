"""What narrows a list or a bulk verb down: the same keys in queries and in bodies."""

import re
from fnmatch import translate
from typing import Annotated

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from ganglion.lifecycle.status import State
from ganglion.metering.sums import UsageBy
from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind
from ganglion.server.rest.pages import Cursor, Limit, Paging
from ganglion.specs.grammar.times.instants import parse_past

MOST_VALUES = 1000
"""Most values of one key."""
MOST_MS = 1 << 62

Value = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=200)]
When = Annotated[str, Field(max_length=60)]

ENDED = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.TIMED_OUT})
"""States that a workload never leaves."""


class WorkloadFilter(BaseModel):
    """What a workload has to be; values of one key are alternatives, all keys have to hold."""

    model_config = ConfigDict(extra="forbid")

    state: list[State] = Field([], max_length=MOST_VALUES)
    queue: list[Value] = Field([], max_length=MOST_VALUES, description="by name or path")
    user: list[Value] = Field([], max_length=MOST_VALUES)
    kind: list[Kind] = Field([], max_length=MOST_VALUES)
    name: list[Value] = Field(
        [], max_length=MOST_VALUES, description="id or name; `*`, `?` and `[a-z]` match as in files"
    )
    text: Text = Field("", description="part of the id, name, queue or user, in any case")
    since: When = Field(
        "", description="submitted within `10m`, since `2026-12-01T08:00Z`, or since a time in ms"
    )
    until: When = Field("", description="submitted up to then; written as `since`")


class WorkloadQuery(WorkloadFilter, Paging):
    """Which workloads."""

    # Unknown keys of queries are refused for all routes alike, with the keys that there are.
    model_config = ConfigDict(extra="ignore")

    all: bool = Field(False, description="ended ones too; a `state` that is an end implies it")
    key: Value = Field(
        "",
        description="only the one of a cluster that usage and events name so: "
        "`east:lab/Job/train/7f`; ended ones too",
    )
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    after: Cursor = Field(None, description="the former name of `cursor`")

    @property
    def place(self) -> str | None:
        """Where the page begins."""
        return self.cursor or self.after


class OrderQuery(Paging):
    """Which gangs that wait."""

    queue: list[Value] = Field([], max_length=MOST_VALUES, description="by name or path")
    user: list[Value] = Field([], max_length=MOST_VALUES)
    kind: list[Kind] = Field([], max_length=MOST_VALUES)
    name: list[Value] = Field([], max_length=MOST_VALUES, description="as of workloads")
    text: Text = Field("", description="part of the id, queue or user, in any case")
    since: When = Field("", description="submitted within `10m`, or since a time")
    until: When = Field("", description="submitted up to then")


class TextQuery(Paging):
    """Which items of a list."""

    limit: Limit = None
    text: Text = Field("", description="part of any text of the item, in any case")


class StateQuery(TextQuery):
    """Which items of a list whose items have a state."""

    state: list[Text] = Field([], max_length=MOST_VALUES)


class UserQuery(TextQuery):
    """Which items of a list whose items have a user."""

    user: list[Value] = Field([], max_length=MOST_VALUES)


class BookingQuery(StateQuery):
    """Which bookings."""

    queue: list[Value] = Field([], max_length=MOST_VALUES, description="by name or path")
    user: list[Value] = Field([], max_length=MOST_VALUES)


class PeriodQuery(BaseModel):
    """Which period, of which queues."""

    queue: list[Value] = Field(
        [], max_length=MOST_VALUES, description="by name or path; those below it count too"
    )
    since: When = Field("7d", description="begin of the period: `7d` ago, or a time")
    until: When = Field("", description="its end, written as `since`; empty = now")


class UsageQuery(PeriodQuery, Paging):
    """Which usage."""

    by: list[UsageBy] = Field(
        [UsageBy.QUEUE], max_length=MOST_VALUES, description="what to group by"
    )


class VersionQuery(UserQuery):
    """Which versions of the policy."""

    since: When = Field("", description="set within `10m`, or since a time")


class RowFilter(Struct, frozen=True):
    """A filter made ready for many comparisons.

    Attributes:
        states, queues, users, kinds: values of which one has to be there; empty = any.
        names: what the id or name has to match; None = anything.
        text: what one of the texts has to hold, in small letters.
        since, until: first and last time of submission, in ms.
    """

    states: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    names: re.Pattern[str] | None = None
    text: str = ""
    since: int = 0
    until: int = MOST_MS

    def takes(self, key: str, name: str, queue: str, user: str, kind: str, at: int) -> bool:
        """Whether a workload passes, as far as that does not depend on its state."""
        return (
            (not self.queues or queue in self.queues)
            and (not self.users or user in self.users)
            and (not self.kinds or kind in self.kinds)
            and self.since <= at <= self.until
            and self.named(key, name)
            and (not self.text or holds(self.text, key, name, queue, user))
        )

    def named(self, key: str, name: str) -> bool:
        """Whether the id or the name matches."""
        return not self.names or bool(self.names.match(name) or self.names.match(key))


def wanted(given: WorkloadFilter | OrderQuery, now: int) -> RowFilter:
    """Make a filter ready.

    Args:
        given: as it was asked for.
        now: time in ms, from which lengths of time count back.

    Raises:
        FieldError: a time is none.
    """
    states = given.state if isinstance(given, WorkloadFilter) else []
    patterns = "|".join(translate(each) for each in given.name)
    return RowFilter(
        states=frozenset(map(str, states)),
        queues=leaves(given.queue),
        users=frozenset(map(clean, given.user)),
        kinds=frozenset(map(str, given.kind)),
        names=re.compile(patterns) if patterns else None,
        text=clean(given.text).lower(),
        since=instant(given.since, now, "since") or 0,
        until=instant(given.until, now, "until") or MOST_MS,
    )


def leaves(queues: list[str]) -> frozenset[str]:
    """Names of queues that are given by name or path."""
    return frozenset(clean(each).rpartition("/")[2] for each in queues)


def clean(text: str) -> str:
    """A text as databases take it: PostgreSQL has no NUL."""
    return text.replace("\0", "\ufffd")


def holds(text: str, *others: str) -> bool:
    """Whether one of the others holds the text, which is in small letters."""
    return any(text in each.lower() for each in others)


def past_period(since: str, until: str, now: int) -> tuple[int, int]:
    """Begin and end of a period of the past in ms, from texts as `instant` reads them.

    Raises:
        FieldError: a text is no time, or the period ends before it begins.
    """
    begin = instant(since, now, "since") or 0
    end = instant(until, now, "until")
    end = now if end is None else min(end, now)
    if begin > end:
        raise FieldError("the period ends before it begins", key="until", hint="see `since`")
    return begin, end


def instant(text: str, now: int, key: str) -> int | None:
    """Read a time in ms, a date, or a length of time before now; None = nothing was given.

    Raises:
        FieldError: it is none of these.
    """
    if not text:
        return None
    try:
        return min(parse_past(text, now), MOST_MS)
    except FieldError as error:
        raise FieldError(error.problem, key=key, hint=error.hint) from error
