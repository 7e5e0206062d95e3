"""Files that a tracking server of MLflow hands out itself, from whatever store it has.

Source: `mlflow-artifacts` of MLflow REST API 2.0. A folder is listed by the names in it.
"""

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from ganglion.model.errors import FieldError
from ganglion.server.models.asking import (
    MISSING,
    STALLED_S,
    RegistryAnswer,
    RegistryClient,
    decoded,
    strange,
)
from ganglion.server.models.cache.sources import (
    MOST_FILES,
    SUMS,
    FileRequest,
    RemoteFile,
    digests_listed,
    is_inside,
)
from ganglion.server.models.settings import TrackingServer
from ganglion.specs.grammar.rules.models import ModelReference

PROXY = "/api/2.0/mlflow-artifacts/artifacts"
"""Path below which a tracking server hands out files."""
MOST_FOLDERS, MOST_DEPTH = 1_000, 20
"""Folders of a model that are listed, and how deep they lie."""
MOST_LISTED = 4 << 20
"""Bytes of one listing that are read."""
AT_ONCE = 4
"""Folders that are listed at a time."""
SLOWEST = 20 << 20
"""Bytes per second at which a server gets a file from its store, before it sends the first."""
LONGEST_S = 300.0


class TrackedFiles:
    """Files of one server; see `FileStore`. References name a folder below its root.

    Args:
        url: of the server.
        settings: with the credentials.
        client: asks it.
    """

    def __init__(self, url: str, settings: TrackingServer, client: RegistryClient) -> None:
        self._root, self._settings, self._client = url.rstrip("/") + PROXY, settings, client

    async def below(self, wanted: ModelReference) -> list[RemoteFile]:
        """See `FileStore`."""
        found, level, listed = list[RemoteFile](), [wanted.name], 0
        for _ in range(MOST_DEPTH):
            lower: list[str] = []
            for at in range(0, len(level), AT_ONCE):
                some = level[at : at + AT_ONCE]
                for entries in await asyncio.gather(*map(self._page, some)):
                    found += [self._file(wanted, *each[:2]) for each in entries if not each[2]]
                    lower += [path for path, _, is_folder in entries if is_folder]
                listed += len(some)
                if len(found) > MOST_FILES or listed + len(lower) > MOST_FOLDERS:
                    many = f"more than {MOST_FILES:,} files, or {MOST_FOLDERS:,} folders"
                    raise FieldError(f"{wanted.name} has {many}")
            if not lower:
                return await self._with_digests(wanted, found)
            level = lower
        raise FieldError(f"{wanted.name} has folders more than {MOST_DEPTH} deep")

    async def request(self, _wanted: ModelReference, file: RemoteFile) -> FileRequest:
        """See `ModelSource`."""
        patience = min(LONGEST_S, STALLED_S + file.size / SLOWEST)
        return FileRequest(self._client.credentials(self._settings), file.check, patience)

    def _file(self, wanted: ModelReference, path: str, size: int) -> RemoteFile:
        return RemoteFile(path.removeprefix(f"{wanted.name}/"), f"{self._root}/{quote(path)}", size)

    async def _page(self, folder: str) -> list[tuple[str, int, bool]]:
        """Path, size and whether it is a folder, of all that a folder has in it."""
        said = await self._ask(self._root, {"path": folder})
        found = decoded(said, self._root)
        if said.status in MISSING:
            raise FieldError(f"{folder} is not there: {str(found.get('message', ''))[:200]}")
        if said.status != 200:
            raise strange(self._root)
        try:
            return list(_entries(folder, found))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise strange(self._root) from None

    async def _ask(self, url: str, params: dict[str, str] | None = None) -> RegistryAnswer:
        credentials = self._client.credentials(self._settings)
        return await self._client.ask(url, credentials, params=params, most=MOST_LISTED)

    async def _with_digests(
        self, wanted: ModelReference, files: list[RemoteFile]
    ) -> list[RemoteFile]:
        """The same files with the digests that a list among them gives."""
        listed = next((each for each in files if each.path == SUMS), None)
        if listed is None:
            return files
        said = await self._ask(listed.url)
        try:
            sums = digests_listed(said.body.decode()) if said.status == 200 else {}
        except ValueError:
            hint = f"write it anew: sha256sum -b FILES > {SUMS}, and log the model again"
            raise FieldError(f"{wanted.name}/{SUMS} is no list of digests", hint=hint) from None
        if lost := sorted(sums.keys() - {each.path for each in files}):
            raise FieldError(f"{wanted.name} has no {lost[0][:200]!r}, which its {SUMS} names")
        return [
            RemoteFile(each.path, each.url, each.size, f"sha256:{sums[each.path]}")
            if each.path in sums
            else each
            for each in files
        ]


def _entries(folder: str, said: dict[str, Any]) -> Iterator[tuple[str, int, bool]]:
    """See `TrackedFiles._page`; a file without a size is empty. Raises FieldError for odd names."""
    entries = said.get("files") or ()
    if len(entries) > MOST_FILES + MOST_FOLDERS:
        raise FieldError(f"{folder} has {len(entries):,} files and folders in it: too many")
    for each in entries:
        name, size = str(each["path"]), int(each.get("file_size") or 0)
        if "/" in name or not is_inside(name):
            raise FieldError(f"{folder} has {name[:200]!r} in it, which is no name of a file")
        yield f"{folder}/{name}", size, bool(each.get("is_dir"))
