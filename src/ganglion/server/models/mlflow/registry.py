"""Tracking servers of MLflow with their registry: versions of models, and where their files lie.

Source: MLflow REST API 2.0.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from ganglion.model.errors import FieldError
from ganglion.model.workload import ResolvedModel
from ganglion.server.models.asking import MISSING, RegistryClient, decoded, strange, unknown
from ganglion.server.models.cache.local import LOCAL
from ganglion.server.models.cache.sources import (
    FileRequest,
    FileStore,
    RemoteFile,
    changed,
    checked_files,
    is_inside,
    odd,
)
from ganglion.server.models.mlflow.artifacts import PROXY, TrackedFiles
from ganglion.server.models.settings import FILE, TrackingServer
from ganglion.specs.grammar.rules.models import ModelReference

RECORD = ("name", "version", "source", "run_id", "model_id", "creation_timestamp")
"""What of a version never changes: MLflow has no digest of its files."""
READY = "READY"

FindStore = Callable[[ModelReference], FileStore]


class MlflowRegistry:
    """A tracking server of MLflow with its model registry.

    Args:
        settings: where it is.
        client: asks it.
        store: says who has the files of a version whose source is `s3://`, or a folder of this
            machine; raises FieldError where the server's owner named none.
    """

    def __init__(self, settings: TrackingServer, client: RegistryClient, store: FindStore) -> None:
        self._settings, self._client, self._store = settings, client, store
        self._servers = [
            each for each in (settings.artifacts or settings.url, settings.url) if each
        ]

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelSource`."""
        version = await self._version(wanted)
        number = str(version["version"])
        uri = f"models:/{wanted.name}/{number}"
        return ResolvedModel(str(wanted), uri, number, _digest_of(version))

    async def contents(self, wanted: ModelReference, model: ResolvedModel) -> list[RemoteFile]:
        """See `ModelSource`."""
        version = await self._version(wanted)
        if _digest_of(version) != model.digest:
            raise changed(model)
        if version.get("status", READY) != READY:
            raise odd(model, f"is {version['status']} in the registry")
        place = (await self._said("model-versions/get-download-uri", wanted)).get("artifact_uri")
        if not isinstance(place, str):
            raise strange(self._settings.url)
        try:
            store, at = self._place(place)
            return checked_files(await store.below(at), model)
        except FieldError as error:
            problem = f"{model.uri} cannot be kept: {error.problem}"
            raise FieldError(problem, key="model", hint=error.hint) from None

    async def request(self, wanted: ModelReference, file: RemoteFile) -> FileRequest:
        """See `ModelSource`."""
        served = (each for each in self._servers if file.url.startswith(each.rstrip("/") + PROXY))
        store: FileStore
        if server := next(served, ""):
            store = self._files_at(server)
        else:
            scheme = "file" if file.url.startswith(LOCAL) else "s3"
            store = self._store(ModelReference(scheme, file.url))
        return await store.request(wanted, file)

    async def _version(self, wanted: ModelReference) -> dict[str, Any]:
        """What the registry says about a version, which has a number."""
        path = "registered-models/alias" if wanted.mark == "@" else "model-versions/get"
        version = (await self._said(path, wanted)).get("model_version")
        if not isinstance(version, dict) or not version.get("version"):
            raise strange(self._settings.url)
        return version

    async def _said(self, path: str, wanted: ModelReference) -> dict[str, Any]:
        params = {"name": wanted.name, "alias" if wanted.mark == "@" else "version": wanted.at}
        url = f"{self._settings.url.rstrip('/')}/api/2.0/mlflow/{path}"
        credentials = self._client.credentials(self._settings)
        said = await self._client.ask(url, credentials, params=params)
        found = decoded(said, url)
        if said.status in MISSING:
            raise unknown(wanted, str(found.get("message", "")))
        if said.status != 200:
            raise strange(url)
        return found

    def _files_at(self, server: str) -> TrackedFiles:
        return TrackedFiles(server, self._settings, self._client)

    def _place(self, place: str) -> tuple[FileStore, ModelReference]:
        """Who has the files of a version, and what they are called there.

        Raises:
            FieldError: nothing that files are fetched from.
        """
        parts = urlsplit(place)
        path = unquote(parts.path) if parts.scheme in ("file", "s3") else parts.path
        where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}".replace(":///", ":/")
        folder = path.strip("/")
        if parts.query or parts.fragment or not is_inside(folder):
            raise FieldError(f"its files lie at {where}, in what is no folder")
        if parts.scheme in ("http", "https", "mlflow-artifacts"):
            server, below = self._server(parts.scheme, parts.netloc, path)
            if server:
                return self._files_at(server), ModelReference("models", below)
            hint = f"where that is right, `artifacts` of `mlflow` in {FILE} names that server"
            raise FieldError(f"its files lie at {where}, not at the tracking server", hint=hint)
        if parts.scheme == "s3":
            at = ModelReference("s3", f"{parts.netloc}/{folder}/")
        elif parts.scheme in ("", "file") and path.startswith("/") and not parts.netloc:
            at = ModelReference("file", f"/{folder}")
        else:
            hint = "files are fetched that a tracking server serves, of s3:// and of folders here"
            raise FieldError(f"its files lie at {where if parts.scheme else path}", hint=hint)
        return self._store(at), at

    def _server(self, scheme: str, host: str, path: str) -> tuple[str, str]:
        """The server that hands out a folder, and the folder; empty = the owner names no such."""
        for each in self._servers:
            if scheme == "mlflow-artifacts" and host in ("", urlsplit(each).netloc):
                return each, path.strip("/")
            root = each.rstrip("/") + PROXY + "/"
            if f"{scheme}://{host}{path}".startswith(root):
                return each, f"{scheme}://{host}{path}".removeprefix(root).strip("/")
        return "", ""


def _digest_of(version: dict[str, Any]) -> str:
    record = {key: str(version.get(key, "")) for key in RECORD}
    digest = sha256(msgspec.json.encode(record, order="deterministic")).hexdigest()
    return f"record-sha256:{digest}"
