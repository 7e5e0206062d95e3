"""Registries of models proper: MLflow, and Hugging Face's API.

Sources: MLflow REST API 2.0; the Hub's `/api/models`, with `blobs=true` for sizes and digests.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import msgspec

from ganglion.model.workload import ResolvedModel
from ganglion.server.models.asking import MISSING, RegistryClient, decoded, strange, unknown
from ganglion.server.models.cache.sources import FileRequest, RemoteFile, checked_files
from ganglion.server.models.settings import HttpRegistry
from ganglion.specs.grammar.rules.models import COMMIT, ModelReference

RECORD = ("name", "version", "source", "run_id", "model_id", "creation_timestamp")
"""What of an MLflow version never changes: it has no digest of its files."""
MOST_LISTED = 16 << 20
"""Bytes of a hub's answer about a repository, which lists its files: as many as are kept of a
model, with names as long as they may be."""


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
        found = decoded(said, url)
        if said.status in MISSING:
            raise unknown(wanted, str(found.get("message", "")))
        version = found.get("model_version")
        if said.status != 200 or not isinstance(version, dict) or not version.get("version"):
            raise strange(url)
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
        credentials = self._client.credentials(self._settings)
        said = await self._client.ask(url, credentials, most=MOST_LISTED)
        if said.status in MISSING:
            raise unknown(wanted)
        commit = decoded(said, url).get("sha")
        if said.status != 200 or not isinstance(commit, str) or not COMMIT.fullmatch(commit):
            raise strange(url)
        uri = f"hf://{wanted.name}@{commit}"
        return ResolvedModel(str(wanted), uri, commit, f"git:{commit}")

    async def contents(self, wanted: ModelReference, model: ResolvedModel) -> list[RemoteFile]:
        """See `ModelSource`."""
        base = self._settings.url.rstrip("/")
        url = f"{base}/api/models/{wanted.name}/revision/{wanted.at}"
        credentials = self._client.credentials(self._settings)
        said = await self._client.ask(url, credentials, params={"blobs": "true"}, most=MOST_LISTED)
        if said.status in MISSING:
            raise unknown(wanted)
        found = decoded(said, url)
        siblings = found.get("siblings")
        if said.status != 200 or found.get("sha") != wanted.at or not isinstance(siblings, list):
            raise strange(url)
        try:
            files = [
                _sibling(each, f"{base}/{wanted.name}/resolve/{wanted.at}") for each in siblings
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise strange(url) from None
        return checked_files(files, model)

    async def request(self, _wanted: ModelReference, file: RemoteFile) -> FileRequest:
        """See `ModelSource`."""
        return FileRequest(self._client.credentials(self._settings), file.check)


def _sibling(said: Mapping[str, Any], url: str) -> RemoteFile:
    """A file: large ones have a SHA-256 of their content, others the id that git gives them."""
    path, large = str(said["rfilename"]), said.get("lfs")
    check = f"sha256:{large['sha256']}" if large else f"git-blob:{said['blobId']}"
    return RemoteFile(path, f"{url}/{quote(path)}", int(said["size"]), check)
