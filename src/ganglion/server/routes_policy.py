"""Routes for the policy: what is in force, what was, and setting another."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from ganglion.files.policy import PolicyFile, parse_policy
from ganglion.server import policies, policy_views, schemas
from ganglion.server.context import Context, Here
from ganglion.server.filters import VersionQuery, holds, instant
from ganglion.server.pages import cut
from ganglion.server.problems import ERRORS
from ganglion.server.schema_base import Input

router = APIRouter(tags=["policy"], responses=ERRORS)

Number = Annotated[int, Path(ge=0, le=(1 << 53))]


class Proposal(Input):
    """A policy file."""

    text: str = Field(min_length=1, description="YAML or JSON")
    file: str = Field("", max_length=1000, description="what errors call it")


class Wish(Proposal):
    """A policy file that is to be in force."""

    allow_unknown_flavors: bool = Field(False, description="take flavors that no node has")


class Return(Input):
    """Which version is to be in force again."""

    version: int = Field(ge=0, le=(1 << 53))


@router.get("/policy")
def show_policy(here: Here) -> schemas.PolicyView:
    """Tell the policy in force, with the queues and bookings there are."""
    with here.service.read() as mind:
        return policy_views.present(mind)


@router.get("/policy/versions")
def list_policy_versions(
    here: Here, query: Annotated[VersionQuery, Query()]
) -> schemas.PolicyHistory:
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
    return schemas.PolicyHistory(items=tuple(shown), next=following)


@router.get("/policy/versions/{number}")
def show_policy_version(here: Here, number: Number) -> schemas.PolicyView:
    """Tell a policy that was once in force."""
    with here.service.read() as mind:
        return policy_views.former(policies.version(mind, number))


@router.post("/policy/check")
def check_policy(here: Here, proposal: Proposal) -> schemas.PolicyOutcome:
    """Say what is wrong with a policy and what it would change; nothing is set."""
    file = _understood(here, proposal)
    with here.service.read() as mind:
        return policy_views.outcome(policies.check(mind, file))


@router.put("/policy")
def set_policy(here: Here, wish: Wish) -> schemas.PolicyOutcome:
    """Let a policy decide from now on; jobs that run are not disturbed."""
    file, unknown = _understood(here, wish), wish.allow_unknown_flavors
    found = here.service.ask(
        lambda draft: policies.set_policy(
            draft, file, here.user, policies.APPLIED, allow_unknown_flavors=unknown
        )
    )
    return policy_views.outcome(found)


def _understood(here: Context, proposal: Proposal) -> PolicyFile:
    """Read a policy file for this fleet, while turns go on."""
    with here.service.read() as mind:
        flavors = policies.flavors_of(mind.state)
    return parse_policy(proposal.text, proposal.file, flavors)


@router.post("/policy/rollback")
def roll_back_policy(here: Here, to: Return) -> schemas.PolicyOutcome:
    """Put a former policy in force again, as a new version."""
    found = here.service.ask(lambda draft: policies.roll_back(draft, to.version, here.user))
    return policy_views.outcome(found)
