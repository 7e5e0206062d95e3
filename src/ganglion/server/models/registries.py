"""Registries over HTTP: MLflow, Hugging Face's API, OCI distribution, S3.

Sources: MLflow REST API 2.0; the Hub's `/api/models`; OCI Distribution Specification 1.1; S3's
HeadObject.
"""

from hashlib import sha256
from typing import Any
from urllib.parse import quote

import msgspec

from ganglion.model.errors import FieldError, ModelRegistryDown
from ganglion.model.workload import ResolvedModel
from ganglion.seams.clock import Clock
from ganglion.server.models.asking import RegistryAnswer, RegistryClient
from ganglion.server.models.settings import HttpRegistry, ObjectStore
from ganglion.specs.grammar.rules.models import COMMIT, DIGEST, ModelReference
from ganglion.transport.aws_signature import SigningKey, signed

MISSING = frozenset({400, 404, 410})
RECORD = ("name", "version", "source", "run_id", "model_id", "creation_timestamp")
"""What of an MLflow version never changes: it has no digest of its files."""
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json"
)


class MlflowRegistry:
    """A tracking server of MLflow with its model registry.

    Args:
        settings: where it is.
        client: asks it.
    """

    def __init__(self, settings: HttpRegistry, client: RegistryClient) -> None:
        self._settings, self._client = settings, client

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelRegistry`."""
        alias = wanted.mark == "@"
        path = "registered-models/alias" if alias else "model-versions/get"
        params = {"name": wanted.name, ("alias" if alias else "version"): wanted.at}
        url = f"{self._settings.url.rstrip('/')}/api/2.0/mlflow/{path}"
        credentials = self._client.credentials(self._settings)
        said = await self._client.ask(url, credentials, params=params)
        found = _json(said, url)
        if said.status in MISSING:
            raise unknown(wanted, str(found.get("message", "")))
        version = found.get("model_version")
        if said.status != 200 or not isinstance(version, dict) or not version.get("version"):
            raise _strange(url)
        record = {key: str(version.get(key, "")) for key in RECORD}
        digest = sha256(msgspec.json.encode(record, order="deterministic")).hexdigest()
        number = str(version["version"])
        uri = f"models:/{wanted.name}/{number}"
        return ResolvedModel(str(wanted), uri, number, f"record-sha256:{digest}")


class HubRegistry:
    """A server with the API of the Hugging Face Hub.

    Args:
        settings: where it is.
        client: asks it.
    """

    def __init__(self, settings: HttpRegistry, client: RegistryClient) -> None:
        self._settings, self._client = settings, client

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelRegistry`."""
        revision = quote(wanted.at, safe="")
        url = f"{self._settings.url.rstrip('/')}/api/models/{wanted.name}/revision/{revision}"
        said = await self._client.ask(url, self._client.credentials(self._settings))
        if said.status in MISSING:
            raise unknown(wanted)
        commit = _json(said, url).get("sha")
        if said.status != 200 or not isinstance(commit, str) or not COMMIT.fullmatch(commit):
            raise _strange(url)
        uri = f"hf://{wanted.name}@{commit}"
        return ResolvedModel(str(wanted), uri, commit, f"git:{commit}")


class OciRegistry:
    """A registry of OCI artifacts.

    Args:
        settings: where it is.
        client: asks it.
    """

    def __init__(self, settings: HttpRegistry, client: RegistryClient) -> None:
        self._settings, self._client = settings, client

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelRegistry`."""
        repository = wanted.name.partition("/")[2]
        url = f"{self._settings.url.rstrip('/')}/v2/{repository}/manifests/{wanted.at}"
        headers = {"accept": MANIFESTS, **self._client.credentials(self._settings)}
        said = await self._client.ask(url, headers, method="HEAD")
        if said.status in MISSING:
            raise unknown(wanted)
        digest = said.headers.get("docker-content-digest", "")
        pinned = wanted.at if wanted.mark == "@" else digest
        if said.status != 200 or not DIGEST.fullmatch(digest) or digest != pinned:
            raise _strange(url)
        version = "" if wanted.mark == "@" else wanted.at
        return ResolvedModel(str(wanted), f"oci://{wanted.name}@{digest}", version, digest)


class S3Registry:
    """One object of a store that speaks S3.

    Args:
        settings: where it is.
        client: asks it.
        clock: the time that requests are signed with.
    """

    def __init__(self, settings: ObjectStore, client: RegistryClient, clock: Clock) -> None:
        self._settings, self._client, self._clock = settings, client, clock

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelRegistry`."""
        query = f"?versionId={quote(wanted.at, safe='')}" if wanted.at else ""
        url = f"{self._settings.url.rstrip('/')}/{quote(wanted.name, safe='/-_.~')}{query}"
        headers = {"x-amz-checksum-mode": "ENABLED"}
        if self._settings.access_key:
            own = self._settings
            key = SigningKey(own.access_key, self._client.secret(own.secret_key), own.region)
            headers = signed("HEAD", url, headers, key, self._clock.now_ms())
        said = await self._client.ask(url, headers, method="HEAD")
        if said.status in MISSING:
            raise unknown(wanted)
        etag = said.headers.get("etag", "").strip('"')
        if said.status != 200 or not etag:
            raise _strange(url)
        version = said.headers.get("x-amz-version-id", "")
        version = "" if version == "null" else version
        uri = f"s3://{wanted.name}" + (f"?versionId={version}" if version else "")
        checksum = said.headers.get("x-amz-checksum-sha256", "")
        digest = f"sha256-base64:{checksum}" if checksum else f"etag:{etag}"
        return ResolvedModel(str(wanted), uri, version, digest)


def unknown(wanted: ModelReference, said: str = "") -> FieldError:
    """That a registry does not know a model."""
    more = f": {said[:200]}" if said else ""
    where = wanted.name if wanted.scheme != "file" else f"/{wanted.name.lstrip('/')}"
    hint = f"look {where} up in the registry; an alias or tag may be gone"
    return FieldError(f"{wanted} is not there{more}", key="model", hint=hint)


def _json(said: RegistryAnswer, url: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(said.body or b"{}", type=dict[str, Any])
    except msgspec.DecodeError:
        raise _strange(url) from None
    return found


def _strange(url: str) -> ModelRegistryDown:
    return ModelRegistryDown(
        f"{url.partition('?')[0]} does not answer as its API should",
        "check the URL of the registry in models.yaml",
    )
