"""Which ID tokens of which issuer are exchanged, and for whose personal token. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from ganglion.identity.roles import Role
from ganglion.model.errors import FieldError, InputError
from ganglion.specs.grammar.times.durations import HOUR, parse_duration

LONGEST_MS = 24 * HOUR
MOST_LABEL = 100
ClaimValue = str | int | bool
Claims = Mapping[str, Any]


class ClaimFamily(Struct, frozen=True):
    """What the tokens of a kind of issuer say.

    Attributes:
        name: of the product.
        lasting: claims that never pass to another project or owner.
        own: claims that only its tokens have, in which names can be reused.
        subject: how its `sub` begins.
        run: claims that name one run, the most exact first, and then its project.
    """

    name: str
    lasting: tuple[str, ...]
    own: frozenset[str]
    subject: str
    run: tuple[str, str]


GITHUB = ClaimFamily(
    "GitHub",
    ("repository_id", "repository_owner_id"),
    frozenset({"repository", "repository_owner", "job_workflow_ref", "workflow_ref"}),
    "repo:",
    ("run_id", "repository"),
)
GITLAB = ClaimFamily(
    "GitLab",
    ("project_id", "namespace_id"),
    frozenset({"project_path", "namespace_path", "ref_path", "ci_config_ref_uri"}),
    "project_path:",
    ("job_id", "project_path"),
)


class ExchangeRule(Struct, frozen=True, forbid_unknown_fields=True):
    """One rule of `exchange` in `login.yaml`.

    Attributes:
        issuer: URL of the issuer, exactly as its tokens name it.
        claims: claim -> the value that a token must have there; all of them must match.
        user: whose personal token is given; a name that no account has.
        audience: whom a token must be meant for; empty = the `public_url`.
        role: what the personal token is limited to; admin = no further than its user.
        queue: where; empty = the whole fleet.
        lasting: how long the personal token counts.
        ca_file: certificates by which the issuer is recognised; empty = those of the machine.
        review: kubeconfig file of the cluster whose API server says whether a token counts, or
            `in-cluster`; empty = the keys that the issuer publishes prove it.
    """

    issuer: str
    claims: dict[str, ClaimValue]
    user: str
    audience: str = ""
    role: Role = Role.ADMIN
    queue: str = ""
    lasting: str = "1h"
    ca_file: str = ""
    review: str = ""

    @property
    def lasting_ms(self) -> int:
        """How long the personal token counts."""
        return parse_duration(self.lasting)


def troubles(rule: ExchangeRule, of_url: str, key: str, owner: str) -> Iterator[FieldError]:
    """All that is wrong with a rule.

    Args:
        rule: as the file has it.
        of_url: what is wrong with its URL; empty = nothing.
        key: its path in the file, as `exchange[0]`.
        owner: user of the server, whose name no rule may give; empty = not known.
    """
    if of_url:
        yield FieldError(of_url, key=f"{key}.issuer")
    if not rule.user or not all(each.isalnum() or each in "._@+-" for each in rule.user):
        hint = "letters, digits, and . _ @ + - without spaces, as ci-research"
        yield FieldError(f"{rule.user!r} is no name", key=f"{key}.user", hint=hint)
    elif rule.user == owner:
        yield FieldError(
            f"{owner} is this server's owner, who may do everything",
            key=f"{key}.user",
            hint="choose a name of its own, as ci-research, and grant it a role",
        )
    try:
        fits = 0 < rule.lasting_ms <= LONGEST_MS
    except InputError as error:
        yield FieldError(error.message, key=f"{key}.lasting", hint=error.hint)
    else:
        if not fits:
            yield FieldError(f"{rule.lasting} is not up to 24h", key=f"{key}.lasting")
    if rule.review and rule.ca_file:
        hint = "the kubeconfig file names certificates"
        yield FieldError("`review` asks the API server", key=f"{key}.ca_file", hint=hint)
    if rule.review and not {"namespace", "uid"} & rule.claims.keys():
        hint = "name the namespace and the name, or the uid"
        yield FieldError("accounts of every namespace would match", key=f"{key}.claims", hint=hint)
    elif not of_url:
        yield from _of_claims(rule, f"{key}.claims")


def _of_claims(rule: ExchangeRule, key: str) -> Iterator[FieldError]:
    if not rule.claims:
        yield FieldError("every token of the issuer would match", key=key, hint="name its project")
    found = family_of(rule)
    if found is None:
        return
    for name, value in rule.claims.items():
        if not isinstance(value, str):
            shown = str(value).lower()
            why = f"{found.name} sends text there, so that {shown} never matches"
            yield FieldError(why, key=f"{key}.{name}", hint=f'in quotes, as "{shown}"')
    if rule.claims and not set(found.lasting) & set(rule.claims):
        yield FieldError(
            f"only names of {found.name} ({', '.join(rule.claims)}), which another owner can take"
            " once they are renamed or given up, and gets personal tokens then",
            key=key,
            hint=f"name an id that never changes, too: {' or '.join(found.lasting)}",
        )


def family_of(rule: ExchangeRule) -> ClaimFamily | None:
    """What kind of issuer a rule is about; None = neither GitHub nor GitLab, by what it says."""
    parts = urlsplit(rule.issuer)
    host = parts.hostname or ""
    subject = str(rule.claims.get("sub", ""))
    names = rule.claims.keys()
    if (
        host == "token.actions.githubusercontent.com"
        or host.endswith(".ghe.com")
        or parts.path == "/_services/token"
        or names & GITHUB.own
        or subject.startswith(GITHUB.subject)
    ):
        return GITHUB
    labels = re.split(r"[.-]", host)
    if "gitlab" in labels or names & GITLAB.own or subject.startswith(GITLAB.subject):
        return GITLAB
    return None


def unfit(rule: ExchangeRule, claims: Claims) -> str:
    """The first claim of a rule that a token does not have so; empty = it has all of them."""
    for name, wanted in rule.claims.items():
        # 1 and true are equal in Python, and are not here.
        if type(claims.get(name)) is not type(wanted) or claims[name] != wanted:
            return name
    return ""


def label_of(issuer: str, claims: Claims) -> str:
    """What a personal token is called: the issuer, and the run that it was given to."""
    said = ""
    for each in (GITHUB, GITLAB):
        run, project = (_text(claims, name) for name in each.run)
        if run:
            said = f"run {run} of {project}"
            break
    label = f"{issuer.partition('://')[2].rstrip('/')}: {said or _text(claims, 'sub')}"
    return "".join(each if each.isprintable() else "?" for each in label)[:MOST_LABEL]


def _text(claims: Claims, name: str) -> str:
    found = claims.get(name)
    return found if isinstance(found, str) else ""
