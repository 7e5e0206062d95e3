"""Dormant grants and broken glass: what holds for every set of grants."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.identity.test_decide import (
    MINE,
    NOW,
    QUEUES,
    TREE,
    asked,
    grant,
    many,
    owners,
    queues,
    roles,
    scopes,
)

from ganglion.identity.decide import breakable, can, may_give, somewhere, who_can
from ganglion.identity.grants import Grant, Grants, Resource, Subject, TokenScope, lineage
from ganglion.identity.roles import AccessVerb, Permission, Role, within

V = AccessVerb


def dormant(of: Grant) -> Grant:
    return replace(of, break_glass=True)


def broken(of: Grant, user: str = "bob", until: int | None = NOW + 1) -> Grant:
    return replace(of, break_glass=True, broken_by=user, until_ms=until)


def verdict(
    permission: Permission, queue: str, owner: str, grants: list[Grant], subject: Subject = MINE
) -> tuple[bool, str]:
    verb, kind = permission
    found = can(subject, verb, Resource(kind, queue, owner), Grants(grants), TREE, NOW)
    return found.allowed, found.rule


@given(asked, queues, owners, many, st.lists(grant, max_size=4), roles)
def test_a_dormant_grant_gives_nothing(
    permission: Permission,
    queue: str,
    owner: str,
    grants: list[Grant],
    more: list[Grant],
    role: Role,
) -> None:
    with_it = [*map(dormant, more), *grants]
    assert verdict(permission, queue, owner, with_it) == verdict(permission, queue, owner, grants)
    verb, kind = permission
    # Of several grants that would do, any may be the one that is named.
    several = [somewhere(MINE, verb, kind, Grants(each), NOW) for each in (with_it, grants)]
    assert (several[0].allowed, several[0].by_glass) == (several[1].allowed, False)
    given_on = [may_give(MINE, role, queue, Grants(each), TREE, NOW) for each in (with_it, grants)]
    assert (given_on[0].allowed, given_on[0].by_glass) == (given_on[1].allowed, False)


@given(asked, queues, owners, many, grant)
def test_broken_glass_gives_what_the_grant_would_but_for_granting(
    permission: Permission, queue: str, owner: str, grants: list[Grant], more: Grant
) -> None:
    standing = replace(more, until_ms=NOW + 1)
    got, rule = verdict(permission, queue, owner, [*grants, dormant(more), broken(more)])
    plain, _ = verdict(permission, queue, owner, grants)
    would, _ = verdict(permission, queue, owner, [*grants, standing])
    assert got is (plain if permission[0] is V.GRANT else would)
    assert rule.endswith(", by broken glass") is (got and not plain)


@given(asked, queues, owners, grant)
def test_broken_glass_ends_at_its_time_and_counts_for_no_other_holder(
    permission: Permission, queue: str, owner: str, more: Grant
) -> None:
    ended = [dormant(more), broken(more, until=NOW)]
    assert not verdict(permission, queue, owner, ended)[0]
    of_another = [dormant(more), broken(more, user="eve")]
    assert not verdict(permission, queue, owner, of_another)[0]
    assert not verdict(permission, queue, "", [broken(more, user="")], Subject("", ("dev",)))[0]


@given(roles, queues, many, grant)
def test_broken_glass_grants_nothing_on(
    role: Role, queue: str, grants: list[Grant], more: Grant
) -> None:
    every = Grants([*grants, broken(more)])
    assert may_give(MINE, role, queue, every, TREE, NOW).allowed is (
        may_give(MINE, role, queue, Grants(grants), TREE, NOW).allowed
    )


@given(asked, queues, owners, grant, scopes)
def test_a_limited_token_gets_no_more_by_broken_glass_and_breaks_none_beyond_itself(
    permission: Permission, queue: str, owner: str, more: Grant, scope: TokenScope
) -> None:
    limited = replace(MINE, token_scope=scope)
    if verdict(permission, queue, owner, [broken(more)], limited)[0]:
        full = [Grant("user:bob", scope.role, scope.queue)]
        assert verdict(permission, queue, owner, full)[0]
    for each in breakable(limited, None, Grants([dormant(more)]), TREE, NOW)[0]:
        assert scope.queue in lineage(each.queue, TREE)
        assert within(each.role, scope.role)


@given(many, st.lists(grant, max_size=4), st.none() | queues)
def test_a_subject_breaks_the_live_dormant_grants_that_name_it_and_no_other(
    grants: list[Grant], more: list[Grant], queue: str | None
) -> None:
    every = Grants([*grants, *map(dormant, more)])
    found, missing = breakable(MINE, queue, every, TREE, NOW)
    mine = [
        each
        for each in more
        if each.subject in MINE.names
        and (each.until_ms is None or each.until_ms > NOW)
        and queue in (None, each.queue)
    ]
    assert sorted(map(str, found)) == sorted(map(str, mine))
    assert bool(missing) is not bool(mine)


@given(asked, st.sampled_from(QUEUES), many, grant)
def test_who_can_marks_dormant_grants_and_those_whose_glass_is_broken(
    permission: Permission, queue: str, grants: list[Grant], more: Grant
) -> None:
    verb, kind = permission
    standing = who_can(verb, Resource(kind, queue), Grants(grants), TREE, NOW)
    every = Grants([*grants, dormant(more), broken(more)])
    found = who_can(verb, Resource(kind, queue), every, TREE, NOW)
    assert [each for each in found if not each.grant.break_glass] == standing
    would = who_can(verb, Resource(kind, queue), Grants([more]), TREE, NOW)
    marked = [each.grant for each in found if each.grant.dormant]
    assert marked == ([dormant(more)] if would and verb is not V.GRANT else [])
