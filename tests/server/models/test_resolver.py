"""What references mean, and what registries may do."""

import asyncio
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from ganglion.model.errors import FieldError, FileError, GanglionError, ModelRegistryDown
from ganglion.model.workload import ResolvedModel
from ganglion.server.models.resolver import ModelResolver
from ganglion.transport.aws_signature import SigningKey, signed
from tests.server.models.registry import COMMIT, DIGEST, FakeRegistry, fake_registry

SECRETS = {"TOKEN": "s3cr3t-t0ken", "KEY": "k3y"}


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        yield made


def configured(home: Path, fake: FakeRegistry, more: str = "") -> ModelResolver:
    lines = (
        f"mlflow: {{url: '{fake.url}', token: secret:TOKEN}}",
        f"hf: {{url: '{fake.url}/'}}",
        f"oci: {{'reg.example': {{url: '{fake.url}', user: ada, password: secret:KEY}}}}",
        f"s3: {{url: '{fake.url}', access_key: AK, secret_key: secret:KEY}}",
        more or "deadline: 5s",
    )
    (home / "models.yaml").write_text("\n".join(lines))
    return ModelResolver(home, SECRETS.get)


def resolved(resolver: ModelResolver, reference: str) -> ResolvedModel:
    return asyncio.run(resolver.resolve(reference))


def refused(resolver: ModelResolver, reference: str) -> GanglionError:
    with pytest.raises(GanglionError) as found:
        resolved(resolver, reference)
    return found.value


def test_each_registry_says_version_and_digest(tmp_path: Path, fake: FakeRegistry) -> None:
    resolver = configured(tmp_path, fake)
    found = resolved(resolver, "models:/chat@champion")
    assert (found.uri, found.version) == ("models:/chat/3", "3")
    assert found.digest.startswith("record-sha256:")
    assert resolved(resolver, "models:/chat/3").digest == found.digest
    assert resolved(resolver, "models:/chat/4").digest != found.digest
    hub = resolved(resolver, "hf://org/repo")
    assert (hub.uri, hub.digest) == (f"hf://org/repo@{COMMIT}", f"git:{COMMIT}")
    fake.challenge, fake.opens = 'Basic realm="all"', "Basic YWRhOmszeQ=="
    oci = resolved(resolver, "oci://reg.example/team/chat:v3")
    assert (oci.uri, oci.version, oci.digest) == (
        f"oci://reg.example/team/chat@{DIGEST}",
        "v3",
        DIGEST,
    )
    s3 = resolved(resolver, "s3://bucket/chat.tar")
    assert (s3.uri, s3.digest) == ("s3://bucket/chat.tar?versionId=v7", "etag:e1")
    given = dict(fake.asked)
    assert given["/api/2.0/mlflow/registered-models/alias"] == "Bearer s3cr3t-t0ken"
    assert given["/v2/team/chat/manifests/v3"] == "Basic YWRhOmszeQ=="
    assert given["/bucket/chat.tar"].startswith("AWS4-HMAC-SHA256 Credential=AK/")
    assert given["/api/models/org/repo/revision/main"] == ""


def test_a_model_that_is_not_there_is_an_error_of_its_key(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    resolver = configured(tmp_path, fake)
    for reference in (
        *("models:/chat@gone", "models:/other/1", "hf://org/repo@gone"),
        *("oci://reg.example/team/chat:gone", "s3://bucket/gone", f"file://{tmp_path}/gone"),
    ):
        error = refused(resolver, reference)
        assert isinstance(error, FieldError)
        assert error.key == "model"
        assert error.hint


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (500, b"", "answers HTTP 500"),
        (302, b"", "answers HTTP 302"),
        (403, b"", "refuses the server"),
        (200, b"<html>", "not answer as its API should"),
        (200, b"[1]", "not answer as its API should"),
        (200, b"{}", "not answer as its API should"),
        (200, b"x" * (2 << 20), "more than 1 MiB"),
    ],
)
def test_a_registry_that_fails_or_lies_is_named_and_no_credential_is(
    tmp_path: Path, fake: FakeRegistry, status: int, body: bytes, said: str
) -> None:
    resolver = configured(tmp_path, fake)
    fake.status, fake.body = status, body
    error = refused(resolver, "models:/chat@champion")
    assert isinstance(error, ModelRegistryDown)
    assert said in error.message
    assert not any(value in f"{error.message} {error.hint}" for value in SECRETS.values())


