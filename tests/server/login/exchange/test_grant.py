"""ID tokens for personal tokens: the whole way, and every refusal of RFC 8693."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ganglion.identity.roles import Role
from ganglion.server.login.device import GRANT
from ganglion.server.login.exchange.grant import ACCESS_TOKEN, EXCHANGE, JWT
from ganglion.server.login.exchange.rules import ExchangeRule
from ganglion.server.login.settings import LoginSettings
from tests.provider.provider import CLIENT, RealProvider
from tests.server.access.office import API
from tests.server.login.browser import FOREIGN
from tests.server.login.conftest import URL, SignedOffice
from tests.server.login.exchange.conftest import IDS, CiOffice, rules
from tests.server.login.exchange.issuer import CiIssuer, new_key


def test_a_run_gets_a_token_of_the_user_of_its_rule(ci: CiOffice) -> None:
    ci.grant("user:ci-research", "submitter", "research")
    given = ci.issuer.token()
    found = ci.exchange(given)
    assert found.status_code == 200, found.text
    assert found.headers["cache-control"] == "no-store"
    body = found.json()
    assert (body["issued_token_type"], body["token_type"]) == (ACCESS_TOKEN, "Bearer")
    assert (body["user"], 0 <= 1_800 - body["expires_in"] <= 1) == ("ci-research", True)
    client = ci.client(body["access_token"])
    me = client.get(f"{API}/whoami").json()
    assert (me["user"], me["groups"]) == ("ci-research", [])
    ci.submit(client, "train", "vision")
    assert ci.denied() == []
    assert client.get(f"{API}/nodes").status_code == 403
    (made,) = [e for e in ci.events(ci.owner) if e["type"] == "token_created"]
    host = ci.issuer.url.removeprefix("http://")
    assert made["label"] == f"{host}: run 5001 of acme/vision"
    assert (made["user"], made["by"], made["digest"]) == ("ci-research", "ci-research", "")
    files = [each for each in ci.rig.home.root.rglob("*") if each.is_file()]
    assert files
    for secret in (body["access_token"], given, given.rpartition(".")[2]):
        assert not [each for each in files if secret.encode() in each.read_bytes()]


def test_the_token_ends_with_its_time(ci: CiOffice) -> None:
    client = ci.client(ci.exchange(ci.issuer.token()).json()["access_token"])
    ci.rig.machine.time += 1_799_000
    assert client.get(f"{API}/whoami").status_code == 200
    ci.rig.machine.time += 1_000
    assert client.get(f"{API}/whoami").status_code == 401


def test_a_rule_bounds_role_and_queue(ci: CiOffice) -> None:
    ci.grant("user:ci-speech", "admin")
    token = ci.exchange(ci.issuer.token(repository_id="75")).json()["access_token"]
    me = ci.client(token).get(f"{API}/whoami").json()
    assert (me["user"], me["limit"]) == ("ci-speech", "role viewer on queue speech")


def test_a_token_is_exchanged_once(ci: CiOffice) -> None:
    for more in ({}, {"jti": None}, {"jti": ""}):
        token = ci.issuer.token(**more)
        assert ci.exchange(token).status_code == 200
        assert "was exchanged before" in ci.refused(token)
    again = ci.issuer.claims()["jti"]
    assert ci.exchange(ci.issuer.token(jti=again)).status_code == 200
    assert "was exchanged before" in ci.refused(ci.issuer.token(jti=again, run_id="2"))
    about = f"an ID token of {ci.issuer.url}, by the rule for ci-research: "
    assert ci.denied() == [f"{about}the ID token was exchanged before"]


def test_a_token_of_before_a_restart_is_not_exchanged_again(ci: CiOffice, issuer: CiIssuer) -> None:
    token = issuer.token(iat=ci.clock.now_ms() // 1000 - 1)
    assert "before this server was started" in ci.refused(token)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"aud": "https://another.example"}, "meant for another application"),
        ({"aud": [URL, "https://another.example"]}, "meant for another application"),
        ({"aud": f"{URL}/"}, "meant for another application"),
        ({"aud": None}, "lacks aud"),
        ({"aud": {"x": 1}}, "meant for another application"),
        ({"azp": "another"}, "meant for another application"),
        ({"exp": None}, "lacks exp"),
        ({"exp": "tomorrow"}, "is no number"),
        ({"iat": None}, "lacks iat"),
        ({"sub": None}, "lacks sub"),
        ({"sub": 7}, "claim sub is wrong"),
        ({"jti": 7}, "claim jti is wrong"),
        ({"repository_id": None}, "no rule of exchange fits"),
        ({"repository_id": 74}, "no rule of exchange fits"),
        ({"repository_id": ["74"]}, "no rule of exchange fits"),
        ({"repository_id": "074"}, "no rule of exchange fits"),
        ({"ref": "refs/heads/mainline"}, "no rule of exchange fits"),
        ({"ref": "refs/heads/MAIN"}, "no rule of exchange fits"),
        ({"ref": {"refs/heads/main": 1}}, "no rule of exchange fits"),
    ],
)
def test_claims_that_are_wrong_get_nothing(ci: CiOffice, more: dict[str, Any], said: str) -> None:
    token = ci.issuer.token(**more)
    why = ci.refused(token)
    assert said in why
    (rule,) = ci.denied()
    assert rule.startswith(f"an ID token of {ci.issuer.url}: ")
    for part in token.split("."):
        assert part not in why + rule
    if "no rule" in said:
        assert "ci-" not in why  # the caller may be anyone at that issuer
        assert f"the rule for ci-research wants another {next(iter(more))}" in rule


def test_clocks_may_differ_by_a_minute_and_no_more(ci: CiOffice) -> None:
    now = ci.clock.now_ms() // 1000
    assert ci.exchange(ci.issuer.token(exp=now - 50)).status_code == 200
    assert ci.exchange(ci.issuer.token(iat=now + 50, nbf=now + 50)).status_code == 200
    assert "has expired" in ci.refused(ci.issuer.token(exp=now - 300))
    assert "a time to come" in ci.refused(ci.issuer.token(iat=now + 300))
    assert "not valid yet" in ci.refused(ci.issuer.token(nbf=now + 300))
    assert "compare the clocks" in ci.refused(ci.issuer.token(nbf=now + 301))


def test_what_no_key_of_the_issuer_has_signed_gets_nothing(ci: CiOffice) -> None:
    head, body, mark = ci.issuer.token().split(".")
    other = ci.issuer.token(ref="refs/heads/other").split(".")[1]
    foreign = new_key()
    cut = len(body) // 4 * 4 - 19  # no text in base64 has such a length
    found = ci.exchange("x" * 70_000)
    assert (found.status_code, found.json()["error"]) == (413, "invalid_request")
    wrong = {
        ci.issuer.unsigned(): "proves nothing",
        ci.issuer.by_public_key(): "proves nothing",
        ci.issuer.token(foreign): "has not published",
        f"{head}.{other}.{mark}": "signature",
        f"{head}.{body}.{mark[:-40]}": "signature",
        f"{head}.{body}.": "signature",
        f"{head}.{body}": "cut off",
        f"{head}.{body[:cut]}.{mark}": "cut off",
        head: "cut off",
        "x": "cut off",
        "\x00\xff": "cut off",
        "x" * 66_000: "more than 65,536 bytes",
    }
    for token, said in wrong.items():
        assert said in ci.refused(token), token[:80]
    known = f"an ID token of {ci.issuer.url}: "
    assert ci.denied() == [
        "no ID token of an issuer that has a rule",
        f"{known}the ID token is signed with a key that the provider has not published",
        f"{known}the signature of the ID token is wrong",
    ]


def test_a_foreign_issuer_gets_nothing_and_is_not_asked(ci: CiOffice) -> None:
    other = CiIssuer()
    try:
        why = ci.refused(other.token())
        assert f"names the issuer '{other.url}'" in why
        assert "no rule" in ci.refused(ci.issuer.token(iss=f"{ci.issuer.url}/"))
        assert "no rule" in ci.refused(ci.issuer.token(iss=[ci.issuer.url]))
        assert "signature" in ci.refused(
            other.token(other.keys[0], iss=ci.issuer.url).replace(
                other.token().split(".")[0], ci.issuer.token().split(".")[0]
            )
        )
        assert other.fetched == 0
    finally:
        other.close()
    assert ci.denied()[0] == "no ID token of an issuer that has a rule"


def test_keys_are_kept_and_asked_for_again_when_they_change(ci: CiOffice) -> None:
    own = CiIssuer()
    try:
        office = CiOffice(ci.rig, own, LoginSettings(public_url=URL, exchange=rules(own.url)))
        for _ in range(3):
            assert office.exchange(own.token()).status_code == 200
        assert own.fetched == 1
        former, own.keys = own.keys[0], [new_key()]
        assert "has not published" in office.refused(own.token())
        assert office.exchange(own.token(former)).status_code == 200
        assert own.fetched == 1  # a minute has to pass
        office.clock.ahead_s += 61
        assert office.exchange(own.token()).status_code == 200
        assert "has not published" in office.refused(own.token(former))
        assert own.fetched == 2
    finally:
        own.close()
    assert office.exchange(own.token()).status_code == 200  # down, and the keys are still fresh
    office.clock.ahead_s += 3_601
    spared = own.token()
    found = office.exchange(spared)
    assert (found.status_code, found.json()["error"]) == (503, "temporarily_unavailable")
    assert own.url in found.json()["error_description"]
    assert spared not in found.text


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"subject_token": ""}, "invalid_request"),
        ({"subject_token_type": ""}, "invalid_request"),
        ({"subject_token_type": ACCESS_TOKEN}, "invalid_request"),
        ({"requested_token_type": JWT}, "invalid_request"),
        ({"actor_token": "x"}, "invalid_request"),
        ({"scope": "all"}, "invalid_scope"),
        ({"resource": URL}, "invalid_request"),
        ({"audience": "https://another.example"}, "invalid_target"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": GRANT, "device_code": "x"}, "invalid_grant"),
    ],
)
def test_what_is_no_request_for_an_exchange_is_refused(
    ci: CiOffice, changed: dict[str, str], error: str
) -> None:
    token = ci.issuer.token()
    found = ci.exchange(token, **changed)
    assert (found.status_code, found.json()["error"]) == (400, error), found.text
    assert ci.exchange(token, audience=URL, requested_token_type=ACCESS_TOKEN).status_code == 200
    assert ci.exchange(ci.issuer.token(), subject_token_type=JWT).status_code == 200


def test_only_a_number_of_tokens_is_tried_from_one_address(ci: CiOffice) -> None:
    found = [ci.exchange("x") for _ in range(31)]
    assert [each.status_code for each in found] == [400] * 30 + [429]
    assert found[-1].json()["error"] == "slow_down"
    assert 1 <= int(found[-1].headers["retry-after"]) <= 60
    assert len(ci.denied()) == 1


def test_a_queue_that_is_gone_spends_no_token(ci: CiOffice) -> None:
    rule = ExchangeRule(ci.issuer.url, IDS, "ci-x", queue="gone")
    office = CiOffice(ci.rig, ci.issuer, LoginSettings(public_url=URL, exchange=(rule,)))
    token = ci.issuer.token()
    for _ in range(2):
        assert "there is no queue 'gone'" in office.refused(token)
    assert "by the rule for ci-x: queue: there is no queue 'gone'" in office.denied()[0]
    assert "token_created" not in [each["type"] for each in office.events(office.owner)]


def test_without_a_provider_there_are_no_pages(ci: CiOffice) -> None:
    for path in ("/login", "/login/callback", "/account", "/login/pair"):
        assert ci.program.get(path).status_code == 401
    assert ci.program.post("/login/device").status_code == 401
    assert ci.program.get("/login/token").status_code == 405
    assert ci.program.post("/login/token", headers=FOREIGN).status_code == 403
    ci.program.cookies.set("__Host-ganglion", "x")
    assert (
        ci.program.get(f"{API}/whoami", headers={"Sec-Fetch-Site": "same-origin"}).status_code
        == 401
    )


def test_without_rules_nothing_is_exchanged(signed: SignedOffice) -> None:
    form = {"grant_type": EXCHANGE, "subject_token": "x", "subject_token_type": JWT}
    found = signed.browser().ours.post("/login/token", data=form)
    assert (found.status_code, found.json()["error"]) == (400, "unsupported_grant_type")


def test_a_token_of_a_real_provider_is_exchanged_once(
    signed: SignedOffice, provider: RealProvider
) -> None:
    rule = ExchangeRule(
        provider.issuer, {"sub": "robot", "email_verified": True}, "ci-x", CLIENT, Role.VIEWER
    )
    settings = LoginSettings(
        provider.issuer, CLIENT, URL, signed.settings.client_secret_file, exchange=(rule,)
    )
    office = SignedOffice(signed.rig, provider, settings)
    token, other = provider.id_token("robot"), provider.id_token("eve")
    client: TestClient = office.browser().ours

    def answer(text: str) -> Any:
        form = {"grant_type": EXCHANGE, "subject_token": text, "subject_token_type": JWT}
        return client.post("/login/token", data=form)

    found = answer(token)
    assert found.status_code == 200, found.text
    me = office.client(found.json()["access_token"]).get(f"{API}/whoami").json()
    assert (me["user"], me["limit"]) == ("ci-x", "role viewer on the whole fleet")
    assert "exchanged before" in answer(token).json()["error_description"]
    assert "no rule of exchange fits" in answer(other).json()["error_description"]
    assert office.signed_in("eve").get("/whoami").json()["user"] == "eve@example.org"


def test_users_and_programs_have_different_names(
    signed: SignedOffice, provider: RealProvider
) -> None:
    rule = ExchangeRule(provider.issuer, {"sub": "robot"}, "eve@example.org", CLIENT)
    settings = LoginSettings(
        provider.issuer, CLIENT, URL, signed.settings.client_secret_file, exchange=(rule,)
    )
    signed.signed_in("eve")  # before there was the rule
    office = SignedOffice(signed.rig, provider, settings)
    form = {
        "grant_type": EXCHANGE,
        "subject_token": provider.id_token("robot"),
        "subject_token_type": JWT,
    }
    found = office.browser().ours.post("/login/token", data=form)
    assert found.status_code == 400
    assert "is an account of the identity provider" in found.json()["error_description"]
    late = office.browser().sign_in("eve")
    assert (late.status_code, "the name of a rule of exchange" in late.text) == (403, True)
