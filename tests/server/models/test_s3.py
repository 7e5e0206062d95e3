"""Folders of object stores: a digest of what is listed in them, page by page."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ganglion.model.errors import FieldError, GanglionError, ModelRegistryDown
from ganglion.server.models import s3
from ganglion.server.models.resolver import ModelResolver
from tests.server.models.registry import FakeRegistry, fake_registry

FOLDER = "s3://bucket/chat/"
OBJECTS = ["chat/a 1 e1 v1", "chat/b 2 e2 v2", "chat/b 9 e9 v0 old", "chat/sub/c 3 e3 v3"]


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        made.objects = [*OBJECTS, "other 1 e1 v1"]
        yield made


@pytest.fixture
def resolver(tmp_path: Path, fake: FakeRegistry) -> ModelResolver:
    text = f"s3: {{url: '{fake.url}', access_key: AK, secret_key: secret:KEY}}"
    (tmp_path / "models.yaml").write_text(text)
    return ModelResolver(tmp_path, {"KEY": "k3y"}.get)


def digest(resolver: ModelResolver) -> str:
    found = asyncio.run(resolver.resolve(FOLDER))
    assert (found.uri, found.version) == (FOLDER, "")
    assert found.digest.startswith("listing-sha256:")
    return found.digest


def refused(resolver: ModelResolver) -> GanglionError:
    with pytest.raises(GanglionError) as found:
        asyncio.run(resolver.resolve(FOLDER))
    return found.value


def test_the_digest_of_a_folder_changes_with_each_object_in_it_and_with_nothing_else(
    resolver: ModelResolver, fake: FakeRegistry
) -> None:
    first = digest(resolver)
    assert [path for path, _ in fake.asked] == ["/bucket"] * 2  # two pages
    assert all(sign.startswith("AWS4-HMAC-SHA256") for _, sign in fake.asked)
    fake.objects = [*reversed(OBJECTS), "other 2 e7 v1", "chat/sub/ 0 e0 v0", "chat/d 1 e4 v4 gone"]
    assert digest(resolver) == first
    for changed in ("chat/a 1 e1 v9", "chat/a 1 e9 v1", "chat/a 2 e1 v1", "chat/A 1 e1 v1"):
        fake.objects = [changed, *OBJECTS[1:]]
        assert digest(resolver) != first
    fake.objects = OBJECTS[:3]
    assert digest(resolver) != first


@pytest.mark.parametrize("status", [400, 403, 405, 501])
def test_a_store_that_lists_no_versions_is_asked_for_objects(
    resolver: ModelResolver, fake: FakeRegistry, status: int
) -> None:
    fake.lists_versions = status
    first = digest(resolver)
    fake.objects[0] = "chat/a 1 e1 v9"
    assert digest(resolver) == first
    fake.objects[0] = "chat/a 1 e2 v9"
    assert digest(resolver) != first


def test_a_folder_that_is_not_there_too_large_or_refused_is_an_error_that_says_so(
    resolver: ModelResolver, fake: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "MOST_OBJECTS", 2)
    error = refused(resolver)
    assert isinstance(error, FieldError)
    assert "more than 2 objects" in error.message
    fake.objects = ["chat/ 0 e0 v0"]
    assert "is not there" in refused(resolver).message
    for status, body, said in (
        (403, b"", "refuses the server: HTTP 403"),
        (401, b"", "refuses the server: HTTP 401"),
        (200, b"<a>", "not answer as its API should"),
        (200, b"<!DOCTYPE a><a/>", "not answer as its API should"),
        (200, b"<a><IsTruncated>true</IsTruncated></a>", "not answer as its API should"),
        (405, b"", "not answer as its API should"),
    ):
        fake.status, fake.body = status, body
        error = refused(resolver)
        assert isinstance(error, ModelRegistryDown)
        assert said in error.message
        assert "k3y" not in f"{error.message} {error.hint}"
