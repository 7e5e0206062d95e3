"""Servers with the API of the Hugging Face Hub.

Source: the Hub's `/api/models`, with `blobs=true` for sizes and digests.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ganglion.model.workload import ResolvedModel
from ganglion.server.models.asking import MISSING, RegistryClient, decoded, strange, unknown
from ganglion.server.models.cache.sources import FileRequest, RemoteFile, checked_files
from ganglion.server.models.settings import HttpRegistry
from ganglion.specs.grammar.rules.models import COMMIT, ModelReference


class HubRegistry:
    """A server with the API of the Hugging Face Hub.

    Args:
        settings: where it is.
        client: asks it.
    """

    def __init__(self, settings: HttpRegistry, client: RegistryClient) -> None:
        self._settings, self._client = settings, client

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelSource`."""
        revision = quote(wanted.at, safe="")
        url = f"{self._settings.url.rstrip('/')}/api/models/{wanted.name}/revision/{revision}"
        said = await self._client.ask(url, self._client.credentials(self._settings))
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
        said = await self._client.ask(url, credentials, params={"blobs": "true"})
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
