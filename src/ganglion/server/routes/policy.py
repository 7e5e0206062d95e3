"""Routes for the policy: what is in force, what was, and setting another."""

from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import Field

from ganglion.api.policies import PolicyHistory, PolicyOutcome, PolicyView
from ganglion.server.commands import policies
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest import etags
from ganglion.server.rest.filters import VersionQuery, holds, instant
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.pages import cut
from ganglion.server.rest.problems import ERRORS, STALE
from ganglion.server.rest.sending import Routes
from ganglion.server.state.transaction import Transaction
from ganglion.server.views import policies as policy_views
from ganglion.specs.policy.policy import PolicyFile, parse_policy

router = Routes(tags=["policy"], responses=ERRORS)

Number = Annotated[int, Path(ge=0, le=(1 << 53))]


class Proposal(Input):
    """A policy file."""

    text: str = Field(min_length=1, description="YAML or JSON")
    file: str = Field("", max_length=1000, description="name of the file in errors")


class ProposedPolicy(Proposal):
    """A policy file that is to be in force."""

    allow_unknown_flavors: bool = Field(False, description="take flavors that no node has")


class Return(Input):
    """Which version is to be in force again."""

    version: int = Field(ge=0, le=(1 << 53))


@router.get("/policy", response_model=PolicyView, responses=etags.TAGGED)
def show_policy(here: Here, if_none_match: etags.IfNoneMatch = "") -> Response:
    """Return the policy in force, with the queues and bookings there are."""
    with here.service.read() as mind:
        found = policy_views.present(mind)
    return etags.answer(found, if_none_match, found.etag)


@router.get("/policy/versions", response_model=PolicyHistory, responses=etags.TAGGED)
def list_policy_versions(
    here: Here,
    query: Annotated[VersionQuery, Query()],
    if_none_match: etags.IfNoneMatch = "",
) -> Response:
    """List every policy that was set, and what it changed."""
    since = instant(query.since, here.service.now(), "since") or 0
    with here.service.read() as mind:
        every = policy_views.history(mind).items
    found = [
        each
        for each in every
        if each.at >= since
        and (not query.user or each.user in query.user)
        and holds(query.text.lower(), each.user, each.cause)
    ]
    shown, following = cut("versions", found, lambda each: (each.version,), query)
    page = PolicyHistory(items=tuple(shown), next=following)
    return etags.answer(page, if_none_match)


@router.get("/policy/versions/{number}", response_model=PolicyView, responses=etags.TAGGED)
def show_policy_version(
    here: Here, number: Number, if_none_match: etags.IfNoneMatch = ""
) -> Response:
    """Return a policy that was once in force."""
    with here.service.read() as mind:
        found = policy_views.former(policies.version(mind, number))
    return etags.answer(found, if_none_match, found.etag)


@router.post("/policy/check")
def check_policy(here: Here, proposal: Proposal) -> PolicyOutcome:
    """Say what is wrong with a policy and what it would change; nothing is set."""
    file = _understood(here, proposal)
    with here.service.read() as mind:
        return policies.check(mind, file)


@router.put("/policy", responses=STALE)
def set_policy(
    here: Here,
    wish: ProposedPolicy,
    if_match: etags.IfMatch = "",
) -> PolicyOutcome:
    """Let a policy decide from now on; jobs that run are not disturbed."""
    file, unknown = _understood(here, wish), wish.allow_unknown_flavors

    def command(draft: Transaction) -> PolicyOutcome:
        _check_unchanged(draft, if_match)
        return policies.set_policy(
            draft, file, here.user, policies.APPLIED, allow_unknown_flavors=unknown
        )

    return here.service.ask(command)


def _check_unchanged(draft: Transaction, if_match: str) -> None:
    if if_match:
        etags.check(policy_views.present(draft.mind).etag, if_match, "", "the policy")


def _understood(here: ServerContext, proposal: Proposal) -> PolicyFile:
    """Read a policy file for this fleet, while turns go on."""
    with here.service.read() as mind:
        flavors = policies.flavors_of(mind.state)
    return parse_policy(proposal.text, proposal.file, flavors)


@router.post("/policy/rollback", responses=STALE)
def roll_back_policy(
    here: Here,
    to: Return,
    if_match: etags.IfMatch = "",
) -> PolicyOutcome:
    """Put a former policy in force again, as a new version."""

    def command(draft: Transaction) -> PolicyOutcome:
        _check_unchanged(draft, if_match)
        return policies.roll_back(draft, to.version, here.user)

    return here.service.ask(command)
