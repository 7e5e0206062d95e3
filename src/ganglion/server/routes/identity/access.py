"""Routes for grants, personal tokens, and who may do what."""

from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import Field

from ganglion.api.access import (
    GlassView,
    GrantView,
    HolderView,
    NewToken,
    RolePage,
    SpendCap,
    TokenPage,
    TokenView,
    WhoAmI,
    WhoCan,
)
from ganglion.api.server import Done
from ganglion.identity.decide import breakable, may_give, who_can
from ganglion.identity.grants import Grant, Resource, place
from ganglion.identity.roles import AccessVerb, ResourceKind, Role
from ganglion.model.errors import FieldError
from ganglion.model.events import RoleGranted, TokenCreated
from ganglion.server.access.caller import Caller
from ganglion.server.commands import access
from ganglion.server.requests.context import Here
from ganglion.server.rest import etags
from ganglion.server.rest.filters import MOST_MS
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS, STALE
from ganglion.server.rest.sending import Routes
from ganglion.server.state.rights import AccessRights
from ganglion.server.state.transaction import Transaction
from ganglion.server.views import budgets
from ganglion.specs.grammar.money import MOST_MICRO

router = Routes(tags=["access"], responses=ERRORS)

Queue = Annotated[str, Field(max_length=1000, description="by name; empty = the whole fleet")]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Subtree(Input):
    """A role on a subtree of queues."""

    subject: Name = Field(description="`user:NAME` or `group:NAME`")
    role: Role = Field(strict=False)
    queue: Queue = ""


class GrantWish(Subtree):
    """A role that is to be granted."""

    until: int | None = Field(None, ge=0, le=MOST_MS, description="when it ends, in ms")
    break_glass: bool = Field(
        False,
        description="whether it gives nothing until a holder breaks the glass",
    )


Broken = Annotated[
    str | None, Field(max_length=1000, description="of the grant; empty = the whole fleet")
]


class GlassWish(Input):
    """Glass that is to be broken."""

    reason: str = Field(
        min_length=access.SHORTEST_REASON,
        max_length=access.LONGEST_REASON,
        description="why, in printable characters",
    )
    lasting: int = Field(
        access.GLASS_MS, ge=1, le=access.MOST_GLASS_MS, description="for how long, in ms"
    )
    queue: Broken = None


class BrokenGlass(Input):
    """Glass that is to be mended."""

    user: str = Field("", max_length=200, description="who broke it; empty = the caller")
    queue: Broken = None


class TokenWish(Input):
    """A personal token that is to be made."""

    user: Name = Field(description="whose requests it makes")
    role: Role = Field(strict=False, description="what it is limited to")
    queue: Queue = ""
    groups: list[Name] = Field([], max_length=100, description="of the user")
    label: str = Field("", max_length=200, description="what it is for")
    days: int = Field(90, ge=1, le=access.MOST_DAYS, description="until it expires")
    spend_cap_micro: int | None = Field(
        None,
        ge=1,
        le=MOST_MICRO,
        description="what is submitted with it may cost at most, in millionths",
    )


@router.get("/whoami")
def who_am_i(here: Here) -> WhoAmI:
    """Say who the caller is, and what it was granted."""
    caller = here.caller.renewed()
    grants = [each for name in caller.subject.names for each in _granted(caller, name)]
    with here.service.read() as mind:
        rights = mind.book.rights
        cap = budgets.cap_of_token(mind, caller.cap, here.service.now()) if caller.cap else None
    return WhoAmI(
        user=caller.subject.user,
        groups=caller.subject.groups,
        owner=not caller.token,
        token="" if caller.csrf else caller.token,
        session=caller.token if caller.csrf else "",
        csrf=caller.csrf,
        limit=str(caller.subject.token_scope or ""),
        until=caller.until_ms,
        grants=tuple(
            _view(each, _broken(rights, each, caller.now_ms, caller.subject.user))
            for each in grants
        ),
        every_queue=caller.changes_every_queue,
        spend_cap=cap,
    )


def _granted(caller: Caller, name: str) -> list[Grant]:
    every = (each for found in caller.rules.grants.of(name).values() for each in found)
    return [each for each in every if not each.broken_by]


def _view(grant: Grant, broken: tuple[GlassView, ...]) -> GrantView:
    return GrantView(
        grant.subject,
        grant.role,
        grant.queue,
        grant.until_ms,
        break_glass=grant.break_glass,
        broken=broken,
    )


