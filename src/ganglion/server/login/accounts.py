"""Who the claims of an ID token describe: a name here, and groups."""

from collections.abc import Mapping
from typing import Any

from ganglion.model.errors import Forbidden
from ganglion.server.commands.sign_in import ProvidedAccount
from ganglion.server.login.settings import LoginSettings

MOST_GROUPS = 1_000
MOST_NAME = 200
"""Longest name of a user or group."""

Claims = Mapping[str, Any]


def account_of(claims: Claims, settings: LoginSettings, owner: str) -> ProvidedAccount:
    """The user of an ID token that was verified.

    Args:
        claims: of the token.
        settings: which claims have names.
        owner: user of the server, whose name no account may have.

    Raises:
        Forbidden: the claims name no user that can be let in; says why.
    """
    claim = settings.user_claim
    name = claims.get(claim)
    if not isinstance(name, str) or not _fits(name):
        raise Forbidden(
            f"the provider sends no usable name in claim {claim}",
            "letters, digits, and . _ @ + - without spaces; choose another `user_claim`",
        )
    if claim == "email" and claims.get("email_verified") is not True:
        raise Forbidden(
            f"the provider has not verified the address {name}",
            "have it verified, or choose another `user_claim` in login.yaml",
        )
    if name == owner:
        raise Forbidden(
            f"{name} is the name of this server's owner, who does not sign in",
            "choose a `user_claim` whose names differ from those of this machine, as email",
        )
    if any(name == each.user for each in settings.exchange):
        raise Forbidden(
            f"{name} is the name of a rule of exchange, whose tokens are for programs",
            "choose another `user` of that rule in login.yaml",
        )
    return ProvidedAccount(
        name, _groups(claims, settings.groups_claim), settings.issuer, str(claims["sub"])
    )


def _groups(claims: Claims, claim: str) -> tuple[str, ...]:
    """The names of a user's groups; a group without a usable name cannot be granted anything."""
    elsewhere = claims.get("_claim_names")
    linked = (isinstance(elsewhere, dict) and claim in elsewhere) or claims.get("hasgroups")
    found = claims.get(claim, [])
    if linked or (isinstance(found, str) and found.startswith(("https:", "http:"))):
        raise Forbidden(
            "the provider sends a link in place of the groups: this user has too many of them",
            "have the provider send only the groups that are assigned to this application",
        )
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise Forbidden(f"claim {claim} is no list of names", "see `groups_claim` in login.yaml")
    if len(found) > MOST_GROUPS:
        raise Forbidden(
            f"the provider names {len(found):,} groups; at most {MOST_GROUPS:,} are taken",
            "have the provider send only the groups that are assigned to this application",
        )
    return tuple(dict.fromkeys(each for each in found if _fits(each)))


def _fits(name: str) -> bool:
    return 0 < len(name) <= MOST_NAME and all(each.isalnum() or each in "._@+-" for each in name)
