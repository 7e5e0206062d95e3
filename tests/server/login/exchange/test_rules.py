"""Rules of exchange: which are refused at the start, and which tokens fit."""

from typing import Any

import pytest

from ganglion.server.login.exchange.rules import (
    MOST_LABEL,
    ExchangeRule,
    label_of,
    troubles,
    unfit,
)

GITHUB = "https://token.actions.githubusercontent.com"
GITLAB = "https://gitlab.example.org"
OTHER = "https://ci.example.org"


def wrong(issuer: str, **claims: Any) -> list[tuple[str, str, str]]:
    rule = ExchangeRule(issuer, claims, "ci-x")
    return [(each.key, each.problem, each.hint) for each in troubles(rule, "", "rule", "ada")]


@pytest.mark.parametrize(
    ("issuer", "claims", "ids"),
    [
        (GITHUB, {"sub": "repo:acme/vision:ref:refs/heads/main"}, "repository_id"),
        (GITHUB, {"repository": "acme/vision", "ref": "refs/heads/main"}, "repository_id"),
        (f"{GITHUB}/acme", {"repository_owner": "acme"}, "repository_owner_id"),
        ("https://token.actions.acme.ghe.com", {"actor_id": "7"}, "repository_id"),
        ("https://git.example.org/_services/token", {"ref": "refs/heads/main"}, "repository_id"),
        (OTHER, {"repository": "acme/vision"}, "repository_id"),
        (OTHER, {"sub": "repo:acme/vision"}, "repository_id"),
        ("https://gitlab.com", {"sub": "project_path:acme/vision:ref_type:branch"}, "project_id"),
        (GITLAB, {"ref": "main", "ref_protected": "true"}, "namespace_id"),
        (OTHER, {"project_path": "acme/vision"}, "project_id"),
        (OTHER, {"sub": "project_path:acme/vision"}, "project_id"),
    ],
)
def test_names_alone_prove_nothing_where_others_can_take_them(
    issuer: str, claims: dict[str, Any], ids: str
) -> None:
    ((key, problem, hint),) = wrong(issuer, **claims)
    assert key == "rule.claims"
    assert "which another owner can take" in problem
    assert ids in hint


def test_an_id_beside_a_name_is_enough() -> None:
    assert wrong(GITHUB, repository_id="74", sub="x", ref="refs/heads/main") == []
    assert wrong(GITHUB, repository_owner_id="9", repository="acme/vision") == []
    assert wrong(GITLAB, project_id="20", ref_protected="true") == []
    assert wrong("https://gitlab.com", namespace_id="72", ref="main") == []
    assert wrong(OTHER, sub="robot", level=3, email_verified=True) == []


def test_ids_are_text_as_the_issuer_sends_them() -> None:
    ((key, problem, hint),) = wrong(GITHUB, repository_id=74)
    assert (key, hint) == ("rule.claims.repository_id", 'in quotes, as "74"')
    assert "so that 74 never matches" in problem
    ((key, _, hint),) = wrong(GITLAB, project_id="20", ref_protected=True)
    assert (key, hint) == ("rule.claims.ref_protected", 'in quotes, as "true"')


def test_a_rule_without_claims_fits_everyone_and_is_refused() -> None:
    assert [key for key, _, _ in wrong(OTHER)] == ["rule.claims"]
    assert [key for key, _, _ in wrong(GITHUB)] == ["rule.claims"]


def test_all_claims_match_in_value_and_type() -> None:
    rule = ExchangeRule(OTHER, {"a": "1", "b": 1, "c": True}, "ci-x")
    good = {"a": "1", "b": 1, "c": True, "d": "more"}
    assert unfit(rule, good) == ""
    for name, values in {
        "a": (1, "1 ", "", None, ["1"], {"1": 1}),
        "b": (True, "1", 1.0, 2, [1]),
        "c": (1, "true", False, None),
    }.items():
        for value in values:
            assert unfit(rule, good | {name: value}) == name
        assert unfit(rule, {key: each for key, each in good.items() if key != name}) == name


def test_a_label_names_issuer_and_run() -> None:
    run = {"run_id": "5001", "repository": "acme/vision", "sub": "x"}
    assert label_of(GITHUB, run) == "token.actions.githubusercontent.com: run 5001 of acme/vision"
    job = {"job_id": "302", "project_path": "acme/vision", "sub": "x"}
    assert label_of(f"{GITLAB}/", job) == "gitlab.example.org: run 302 of acme/vision"
    assert label_of(OTHER, {"sub": "robot", "run_id": 7}) == "ci.example.org: robot"
    assert label_of(OTHER, {"sub": "a\x1b[31m\u202eb"}) == "ci.example.org: a?[31m?b"
    assert len(label_of(OTHER, {"sub": "x" * 500})) == MOST_LABEL