def _broken(
    rights: AccessRights, grant: Grant | RoleGranted, now_ms: int, user: str = ""
) -> tuple[GlassView, ...]:
    """By whom the glass of a grant is broken; with a user, only whether by that one."""
    key = (grant.subject, str(grant.role), grant.queue)
    return tuple(
        GlassView(each.user, each.since_ms, each.until_ms, each.reason)
        for known, each in sorted(rights.glasses.items() if grant.break_glass else ())
        if known[1:] == key and now_ms < each.until_ms and user in ("", each.user)
    )


@router.get("/roles")
def list_roles(here: Here) -> RolePage:
    """List grants, by subject and queue."""
    with here.service.read() as mind:
        rights = mind.book.rights
        every = list(rights.grants.values())
    verb, kind = AccessVerb.AUDIT, ResourceKind.ACCESS
    seen = [each for each in every if here.caller.may(verb, kind, each.queue).allowed]
    seen.sort(key=lambda each: (each.subject, each.queue, each.role))
    now = here.caller.now_ms
    return RolePage(items=tuple(_shown(each, _broken(rights, each, now)) for each in seen))


def _shown(event: RoleGranted, broken: tuple[GlassView, ...] = ()) -> GrantView:
    return GrantView(
        event.subject,
        event.role,
        event.queue,
        event.until_ms,
        event.by,
        event.at,
        event.break_glass,
        broken,
    )


def _check_grant(draft: Transaction, its: Subtree, if_match: str, if_none_match: str = "") -> None:
    present = draft.book.rights.grants.get((its.subject, str(its.role), its.queue))
    etags.check(_tag(present), if_match, if_none_match, f"the role {its.role} of {its.subject}")


def _tag(grant: RoleGranted | None) -> str:
    """Of a grant: another one of the same role has another; empty = there is none."""
    if grant is None:
        return ""
    return etags.tag_of((grant.at, grant.by, grant.until_ms, grant.break_glass))


@router.post("/roles:grant", response_model=GrantView, responses=etags.CHANGED)
def grant_role(
    here: Here,
    wish: GrantWish,
    if_match: etags.IfMatch = "",
    if_none_match: etags.IfNoneMatch = "",
) -> Response:
    """Grant a role on a subtree of queues, or change when a grant ends or whether it is dormant."""
    _require_giving(here.caller, wish)
    if wish.break_glass:
        here.caller.require(AccessVerb.CHANGE, ResourceKind.ACCESS)

    def command(draft: Transaction) -> RoleGranted:
        _check_grant(draft, wish, if_match, if_none_match)
        place = (wish.subject, str(wish.role), wish.queue)
        return access.grant(draft, *place, wish.until, here.user, break_glass=wish.break_glass)

    made = here.service.ask(command)
    return etags.answer(_shown(made), "", _tag(made))


@router.post("/roles:revoke", responses=STALE)
def revoke_role(here: Here, which: Subtree, if_match: etags.IfMatch = "") -> Done:
    """Take a grant back; requests that are being answered end within a second."""
    _require_giving(here.caller, which)

    def command(draft: Transaction) -> None:
        _check_grant(draft, which, if_match)
        access.revoke(draft, which.subject, str(which.role), which.queue, here.user)

    here.service.ask(command)
    return Done()


@router.post("/roles:break-glass")
def break_glass(here: Here, wish: GlassWish) -> RolePage:
    """Make the caller's dormant grants on a queue count for a while.

    Without a queue it is the one queue on which the caller has dormant grants. Those whom
    `notify.yaml` names are notified.
    """
    caller = here.caller.renewed()
    rules, user = caller.rules, caller.subject.user
    found, missing = breakable(caller.subject, wish.queue, rules.grants, rules.tree, caller.now_ms)
    if missing:
        raise here.caller.refused(missing, wish.queue or "")
    queues = sorted({each.queue for each in found})
    if len(queues) > 1:
        places = ", ".join(map(place, queues))
        raise FieldError(
            f"there are dormant grants on {places}: which one?",
            key="queue",
            hint="an empty queue is the whole fleet",
        )
    keys = [(each.subject, str(each.role), each.queue) for each in found]
    here.service.ask(lambda draft: access.break_glass(draft, keys, user, wish.reason, wish.lasting))
    with here.service.read() as mind:
        rights = mind.book.rights
    now = here.service.now()
    known = (rights.grants[each] for each in keys if each in rights.grants)
    return RolePage(items=tuple(_shown(each, _broken(rights, each, now, user)) for each in known))


