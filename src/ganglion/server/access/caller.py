"""Who makes a request, with the grants as they are then."""

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType

from msgspec import Struct

from ganglion.identity.decide import AccessVerdict, breakable, can, somewhere
from ganglion.identity.grants import (
    EVERYWHERE,
    USER,
    Grant,
    Grants,
    Resource,
    Subject,
    Tree,
    lineage,
)
from ganglion.identity.roles import AccessVerb, ResourceKind, Role
from ganglion.model.errors import Forbidden
from ganglion.model.events import SignedIn, TokenCreated

_V, _K = AccessVerb, ResourceKind


class Rulebook(Struct, frozen=True):
    """Grants, tokens and queues as they were after one event.

    Attributes:
        head: number of that event.
        grants: with the one of the owner, which cannot be revoked.
        tokens: by their ids.
        tree: the queues.
        sessions: of browsers, by their ids.
        disabled: local users for whom nothing counts.
        groups: local user -> groups that it is in.
    """

    head: int
    grants: Grants
    tokens: Mapping[str, TokenCreated]
    tree: Tree
    sessions: Mapping[str, SignedIn] = MappingProxyType({})
    disabled: frozenset[str] = frozenset()
    groups: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Denial(Struct, frozen=True):
    """One refusal, to be recorded.

    Attributes:
        queue: of what was asked about; empty = of none.
        rule: what is missing.
    """

    queue: str
    rule: str


def owners(user: str) -> Grant:
    """The grant of the user whose server it is."""
    return Grant(USER + user, Role.ADMIN)


class Caller:
    """One subject during one request.

    Args:
        subject: who it is.
        rules: as they are at the beginning of the request.
        now_ms: when that was.
        token: id of the personal token or of the session; empty = the caller is the owner of the
            server.
        until_ms: when that expires; 0 = there is none.
        renew: makes the caller anew, with the grants as they are then; None = there is no need.
        csrf: what a browser has to repeat in a header; empty = the caller has no session.

    Attributes:
        denials: what it was refused.
        grants: the standing ones that allowed what it asked for; where it asked about one queue,
            those of that alone.
        glass: the grants by broken glass without which it would have been refused something.
    """

    def __init__(
        self,
        subject: Subject,
        rules: Rulebook,
        now_ms: int,
        token: str = "",
        until_ms: int = 0,
        renew: "Callable[[], Caller] | None" = None,
        csrf: str = "",
    ) -> None:
        self.subject, self.rules, self.now_ms = subject, rules, now_ms
        self.token, self.until_ms, self._renew = token, until_ms, renew
        self.csrf = csrf
        self.denials: list[Denial] = []
        self.grants: list[str] = []
        self.glass: list[str] = []
        self._is_general = False

    def renewed(self) -> "Caller":
        """The same caller with the grants as they are now.

        Raises:
            GanglionError: its token counts no more.
        """
        return self._renew() if self._renew else self

    def may(
        self, verb: AccessVerb, kind: ResourceKind, queue: str = EVERYWHERE, owner: str = ""
    ) -> AccessVerdict:
        """Decide whether the caller may do something; an empty queue is the whole fleet."""
        return self.noted(self._decided(verb, kind, queue, owner))

    def somewhere(self, verb: AccessVerb, kind: ResourceKind) -> AccessVerdict:
        """Decide whether the caller may do it to what is its own, on any queue."""
        found = somewhere(self.subject, verb, kind, self.rules.grants, self.now_ms)
        if not self.grants:
            self.noted(found)
            self._is_general = True
        return found

    def noted(self, found: AccessVerdict) -> AccessVerdict:
        """Take down by which grant something is allowed; returns the verdict."""
        if found.by_glass and found.rule not in self.glass:
            self.glass.append(found.rule)
        elif found.allowed and not found.by_glass:
            if self._is_general:  # this one is about the queue itself
                self.grants.clear()
                self._is_general = False
            if found.rule not in self.grants:
                self.grants.append(found.rule)
        return found

    def _decided(
        self, verb: AccessVerb, kind: ResourceKind, queue: str = EVERYWHERE, owner: str = ""
    ) -> AccessVerdict:
        """Decide without a note that broken glass was needed: nothing is done by it yet."""
        resource, rules = Resource(kind, queue, owner), self.rules
        return can(self.subject, verb, resource, rules.grants, rules.tree, self.now_ms)

    def require(
        self, verb: AccessVerb, kind: ResourceKind, queue: str = EVERYWHERE, owner: str = ""
    ) -> None:
        """Raises Forbidden unless the caller may do something."""
        found = self.may(verb, kind, queue, owner)
        if not found.allowed:
            raise self.refused(found.rule, queue)

    def refused(
        self,
        rule: str,
        queue: str = EVERYWHERE,
        *,
        why: type[Forbidden] = Forbidden,
        hint: str = "see: ganglion whoami",
    ) -> Forbidden:
        """Return the refusal by a rule, and remember that it is to be recorded."""
        self.denials.append(Denial(queue, rule))
        return why(f"{self.subject.user} may not: {rule}", hint)

    @property
    def cap(self) -> str:
        """Id of its token, where that has a spending cap; else empty."""
        scope = self.subject.token_scope
        return self.token if scope and scope.is_capped else ""

    @property
    def personal_token(self) -> str:
        """Id of its personal token; empty = it has none, but a session or an account."""
        return self.token if self.subject.token_scope else ""

    def sees(self, queue: str) -> bool:
        """Whether the caller may see the workloads of a queue."""
        return self.sees_all or self._decided(_V.VIEW, _K.WORKLOAD, queue).allowed

    @cached_property
    def sees_all(self) -> bool:
        """Whether the caller may see the workloads of every queue, and the fleet."""
        return self._decided(_V.VIEW, _K.FLEET).allowed

    @cached_property
    def changes_every_queue(self) -> bool:
        """Whether the caller may change every queue, and its rules about the work of others."""
        return self._decided(_V.CHANGE, _K.QUEUE).allowed

    @cached_property
    def audits_all(self) -> bool:
        """Whether the caller may see every grant, denial and session."""
        return self.may(_V.AUDIT, _K.ACCESS).allowed

    @cached_property
    def trusted(self) -> bool:
        """Whether the caller may do everything here for good, and so what outlasts broken glass."""
        found = self._decided(_V.HALT, _K.SERVER)
        return found.allowed and not found.by_glass

    @cached_property
    def queues(self) -> frozenset[str]:
        """The queues whose workloads the caller may see; those that are gone by their grants."""
        granted = (queue for name in self.subject.names for queue in self.rules.grants.of(name))
        known = dict.fromkeys((*self.rules.tree, *granted))
        return frozenset(each for each in known if each and self.sees(each))

    @cached_property
    def hidden_queues(self) -> frozenset[str]:
        """The queues whose names the caller does not get.

        Ancestors of those it sees are named, and those where it may break the glass.
        """
        rules = self.rules
        dormant, _ = breakable(self.subject, None, rules.grants, rules.tree, self.now_ms)
        named = {*self.queues, *(each.queue for each in dormant)}
        shown = {above for each in named for above in lineage(each, rules.tree)}
        return frozenset(self.rules.tree) - shown
