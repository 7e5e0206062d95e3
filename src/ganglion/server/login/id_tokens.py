"""Checks of an ID token: who signed it, for whom, when, and for which sign-in, if for one.

Pure: keys, time and nonce are given.
"""

import json
import warnings
from collections.abc import Mapping
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import (
    BadSignatureError,
    ExpiredTokenError,
    InvalidClaimError,
    JoseError,
    MissingClaimError,
    SecurityWarning,
)
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from msgspec import Struct

from ganglion.model.errors import GanglionError

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519", "EdDSA"),
)
"""Signatures that are accepted: those of key pairs. `none` and secrets of both sides are not."""
KEY_TYPES = frozenset({"RSA", "EC", "OKP"})
LEAST_RSA_BITS = 2048
MOST_BYTES = 64 << 10
"""Longest ID token."""


class _Registry(JWSRegistry):
    """Takes longer headers than the library does by default; unknown parameters are passed over."""

    max_header_length = 8 << 10


_REGISTRY = _Registry(algorithms=ALGORITHMS, strict_check_header=False)

Claims = Mapping[str, Any]


class BadIdToken(GanglionError):
    """An ID token that proves nothing."""

    code = "auth"


class IdTokenRules(Struct, frozen=True):
    """What an ID token must say.

    Attributes:
        issuer: URL of the provider.
        client_id: name of this server there.
        leeway_s: how far the clocks may differ.
    """

    issuer: str
    client_id: str
    leeway_s: int


def usable(document: Any) -> KeySet:  # noqa: ANN401 - any JSON
    """The keys of a provider that ID tokens may be signed with: public ones of key pairs.

    Raises:
        BadIdToken: the document is no set of keys, or has none of these.
    """
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise BadIdToken("the keys of the provider are no JSON Web Key Set")
    found = []
    for each in listed:
        if not isinstance(each, dict) or each.get("kty") not in KEY_TYPES:
            continue
        if each.get("use", "sig") != "sig":
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SecurityWarning)  # the size is looked at here
                key = KeySet.import_key_set({"keys": [each]}).keys[0]
                size = getattr(key.public_key, "key_size", LEAST_RSA_BITS)
        except (JoseError, ValueError, TypeError, KeyError):
            continue  # one of a later standard; the others count
        if each["kty"] != "RSA" or size >= LEAST_RSA_BITS:
            found.append(key)
    if not found:
        raise BadIdToken("the provider has published no key that ID tokens may be signed with")
    return KeySet(found)


def key_id(token: str) -> str:
    """The name of the key that a token says it was signed with; empty = it names none.

    Raises:
        BadIdToken: it is no signed token, or by an algorithm that is not accepted.
    """
    if len(token) > MOST_BYTES:
        raise BadIdToken(f"the ID token has more than {MOST_BYTES:,} bytes")
    try:
        header = jws.extract_compact(token.encode(), registry=_REGISTRY).headers()
    except (JoseError, ValueError, TypeError) as error:
        raise BadIdToken("the ID token is cut off, or is none") from error
    algorithm = header.get("alg")
    if algorithm not in ALGORITHMS:
        raise BadIdToken(
            f"the ID token is signed by {str(algorithm)[:20]!r}, which proves nothing",
            f"have the provider sign by one of {', '.join(ALGORITHMS)}",
        )
    named = header.get("kid", "")
    return named if isinstance(named, str) else ""


def unverified(token: str) -> Claims:
    """What a token says, which anyone may have written: good to choose whose keys to check it by.

    Raises:
        BadIdToken: it is no signed token, or its claims are no JSON object.
    """
    key_id(token)
    try:
        found = json.loads(jws.extract_compact(token.encode(), registry=_REGISTRY).payload)
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise BadIdToken("the claims of the ID token are no JSON") from error
    if not isinstance(found, dict):
        raise BadIdToken("the claims of the ID token are no JSON object")
    return found


def verified(
    token: str, keys: KeySet, rules: IdTokenRules, nonce: str | None, now_ms: int
) -> Claims:
    """The claims of a token that proves what it should.

    Args:
        token: as the provider sent it.
        keys: of the provider.
        rules: what it must say.
        nonce: of this very sign-in; None = the token is of none.
        now_ms: the time.

    Raises:
        BadIdToken: names what is wrong.
    """
    named = key_id(token)
    fitting = [each for each in keys.keys if not named or each.kid == named]
    if not fitting:
        raise BadIdToken("the ID token is signed with a key that the provider has not published")
    claims = _signed(token, fitting)
    _check(claims, rules, nonce, now_ms)
    return claims


def _signed(token: str, keys: list[Any]) -> Claims:
    for key in keys:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SecurityWarning)  # of the name EdDSA, still in use
                return jwt.decode(token, key, registry=_REGISTRY).claims
        except BadSignatureError:
            continue
        except (JoseError, ValueError, TypeError) as error:
            if len(keys) == 1:
                raise BadIdToken(f"the ID token cannot be checked: {error}") from error
    raise BadIdToken("the signature of the ID token is wrong")


def _check(claims: Claims, rules: IdTokenRules, nonce: str | None, now_ms: int) -> None:
    of_sign_in: dict[str, jwt.ClaimsOption] = {}
    if nonce is not None:
        of_sign_in["nonce"] = {"essential": True, "values": [nonce]}
    registry = jwt.JWTClaimsRegistry(
        now=now_ms // 1000,
        leeway=rules.leeway_s,
        iss={"essential": True, "values": [rules.issuer]},
        aud={"essential": True, "value": rules.client_id},
        exp={"essential": True},
        iat={"essential": True},
        sub={"essential": True},
        **of_sign_in,
    )
    try:
        registry.validate(dict(claims))
    except ExpiredTokenError as error:
        raise BadIdToken("the ID token has expired", _CLOCKS) from error
    except MissingClaimError as error:
        raise BadIdToken(f"the ID token lacks {error.claim}") from error
    except InvalidClaimError as error:
        raise BadIdToken(*_WRONG.get(error.claim, (f"claim {error.claim} is wrong",))) from error
    except (JoseError, ValueError, TypeError) as error:
        raise BadIdToken(f"the claims of the ID token are wrong: {error}") from error
    for name in ("iss", "sub", *of_sign_in):
        if not isinstance(claims[name], str) or not claims[name]:
            raise BadIdToken(f"claim {name} of the ID token is no text")
    party = claims.get("azp", rules.client_id)
    many = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if party != rules.client_id or (many and "azp" not in claims):
        raise BadIdToken(*_WRONG["aud"])


_CLOCKS = "compare the clocks of this machine and of the provider"
_WRONG: Mapping[str, tuple[str, ...]] = {
    "iss": ("the ID token is of another issuer",),
    "aud": ("the ID token is meant for another application",),
    "nonce": ("the ID token belongs to another sign-in", "sign in again"),
    "iat": ("the ID token is of a time to come", _CLOCKS),
    "nbf": ("the ID token is not valid yet", _CLOCKS),
    "exp": ("the time at which the ID token expires is no number",),
}
"""Claim -> what it means that it is wrong, and what to do."""