@router.post("/roles:mend-glass")
def mend_glass(here: Here, which: BrokenGlass) -> Done:
    """End what broken glass gives the caller or, for admins of the whole fleet, another user."""
    user = which.user or here.user
    if user != here.user:
        here.caller.require(AccessVerb.CHANGE, ResourceKind.ACCESS)
    here.service.ask(lambda draft: access.mend_glass(draft, user, which.queue, here.user))
    return Done()


def _require_giving(caller: Caller, wish: Subtree) -> None:
    """Check that the caller may give a role there, and see the queue.

    Raises:
        Forbidden: it may not give it.
        FieldError: it may not see the queue, as where there is none.
    """
    if wish.queue and not caller.sees(wish.queue):
        raise FieldError(
            f"there is no queue {wish.queue!r}", key="queue", hint="see: ganglion queues"
        )
    rules = caller.rules
    found = caller.noted(
        may_give(caller.subject, wish.role, wish.queue, rules.grants, rules.tree, caller.now_ms)
    )
    if not found.allowed:
        raise caller.refused(found.rule, wish.queue)


@router.get("/whocan")
def show_who_can(
    here: Here,
    verb: AccessVerb,
    resource: ResourceKind,
    queue: Annotated[str, Query(max_length=1000, description="empty = the whole fleet")] = "",
) -> WhoCan:
    """List the grants that allow something."""
    here.caller.require(AccessVerb.AUDIT, ResourceKind.ACCESS, queue)
    rules = here.caller.renewed().rules
    found = who_can(verb, Resource(resource, queue), rules.grants, rules.tree, here.caller.now_ms)
    return WhoCan(
        verb=verb,
        resource=resource,
        queue=queue,
        items=tuple(
            HolderView(
                each.grant.subject,
                each.grant.role,
                each.grant.queue,
                each.grant.until_ms,
                each.own,
                each.grant.dormant,
                each.grant.broken_by,
            )
            for each in found
        ),
    )


@router.get("/tokens")
def list_tokens(here: Here) -> TokenPage:
    """List personal tokens without the tokens themselves: the caller's own, or all."""
    now = here.service.now()
    with here.service.read() as mind:
        every = mind.book.rights.tokens.values()
        all_seen, user = here.caller.audits_all, here.caller.subject.user
        seen = [each for each in every if all_seen or each.user == user]
        caps = {each.token: budgets.cap_of_token(mind, each.token, now) for each in seen}
    seen.sort(key=lambda each: (-each.at, each.token))
    return TokenPage(items=tuple(_about(each, caps[each.token]) for each in seen))


@router.post("/tokens", status_code=201)
def create_token(here: Here, wish: TokenWish) -> NewToken:
    """Make a personal token; the answer is the only place that has it."""
    token = access.new_token(here.effects.randomness)
    caller = here.caller
    asked = access.WantedToken(
        wish.user,
        str(wish.role),
        wish.queue,
        wish.groups,
        wish.label,
        wish.days,
        0 if caller.csrf else caller.until_ms,
        wish.spend_cap_micro or 0,
    )

    def make(draft: Transaction) -> TokenView:
        made = access.make_token(draft, asked, token, here.user)
        return _about(made, budgets.cap_of_token(draft.mind, made.token, draft.now))

    return NewToken(token=token, about=here.service.ask(make))


@router.delete("/tokens/{token}")
def revoke_token(here: Here, token: Annotated[str, Path(max_length=200)]) -> Done:
    """Make a personal token count no more; its requests that are being answered end in a second."""
    own = not here.caller.may(AccessVerb.GRANT, ResourceKind.TOKEN).allowed
    here.service.ask(lambda draft: access.revoke_token(draft, token, here.user, own=own))
    return Done()


def _about(event: TokenCreated, cap: SpendCap | None) -> TokenView:
    return TokenView(
        event.token,
        event.user,
        event.groups,
        event.role,
        event.queue,
        event.until_ms,
        event.label,
        event.by,
        event.at,
        cap,
    )
