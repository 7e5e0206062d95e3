"""Registries of OCI artifacts that want a token of a server of tokens first."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ganglion.model.errors import GanglionError, ModelRegistryDown
from ganglion.server.models.oci import challenges
from ganglion.server.models.resolver import ModelResolver
from tests.server.models.registry import DIGEST, FakeRegistry, fake_registry

REFERENCE = "oci://reg.example/team/chat:v3"
PASSWORD = "k3y-0f-ada"
BASIC = "Basic YWRhOmszeS0wZi1hZGE="


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        yield made


def configured(home: Path, fake: FakeRegistry, more: str = "") -> ModelResolver:
    line = f"{{url: '{fake.url}'{more}}}"
    (home / "models.yaml").write_text(f"oci: {{reg.example: {line}}}\ndeadline: 5s\n")
    return ModelResolver(home, {"KEY": PASSWORD}.get)


def resolved(resolver: ModelResolver) -> str:
    return asyncio.run(resolver.resolve(REFERENCE)).digest


def refused(resolver: ModelResolver) -> GanglionError:
    with pytest.raises(ModelRegistryDown) as found:
        resolved(resolver)
    assert PASSWORD not in f"{found.value.message} {found.value.hint}"
    return found.value


def bearer(
    realm: str, more: str = ',service="reg.example",scope="repository:team/chat:pull"'
) -> str:
    return f'Bearer realm="{realm}"{more}'


def test_a_public_image_is_read_with_a_token_that_takes_no_password(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    fake.challenge, fake.opens = bearer(f"{fake.url}/token"), "Bearer t"
    assert resolved(configured(tmp_path, fake)) == DIGEST
    assert [each for _, each in fake.asked] == ["", "", "Bearer t"]
    assert fake.scopes == [["repository:team/chat:pull"]]


def test_a_password_goes_to_the_server_of_tokens_and_the_token_to_the_registry(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    fake.challenge, fake.opens = bearer(f"{fake.url}/token?a=1", ""), "Bearer other"
    fake.said = {"access_token": "other"}
    assert resolved(configured(tmp_path, fake, ", user: ada, password: secret:KEY")) == DIGEST
    path = "/v2/team/chat/manifests/v3"
    assert fake.asked == [(path, ""), ("/token", BASIC), (path, "Bearer other")]
    assert fake.scopes == [["repository:team/chat:pull"]]


def test_no_other_server_gets_a_password_unless_the_owner_names_it(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    with fake_registry() as tokens:
        fake.challenge, fake.opens = bearer(f"{tokens.url}/token"), "Bearer t"
        user = ", user: ada, password: secret:KEY"
        error = refused(configured(tmp_path, fake, user))
        assert f"wants a token of {tokens.url}" in error.message
        assert f"`auth: {tokens.url}`" in error.hint
        assert tokens.asked == []
        assert resolved(configured(tmp_path, fake, f"{user}, auth: '{tokens.url}/'")) == DIGEST
        assert tokens.asked == [("/token", BASIC)]
        hidden = tokens.url.replace("://", "://ada:x@")
        fake.challenge = bearer(f"{hidden}/token")
        assert "no URL" in refused(configured(tmp_path, fake, f", auth: '{tokens.url}'")).message


@pytest.mark.parametrize(
    ("said", "opens", "words"),
    [
        ({}, "Bearer t", "/token does not answer as its API should"),
        ({"token": "a\nb"}, "Bearer t", "/token does not answer as its API should"),
        ({"token": 1}, "Bearer t", "/token does not answer as its API should"),
        ({"token": "t"}, "Bearer u", "refuses the server: HTTP 401"),
    ],
)
def test_a_token_that_is_none_or_opens_nothing_is_an_error_of_the_registry(
    tmp_path: Path, fake: FakeRegistry, said: dict[str, object], opens: str, words: str
) -> None:
    fake.challenge, fake.opens, fake.said = bearer(f"{fake.url}/token"), opens, said
    assert words in refused(configured(tmp_path, fake)).message


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ('Basic realm="a, b", charset=UTF-8', {"basic": {"realm": "a, b", "charset": "UTF-8"}}),
        (
            'Basic realm="x", Bearer realm="https://a/t?x=1",scope="r:a:pull r:b:pull"',
            {
                "basic": {"realm": "x"},
                "bearer": {"realm": "https://a/t?x=1", "scope": "r:a:pull r:b:pull"},
            },
        ),
        (r'bearer Realm = "a\"b"', {"bearer": {"realm": 'a"b'}}),
        ("Negotiate, Bearer", {"negotiate": {}, "bearer": {}}),
        ('realm="x"', {}),
        ('Bearer realm="open', {"bearer": {"realm": ""}}),
        ("", {}),
    ],
)
def test_challenges_are_read_by_grammar(header: str, found: dict[str, dict[str, str]]) -> None:
    assert challenges({"www-authenticate": header}) == found
