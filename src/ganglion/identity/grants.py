"""Subjects, what they were granted, and what they ask about."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ganglion.identity.roles import AccessVerb, ResourceKind, Role

EVERYWHERE = ""
"""The queue of a grant on the whole fleet, and of a resource that belongs to no queue."""
USER, GROUP = "user:", "group:"
"""How the subject of a grant begins."""

_READS = (AccessVerb.VIEW, AccessVerb.AUDIT)
_CAPPED = (
    (AccessVerb.SUBMIT, ResourceKind.WORKLOAD),
    (AccessVerb.STOP, ResourceKind.WORKLOAD),
)
"""What tokens with a spending cap change."""
Tree = Mapping[str, str]
"""Queue -> its parent; empty = it is a root."""


class Grant(Struct, frozen=True):
    """A role on a subtree of queues.

    Attributes:
        subject: `user:NAME` or `group:NAME`.
        role: what it gives.
        queue: root of the subtree; empty = the whole fleet.
        until_ms: when it ends; None = when it is revoked.
        break_glass: whether it counts only for the user who broke the glass.
        broken_by: user who did; empty = it is dormant.
    """

    subject: str
    role: Role
    queue: str = EVERYWHERE
    until_ms: int | None = None
    break_glass: bool = False
    broken_by: str = ""

    @property
    def dormant(self) -> bool:
        """Whether it gives nothing until a holder breaks the glass."""
        return self.break_glass and not self.broken_by

    def counts_for(self, user: str) -> bool:
        """Whether it gives a holder of that name what its role allows."""
        return not self.break_glass or (bool(self.broken_by) and self.broken_by == user)

    def __str__(self) -> str:
        """Print it as a rule."""
        glass = ", by broken glass" if self.broken_by else ""
        return f"role {self.role} of {self.subject} on {place(self.queue)}{glass}"


class TokenScope(Struct, frozen=True):
    """What a token is limited to: it never gives more than its user has.

    Attributes:
        role: whose rights it has at most.
        queue: root of the subtree; empty = the whole fleet.
        is_capped: whether it has a spending cap, so that it does nothing else that costs or gives
            anything than to submit.
    """

    role: Role
    queue: str = EVERYWHERE
    is_capped: bool = False

    def allows(self, verb: AccessVerb, kind: ResourceKind) -> bool:
        """Whether it leaves something to the role at all."""
        return not self.is_capped or verb in _READS or (verb, kind) in _CAPPED

    def __str__(self) -> str:
        """Print it as a rule."""
        cap = ", with a spending cap: it views, submits and stops" if self.is_capped else ""
        return f"role {self.role} on {place(self.queue)}{cap}"


class Subject(Struct, frozen=True):
    """Who asks.

    Attributes:
        user: name of the user.
        groups: names of the user's groups.
        token_scope: what the token is limited to; None = no token, or an unlimited one.
    """

    user: str
    groups: tuple[str, ...] = ()
    token_scope: TokenScope | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What grants may name it by."""
        return (USER + self.user, *(GROUP + each for each in self.groups))


class Resource(Struct, frozen=True):
    """What is asked about.

    Attributes:
        kind: what it is.
        queue: that it belongs to; empty = to none, so that only grants on the whole fleet count.
        owner: name of the user whose it is; empty = it has none.
    """

    kind: ResourceKind
    queue: str = EVERYWHERE
    owner: str = ""


class Grants:
    """Grants by subject and queue, so that a decision looks at few of them.

    Args:
        grants: all of them.
    """

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._of: dict[str, dict[str, list[Grant]]] = {}
        for grant in grants:
            self._of.setdefault(grant.subject, {}).setdefault(grant.queue, []).append(grant)

    def of(self, subject: str) -> Mapping[str, list[Grant]]:
        """The grants of `user:NAME` or `group:NAME`, by queue."""
        return self._of.get(subject, {})

    def all(self) -> Iterable[Grant]:
        """Every grant."""
        return (each for of in self._of.values() for found in of.values() for each in found)


def lineage(queue: str, tree: Tree) -> tuple[str, ...]:
    """A queue, its ancestors, and the whole fleet; grants on any of them count for it."""
    found = list[str]()
    while queue:
        found.append(queue)
        queue = tree.get(queue, EVERYWHERE)
    return (*found, EVERYWHERE)


def place(queue: str) -> str:
    """Where a grant holds, in words."""
    return f"queue {queue}" if queue else "the whole fleet"
