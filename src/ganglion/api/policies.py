"""Policies and bookings."""

from typing import Any

from msgspec import Struct, field

from ganglion.api.page import Page


class PolicyChange(Struct):
    """One thing that differs between two policies.

    Attributes:
        key: dotted, as `evict.restart`, or `queues.research.quota.H100`.
        before: as a file says it; None = it was not there.
        after: the same; None = it is there no more.
    """

    key: str
    before: str | None = None
    after: str | None = None


class PolicyOutcome(Struct):
    """What setting a policy did, or would do.

    Attributes:
        version: in force now.
        changes: empty = nothing was set.
        warnings: what looks wrong but is no error.
    """

    version: int
    changes: tuple[PolicyChange, ...] = ()
    warnings: tuple[str, ...] = ()


class PolicyVersion(Struct):
    """A policy that was set once.

    Attributes:
        version: counts from 1.
        at: when, in ms.
        user: by whom.
        cause: how: `applied`, `started with the server`, `rolled back to 3`.
        changes: against the version before.
    """

    version: int
    at: int = 0
    user: str = ""
    cause: str = ""
    changes: tuple[PolicyChange, ...] = ()


class PolicyHistory(Page):
    """All policies, oldest first."""

    items: tuple[PolicyVersion, ...] = ()


class PolicyView(Struct):
    """A policy with everything it says.

    Attributes:
        version, at, user, cause: see `PolicyVersion`; version 0 = built in.
        text: the file as it was written.
        document: every knob with its value, in keys of the file.
        etag: names all of this, for changes that replace just this.
    """

    version: int
    at: int = 0
    user: str = ""
    cause: str = ""
    text: str = ""
    document: dict[str, Any] = field(default_factory=dict)
    etag: str = ""


class BookingView(Struct):
    """Nodes that are kept for some queues or users, or for none, from one time to another.

    Attributes:
        name: unique.
        nodes: names of the nodes.
        begin, end: times in ms.
        queues: queues whose gangs may use them; empty = none: maintenance.
        users: users who may use them; empty = any of the queues.
        reason: for people.
        state: `planned`, `active` or `over`.
        clears: whether gangs on the nodes leave, and are stopped when it begins.
    """

    name: str
    nodes: tuple[str, ...] = ()
    begin: int = 0
    end: int = 0
    queues: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    reason: str = ""
    state: str = ""
    clears: bool = False


class BookingPage(Page):
    """All bookings, by when they begin."""

    items: tuple[BookingView, ...] = ()
