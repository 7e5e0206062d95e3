"""What an ID token must say; the keys are made here."""

import base64
import hmac
import json
from typing import Any

import pytest
from joserfc import jwt
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from ganglion.server.login.id_tokens import BadIdToken, IdTokenRules, key_id, usable, verified

NOW_S = 1_700_000_000
ISSUER, CLIENT, NONCE = "https://login.example.org", "ganglion", "n-1"
RULES = IdTokenRules(ISSUER, CLIENT, 60)
RSA = RSAKey.generate_key(2048, {"use": "sig"}, auto_kid=True)
OTHER = RSAKey.generate_key(2048, {"use": "sig"}, auto_kid=True)
EC = ECKey.generate_key("P-256", {"use": "sig"}, auto_kid=True)
ED = OKPKey.generate_key("Ed25519", {"use": "sig"}, auto_kid=True)


def published(*keys: Any) -> KeySet:
    return usable({"keys": [each.as_dict(private=False) for each in keys]})


def claims(**more: Any) -> dict[str, Any]:
    usual = {"iss": ISSUER, "aud": CLIENT, "sub": "u-1", "nonce": NONCE}
    times = {"iat": NOW_S, "exp": NOW_S + 300}
    return {key: each for key, each in (usual | times | more).items() if each is not None}


def signed(key: Any = RSA, algorithm: str = "RS256", **more: Any) -> str:
    head = {"alg": algorithm, "kid": key.kid}
    return jwt.encode(head, claims(**more), key, algorithms=[algorithm])


def check(token: str, *keys: Any, nonce: str = NONCE) -> Any:
    return verified(token, published(*(keys or (RSA,))), RULES, nonce, NOW_S * 1000)


def refused(token: str, *keys: Any, nonce: str = NONCE) -> str:
    with pytest.raises(BadIdToken) as error:
        check(token, *keys, nonce=nonce)
    return error.value.message


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA, "RS256"), (RSA, "PS512"), (EC, "ES256"), (ED, "Ed25519")]
)
def test_a_token_of_a_published_key_counts(key: Any, algorithm: str) -> None:
    assert check(signed(key, algorithm), OTHER, key)["sub"] == "u-1"


def test_a_token_without_a_signature_is_refused() -> None:
    for name in ("none", "None", "NONE", ""):
        token = f"{part({'alg': name, 'kid': RSA.kid})}.{part(claims())}."
        assert "which proves nothing" in refused(token)


def test_a_public_key_is_no_shared_secret() -> None:
    pem = RSA.as_pem(private=False)
    for secret in (pem, pem.strip(), RSA.as_der(private=False)):
        said = f"{part({'alg': 'HS256', 'kid': RSA.kid})}.{part(claims())}"
        mark = hmac.digest(bytes(secret), said.encode(), "sha256")
        token = f"{said}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"
        assert "'HS256', which proves nothing" in refused(token)


def test_a_token_brings_no_key_along() -> None:
    head = {"alg": "RS256", "jwk": OTHER.as_dict(private=False)}
    assert "signature" in refused(jwt.encode(head, claims(), OTHER, algorithms=["RS256"]))
    named = {"alg": "RS256", "kid": RSA.kid}
    assert "signature" in refused(jwt.encode(named, claims(), OTHER, algorithms=["RS256"]))


def test_what_a_header_demands_and_is_not_known_is_refused() -> None:
    def token(**more: Any) -> str:
        said = f"{part({'alg': 'EdDSA', 'kid': ED.kid, **more})}.{part(claims())}"
        mark = ED.private_key.sign(said.encode())
        return f"{said}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}"

    check(token(x5c=["A" * 2_000], tenant="t-1"), ED)
    refused(token(crit=["tenant"], tenant="t-1"), ED)


def test_a_key_that_is_not_published_is_foreign() -> None:
    assert "has not published" in refused(signed(OTHER))


def test_a_changed_or_cut_token_is_refused() -> None:
    token = signed()
    head, body, mark = token.split(".")
    admin = part(claims(sub="admin"))
    assert "signature" in refused(f"{head}.{admin}.{mark}")
    for cut in ("", "x", f"{head}.{body}", token[:-40], f"{head}.{body}.", head, "a.b.c", "\x00"):
        assert refused(cut)
    assert "bytes" in refused("x" * 70_000)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"iss": "https://evil.example"}, "another issuer"),
        ({"iss": f"{ISSUER}/"}, "another issuer"),
        ({"iss": [ISSUER]}, "another issuer"),
        ({"iss": None}, "lacks iss"),
        ({"aud": "another"}, "another application"),
        ({"aud": ["another"]}, "another application"),
        ({"aud": [CLIENT, "another"]}, "another application"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "another application"),
        ({"azp": "another"}, "another application"),
        ({"aud": None}, "lacks aud"),
        ({"nonce": "n-0"}, "another sign-in"),
        ({"nonce": None}, "lacks nonce"),
        ({"exp": NOW_S - 61}, "expired"),
        ({"exp": None}, "lacks exp"),
        ({"exp": "tomorrow"}, "no number"),
        ({"iat": NOW_S + 61}, "a time to come"),
        ({"iat": None}, "lacks iat"),
        ({"nbf": NOW_S + 61}, "not valid yet"),
        ({"sub": None}, "lacks sub"),
        ({"sub": 7}, "claim sub is wrong"),
    ],
)
def test_a_claim_that_is_wrong_is_named(more: dict[str, Any], said: str) -> None:
    assert said in refused(signed(**more))


def test_clocks_may_differ_by_a_minute() -> None:
    check(signed(exp=NOW_S - 59))
    check(signed(iat=NOW_S + 59, nbf=NOW_S + 59))


def test_several_audiences_count_with_the_party_named() -> None:
    check(signed(aud=[CLIENT, "another"], azp=CLIENT))
    check(signed(aud=[CLIENT]))


def test_only_public_keys_that_sign_are_used() -> None:
    with pytest.warns(SecurityWarning):
        weak = RSAKey.generate_key(1024, {"use": "sig"}, auto_kid=True).as_dict(private=False)
    secret = OctKey.generate_key(256, auto_kid=True).as_dict(private=True)
    for_encryption = OTHER.as_dict(private=False) | {"use": "enc"}
    strange = {"kty": "PQC", "x": "?"}
    broken = {"kty": "RSA", "n": "!"}
    good = RSA.as_dict(private=False)
    document = {"keys": [weak, secret, for_encryption, strange, broken, 7, good]}
    assert [each.kid for each in usable(document).keys] == [RSA.kid]
    for wrong in ({"keys": [weak, secret]}, {"keys": 1}, {}, [], None):
        with pytest.raises(BadIdToken):
            usable(wrong)


def test_the_name_of_a_key_is_read_before_keys_are_asked_for() -> None:
    assert key_id(signed()) == RSA.kid
    assert key_id(jwt.encode({"alg": "RS256"}, claims(), RSA, algorithms=["RS256"])) == ""
