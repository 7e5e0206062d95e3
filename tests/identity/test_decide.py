"""Who may do what: what holds for every set of grants."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ganglion.identity.decide import can, may_give, somewhere, who_can
from ganglion.identity.grants import Grant, Grants, Resource, Subject, TokenScope, lineage
from ganglion.identity.roles import (
    PERMISSIONS,
    AccessVerb,
    Permission,
    Reach,
    ResourceKind,
    Role,
    within,
)

TREE = {"org": "", "ml": "org", "vision": "ml", "speech": "ml", "hpc": "org", "lab": ""}
QUEUES = ["", *TREE]
NOW = 1_000
MINE = Subject("bob", ("dev",))

roles = st.sampled_from(list(Role))
queues = st.sampled_from(QUEUES)
asked = st.sampled_from(list(PERMISSIONS))
subjects = st.sampled_from(["user:bob", "group:dev", "user:eve", "group:ops"])
ends = st.sampled_from([None, NOW - 1, NOW, NOW + 1])
grant = st.builds(Grant, subjects, roles, queues, ends)
many = st.lists(grant, max_size=8)
owners = st.sampled_from(["", "bob", "eve"])
scopes = st.builds(TokenScope, roles, queues)


def allowed(
    permission: Permission, queue: str, owner: str, grants: list[Grant], subject: Subject = MINE
) -> bool:
    verb, kind = permission
    return can(subject, verb, Resource(kind, queue, owner), Grants(grants), TREE, NOW).allowed


@given(asked, queues, owners, many, grant)
def test_a_further_grant_takes_nothing_away(
    permission: Permission, queue: str, owner: str, grants: list[Grant], more: Grant
) -> None:
    if allowed(permission, queue, owner, grants):
        assert allowed(permission, queue, owner, [*grants, more])


@given(asked, queues, owners, many, scopes)
def test_a_token_never_gives_more_than_its_user_has_or_its_scope_allows(
    permission: Permission, queue: str, owner: str, grants: list[Grant], scope: TokenScope
) -> None:
    limited = Subject("bob", ("dev",), scope)
    if allowed(permission, queue, owner, grants, limited):
        assert allowed(permission, queue, owner, grants)
        assert allowed(
            permission, queue, owner, [Grant("user:bob", scope.role, scope.queue)], limited
        )


@given(asked, queues, owners, many)
def test_only_a_live_grant_above_the_queue_to_the_subject_counts(
    permission: Permission, queue: str, owner: str, grants: list[Grant]
) -> None:
    counting = [
        each
        for each in grants
        if each.subject in ("user:bob", "group:dev")
        and each.queue in lineage(queue, TREE)
        and (each.until_ms is None or each.until_ms > NOW)
    ]
    expected = any(
        PERMISSIONS[permission].get(each.role) is Reach.ALL
        or (PERMISSIONS[permission].get(each.role) is Reach.OWN and owner == "bob")
        for each in counting
    )
    assert allowed(permission, queue, owner, grants) is expected


@given(asked, queues, many)
def test_who_can_names_exactly_those_who_can(
    permission: Permission, queue: str, grants: list[Grant]
) -> None:
    verb, kind = permission
    found = who_can(verb, Resource(kind, queue), Grants(grants), TREE, NOW)
    for name in ("bob", "eve"):
        named = [each for each in found if each.grant.subject == f"user:{name}"]
        alone, its = Subject(name), Resource(kind, queue, name)
        assert bool(named) is can(alone, verb, its, Grants(grants), TREE, NOW).allowed
        others = Resource(kind, queue, "ada")
        every = any(not each.own for each in named)
        assert every is can(alone, verb, others, Grants(grants), TREE, NOW).allowed


@given(roles, queues, many, st.none() | scopes, asked, queues, owners)
def test_what_is_granted_on_is_never_more_than_the_grantor_may(
    role: Role,
    queue: str,
    grants: list[Grant],
    scope: TokenScope | None,
    permission: Permission,
    under: str,
    owner: str,
) -> None:
    grantor = Subject("bob", ("dev",), scope)
    if not may_give(grantor, role, queue, Grants(grants), TREE, NOW).allowed:
        return
    given_on = [Grant("user:eve", role, queue)]
    if allowed(permission, under, "zoe", given_on, Subject("eve")):
        assert allowed(permission, under, "zoe", grants, grantor)


@given(asked, many, st.none() | scopes)
def test_somewhere_needs_a_grant_and_a_scope_with_such_a_role(
    permission: Permission, grants: list[Grant], scope: TokenScope | None
) -> None:
    subject, (verb, kind) = Subject("bob", ("dev",), scope), permission
    found = somewhere(subject, verb, kind, Grants(grants), NOW).allowed
    if any(allowed(permission, queue, "bob", grants, subject) for queue in QUEUES):
        assert found
    if found and scope is None:
        assert any(allowed(permission, queue, "bob", grants) for queue in QUEUES)


def test_a_rule_names_the_grant_or_what_is_missing() -> None:
    grants = Grants([Grant("group:dev", Role.SUBMITTER, "ml", NOW + 1)])
    seen = Resource(ResourceKind.WORKLOAD, "vision", "eve")
    found = can(MINE, AccessVerb.VIEW, seen, grants, TREE, NOW)
    assert (found.allowed, found.rule) == (True, "role submitter of group:dev on queue ml")
    refused = can(MINE, AccessVerb.STOP, seen, grants, TREE, NOW)
    assert refused.rule == (
        "stop workload needs one of the roles maintainer, owner, admin, operator on queue vision"
        " or above it; bob has none of them"
    )
    token = Subject("bob", ("dev",), TokenScope(Role.VIEWER, "speech"))
    assert can(token, AccessVerb.VIEW, seen, grants, TREE, NOW).rule == (
        "the token is limited to role viewer on queue speech"
    )


def test_each_role_allows_what_the_smaller_one_allows() -> None:
    line = [Role.VIEWER, Role.SUBMITTER, Role.MAINTAINER, Role.OWNER, Role.ADMIN]
    assert all(within(less, more) for less, more in pairwise(line))
    assert not within(Role.OPERATOR, Role.OWNER)
    assert not within(Role.MAINTAINER, Role.AUDITOR)
    assert all(within(role, Role.ADMIN) for role in Role)