def test_a_registry_that_is_silent_or_gone_costs_no_more_than_the_deadline(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    resolver = configured(tmp_path, fake, "deadline: 200ms")
    fake.silent = True
    assert "within 200ms" in refused(resolver, "models:/chat@champion").message
    (tmp_path / "models.yaml").write_text("hf: {url: 'http://127.0.0.1:9'}")
    error = refused(resolver, "hf://org/repo")
    assert isinstance(error, ModelRegistryDown)
    assert "does not answer" in error.message


def test_what_is_not_configured_is_refused_with_the_key_that_configures_it(tmp_path: Path) -> None:
    resolver = ModelResolver(tmp_path, SECRETS.get, shares_account=lambda: False)
    for reference, key in (
        *(("models:/chat/1", "mlflow"), ("hf://org/repo", "hf"), ("s3://bucket/a", "s3")),
        *(("oci://reg.example/chat", "oci"), (f"file://{tmp_path}", "files")),
    ):
        error = refused(resolver, reference)
        assert isinstance(error, FieldError)
        assert f"`{key}`" in error.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mlflow: {url: ftp://a}", "mlflow.url"),
        ("mlflow: {url: 'http://ada:x@a'}", "mlflow.url"),
        ("mlflow: {url: http://a, token: abc}", "mlflow.token"),
        ("s3: {url: http://a, secret_key: abc}", "s3.secret_key"),
        ("every: 1ms", "every"),
        ("deadline: soon", "deadline"),
        ("other: 1", "models.yaml"),
        ("cache: {folder: models}", "cache.folder"),
        ("cache: {folder: /}", "cache.folder"),
        ("cache: {folder: /m, limit: 0}", "cache.limit"),
        ("cache: {folder: /m, limit: much}", "cache.limit"),
        ("cache: {folder: /m, rate: fast}", "cache.rate"),
        ("cache: {folder: /m, at_once: 0}", "cache.at_once"),
        ("cache: {limit: 1GiB}", "folder"),
        (":", "models.yaml"),
    ],
)
def test_settings_that_are_wrong_name_the_file_and_the_key(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "models.yaml").write_text(text)
    error = refused(ModelResolver(tmp_path, SECRETS.get), "models:/chat/1")
    assert isinstance(error, FileError)
    assert said in error.message


def test_a_secret_that_is_not_kept_is_named(tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text("mlflow: {url: http://127.0.0.1:9, token: secret:GONE}")
    error = refused(ModelResolver(tmp_path, SECRETS.get), "models:/chat/1")
    assert "GONE" in error.message
    assert "ganglion secret set GONE" in error.hint


def test_a_folder_has_the_digest_of_what_is_in_it(tmp_path: Path) -> None:
    folder, resolver = tmp_path / "m", ModelResolver(tmp_path)
    (folder / "sub").mkdir(parents=True)
    (folder / "b").write_bytes(b"2")
    (folder / "sub/a").write_bytes(b"1")
    reference = f"file://{folder}"
    first = resolved(resolver, reference).digest
    sums = {name: sha256(text).hexdigest() for name, text in (("b", b"2"), ("sub/a", b"1"))}
    lines = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
    assert first == f"sha256:{sha256(lines.encode()).hexdigest()}"
    (folder / "SHA256SUMS").write_text(lines.replace("  ", " *").replace("*sub", "*./sub"))
    assert resolved(resolver, reference).digest == first
    (folder / "SHA256SUMS").write_text("what\n")
    assert "no list of digests" in refused(resolver, reference).message
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  gone\n")
    assert "cannot be read" in refused(resolver, reference).message
    (folder / "SHA256SUMS").unlink()
    (folder / "b").write_bytes(b"3")
    assert resolved(resolver, reference).digest != first
    assert resolved(resolver, f"{reference}/b").digest == f"sha256:{sha256(b'3').hexdigest()}"
    (tmp_path / "empty").mkdir()
    assert "no files" in refused(resolver, f"file://{tmp_path}/empty").message


def test_a_model_lies_in_a_folder_for_models_and_links_do_not_lead_out(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for each in (inside, outside):
        each.mkdir()
        (each / "a").write_bytes(b"1")
    (inside / "away").symlink_to(outside)
    (tmp_path / "models.yaml").write_text(f"files: [{inside}]")
    resolver = ModelResolver(tmp_path, shares_account=lambda: False)
    assert resolved(resolver, f"file://{inside}/a").digest
    assert "no folder for models" in refused(resolver, f"file://{outside}/a").message
    assert "is a link" in refused(resolver, f"file://{inside}/away/a").message
    (inside / "leak").symlink_to(outside / "a")
    assert "is a link" in refused(resolver, f"file://{inside}").message


@pytest.mark.parametrize(
    ("rest", "headers", "signature"),
    [
        (
            "test.txt",
            {"range": "bytes=0-9"},
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "?max-keys=2&prefix=J",
            {},
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
)
def test_requests_are_signed_as_the_published_examples_are(
    rest: str, headers: dict[str, str], signature: str
) -> None:
    """Source: Amazon S3 API Reference, Signature Calculations, GET Object and List Objects."""
    key = SigningKey(
        "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1"
    )
    url = f"https://examplebucket.s3.amazonaws.com/{rest}"
    made = signed("GET", url, headers, key, 1_369_353_600_000)
    assert made["authorization"].endswith(signature)
