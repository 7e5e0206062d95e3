"""The decision: may a subject do this, and by which rule."""

from collections.abc import Iterator

from msgspec import Struct

from ganglion.identity.grants import (
    EVERYWHERE,
    Grant,
    Grants,
    Resource,
    Subject,
    Tree,
    lineage,
    place,
)
from ganglion.identity.roles import PERMISSIONS, AccessVerb, Reach, ResourceKind, Role, within


class AccessVerdict(Struct, frozen=True):
    """Whether something is allowed.

    Attributes:
        allowed: whether it is.
        rule: the grant that allows it, or what is missing.
        by_glass: whether nothing but broken glass allows it.
    """

    allowed: bool
    rule: str
    by_glass: bool = False


class GrantHolder(Struct, frozen=True):
    """A grant that allows something.

    Attributes:
        grant: names subject, role and queue.
        own: whether it reaches only what belongs to the subject; of a dormant grant it says what
            breaking the glass would give.
    """

    grant: Grant
    own: bool


def can(
    subject: Subject,
    verb: AccessVerb,
    resource: Resource,
    grants: Grants,
    tree: Tree,
    now_ms: int,
) -> AccessVerdict:
    """Decide whether a subject may do something.

    Args:
        subject: who asks.
        verb: what for.
        resource: what it is done to.
        grants: all there are; those that have ended do not count.
        tree: the queues.
        now_ms: the time.
    """
    roles = PERMISSIONS.get((verb, resource.kind), {})
    line = lineage(resource.queue, tree)
    scope, owns = subject.token_scope, bool(resource.owner) and resource.owner == subject.user
    if scope and not (
        scope.queue in line
        and scope.allows(verb, resource.kind)
        and _reaches(roles.get(scope.role), owns=owns)
    ):
        return AccessVerdict(False, f"the token is limited to {scope}")
    broken: Grant | None = None
    for name in subject.names:
        of = grants.of(name)
        for queue in line if of else ():
            for grant in of.get(queue, ()):
                if not _reaches(roles.get(grant.role), owns=owns):
                    continue
                if not _gives(grant, verb, subject.user, now_ms):
                    continue
                if not grant.break_glass:
                    return AccessVerdict(True, str(grant))
                broken = grant  # counts where no other does
    if broken:
        return AccessVerdict(True, str(broken), by_glass=True)
    return AccessVerdict(False, _missing(subject, verb, resource))


def somewhere(
    subject: Subject, verb: AccessVerb, kind: ResourceKind, grants: Grants, now_ms: int
) -> AccessVerdict:
    """Decide whether a subject may do something to what is its own, on any queue."""
    roles, scope = PERMISSIONS.get((verb, kind), {}), subject.token_scope
    if scope and not (scope.role in roles and scope.allows(verb, kind)):
        return AccessVerdict(False, f"the token is limited to {scope}")
    broken: Grant | None = None
    for grant in _granted(subject, verb, grants, now_ms):
        if grant.role in roles and not grant.break_glass:
            return AccessVerdict(True, str(grant))
        if grant.role in roles:
            broken = grant
    if broken:
        return AccessVerdict(True, str(broken), by_glass=True)
    return AccessVerdict(False, _missing(subject, verb, Resource(kind, owner=subject.user)))


def may_give(
    subject: Subject, role: Role, queue: str, grants: Grants, tree: Tree, now_ms: int
) -> AccessVerdict:
    """Decide whether a subject may grant a role on a queue: none beyond its own rights."""
    found = can(
        subject, AccessVerb.GRANT, Resource(ResourceKind.ACCESS, queue), grants, tree, now_ms
    )
    if not found.allowed:
        return found
    if subject.token_scope and not within(role, subject.token_scope.role):
        return AccessVerdict(False, f"the token is limited to {subject.token_scope}")
    line = lineage(queue, tree)
    for grant in _granted(subject, AccessVerb.GRANT, grants, now_ms):
        if grant.queue in line and within(role, grant.role):
            return found
    return AccessVerdict(
        False, f"role {role} allows more than {subject.user} may on {place(queue)}"
    )


def breakable(
    subject: Subject, queue: str | None, grants: Grants, tree: Tree, now_ms: int
) -> tuple[list[Grant], str]:
    """List the dormant grants whose glass a subject may break.

    Args:
        subject: who asks; a limited token breaks nothing that reaches beyond it.
        queue: that they are granted on; None = no matter where.
        grants: all there are.
        tree: the queues.
        now_ms: the time.

    Returns:
        the grants; and, where there are none, what is missing.
    """
    found = [
        each
        for each in _alive(subject, grants, now_ms)
        if each.dormant and queue in (None, each.queue)
    ]
    where = "" if queue is None else f" on {place(queue)}"
    if not found:
        return [], f"breaking glass needs a dormant grant{where}; {subject.user} has none"
    scope = subject.token_scope
    within_scope = [
        each
        for each in found
        if not scope
        or (
            not scope.is_capped
            and scope.queue in lineage(each.queue, tree)
            and within(each.role, scope.role)
        )
    ]
    return within_scope, "" if within_scope else f"the token is limited to {scope}"


def who_can(
    verb: AccessVerb, resource: Resource, grants: Grants, tree: Tree, now_ms: int
) -> list[GrantHolder]:
    """List the grants that allow something, dormant ones too, sorted by subject and queue."""
    roles, line = PERMISSIONS.get((verb, resource.kind), {}), lineage(resource.queue, tree)
    found = [
        GrantHolder(each, own=roles[each.role] is Reach.OWN)
        for each in grants.all()
        if each.queue in line
        and each.role in roles
        and _lives(each, now_ms)
        and not (each.break_glass and verb is AccessVerb.GRANT)
    ]
    return sorted(
        found,
        key=lambda each: (
            *(each.grant.subject, each.grant.queue, each.grant.role),
            each.grant.broken_by,
        ),
    )


def _granted(subject: Subject, verb: AccessVerb, grants: Grants, now_ms: int) -> Iterator[Grant]:
    return (
        each for each in _alive(subject, grants, now_ms) if _gives(each, verb, subject.user, now_ms)
    )


def _alive(subject: Subject, grants: Grants, now_ms: int) -> Iterator[Grant]:
    for name in subject.names:
        for found in grants.of(name).values():
            yield from (each for each in found if _lives(each, now_ms))


def _gives(grant: Grant, verb: AccessVerb, user: str, now_ms: int) -> bool:
    """Whether a grant counts for a verb; what broken glass gives is not granted on."""
    if grant.break_glass and (verb is AccessVerb.GRANT or not grant.counts_for(user)):
        return False  # a role or a token that it gave would outlast it
    return _lives(grant, now_ms)


def _lives(grant: Grant, now_ms: int) -> bool:
    return grant.until_ms is None or now_ms < grant.until_ms


def _reaches(reach: Reach | None, *, owns: bool) -> bool:
    return reach is Reach.ALL or (reach is Reach.OWN and owns)


def _missing(subject: Subject, verb: AccessVerb, resource: Resource) -> str:
    """What a subject would need."""
    roles = PERMISSIONS.get((verb, resource.kind), {})
    every = [role for role, reach in roles.items() if reach is Reach.ALL]
    own = [role for role, reach in roles.items() if reach is Reach.OWN]
    names = ", ".join(own + every if own and resource.owner == subject.user else every)
    where = place(resource.queue) + (" or above it" if resource.queue != EVERYWHERE else "")
    what = f"{verb} {resource.kind}"
    return f"{what} needs one of the roles {names} on {where}; {subject.user} has none of them"
