"""One file from a registry to the disk: as fast as is allowed, and whole or not at all."""

import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ganglion.model.errors import FieldError, ModelRegistryDown
from ganglion.seams.clock import Clock
from ganglion.seams.effects import Effects
from ganglion.seams.files import remove
from ganglion.server.models.asking import (
    MISSING,
    SIGN_IN,
    RegistryClient,
    RegistryContent,
    refused,
)
from ganglion.server.models.cache.local import LOCAL, LocalContent
from ganglion.server.models.cache.sources import FileRequest, RemoteFile

TRIES = 3
"""How often a file is begun or gone on with before its model is left alone for a while."""
FIRST_PAUSE_S = 1.0
BLOCK = 1 << 22
READABLE = 0o444
"""Mode of a file that is whole: no program changes it by mistake."""
OTHER = 412
"""How a store answers that has another object by now than is asked for."""
BEYOND = 416
"""How a registry answers that has less of a file than is there already."""

PART = 206

Asked = Callable[[], Awaitable[FileRequest]]
Arrived = Callable[[int, int], Awaitable[None]]
"""Called with the bytes of a file that are there, and those that just arrived; raises to stop."""


class FetchRate:
    """Holds downloads up, all of them together, so that a rate is kept.

    Args:
        clock: measures and waits.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._free = clock, 0.0

    async def spend(self, size: int, rate: int) -> None:
        """Wait until `size` bytes may have arrived, at `rate` bytes per second; 0 = any rate."""
        now = self._clock.monotonic()
        self._free = max(self._free, now) + (size / rate if rate else 0)
        await self._clock.pause(self._free - now)


class FileDownload:
    """Fetches files, each of which is gone on with after a break.

    Args:
        client: asks registries.
        effects: files and the clock.
    """

    def __init__(self, client: RegistryClient, effects: Effects) -> None:
        self._client, self._clock, self._files = client, effects.clock, effects.files
        self._tags: dict[Path, str] = {}

    async def fetch(
        self, file: RemoteFile, ask: Asked, part: Path, to: Path, arrived: Arrived
    ) -> None:
        """Have a file lie at `to`, synced, with the bytes that the registry says it has.

        Args:
            file: the file.
            ask: says how it is asked for now.
            part: where it lies until it is whole, with what an earlier try left.
            to: where it lies then.
            arrived: follows the download.

        Raises:
            FieldError: it is gone, or another one by now.
            ModelRegistryDown: the registry breaks off, or sends other bytes.
            OSError: the disk refuses.
        """
        for left in reversed(range(TRIES)):
            try:
                await self._once(file, await ask(), part, arrived)
                break
            except ModelRegistryDown:
                if not left:
                    raise
                await self._clock.pause(FIRST_PAUSE_S * (TRIES - left))
        self._files.rename(part, to)
        self._tags.pop(part, None)

    async def _once(
        self, file: RemoteFile, request: FileRequest, part: Path, arrived: Arrived
    ) -> None:
        digest = _Digest(request.check, file.size)
        opened = self._files.open(part, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            # A break is gone on after where a digest says in the end that both parts fit, or the
            # registry says that the file is what it was when this server began with it.
            tag = "" if request.check else self._tags.get(part, "")
            at = await self._read(opened, digest, arrived) if request.check or tag else 0
            if at != file.size or not at or tag:
                at = at if at < file.size else 0
                await self._rest(_Part(file, request, part, at, tag), opened, digest, arrived)
            self._files.sync(opened)
        finally:
            self._files.close(opened)
        if not digest.fits():
            remove(self._files, part)
            raise ModelRegistryDown(f"{file.path} came with other bytes than its digest says")

    async def _read(self, opened: int, digest: "_Digest", arrived: Arrived) -> int:
        """Take in what is there; how much that is."""
        at = 0
        while block := self._files.pread(opened, BLOCK, at):
            digest.update(block)
            at += len(block)
            await arrived(at, 0)
        return at

    async def _rest(self, what: "_Part", opened: int, digest: "_Digest", arrived: Arrived) -> None:
        file, at = what.file, what.at
        async with self._content(what) as said:
            if not _goes_on(said, what):
                at = 0
                digest.restart()
            self._files.truncate(opened, at)
            self._tags[what.path] = _strong(said)
            if said.status == BEYOND:
                raise ModelRegistryDown(f"{file.path} is begun anew: the registry has less of it")
            if said.status == PART and not at:
                raise ModelRegistryDown(f"{file.path} is begun anew: another part of it came")
            async with aclosing(said.parts()) as parts:
                async for block in parts:
                    at += len(block)
                    if at > file.size:
                        break
                    self._files.write(opened, block)
                    digest.update(block)
                    await arrived(at, len(block))
        if at != file.size:
            how = "more than" if at > file.size else f"{at:,} of"
            raise ModelRegistryDown(f"{file.path} came with {how} its {file.size:,} bytes")

    @asynccontextmanager
    async def _content(self, what: "_Part") -> AsyncIterator[RegistryContent | LocalContent]:
        """The file from where its part ends, or the whole of it."""
        if what.file.url.startswith(LOCAL):
            yield LocalContent(self._files, what.file, what.at)
            return
        headers = dict(what.request.headers)
        if what.at:
            headers["range"] = f"bytes={what.at}-"
            if what.tag:
                headers["if-range"] = f'"{what.tag}"'
        patience = what.request.patience_s
        async with self._client.content(what.file.url, headers, patience) as said:
            yield said


class _Part(NamedTuple):
    """A file, of which some is there already.

    Attributes:
        file: the file.
        request: how it is asked for.
        path: where the part lies.
        at: bytes of it.
        tag: what the registry called the file then; empty = its digest says whether both fit.
    """

    file: RemoteFile
    request: FileRequest
    path: Path
    at: int
    tag: str


class _Digest:
    """What the bytes of a file come to.

    Args:
        check: as of `RemoteFile`.
        size: of the whole file; git counts it in.
    """

    def __init__(self, check: str, size: int) -> None:
        self._kind, _, self._wanted = check.partition(":")
        self._size = size
        self.restart()

    def restart(self) -> None:
        """Begin with the first byte."""
        is_git = self._kind == "git-blob"
        # What git calls a file; a digest that the registry names, not one that anything signs.
        self._made = hashlib.sha1(usedforsecurity=False) if is_git else hashlib.sha256()
        if is_git:
            self._made.update(f"blob {self._size}\0".encode())

    def update(self, block: bytes) -> None:
        """Take the next bytes in."""
        self._made.update(block)

    def fits(self) -> bool:
        """Whether they are those that the registry says; where it says nothing, they are."""
        return not self._wanted or self._made.hexdigest() == self._wanted


def _strong(said: RegistryContent | LocalContent) -> str:
    """What a registry calls the state of a file to the byte; empty = it does not."""
    tag = said.headers.get("etag", "")
    return "" if tag.startswith("W/") else tag.strip('"')


def _goes_on(said: RegistryContent | LocalContent, part: _Part) -> bool:
    """Whether an answer begins where a file ends so far; otherwise it begins at the first byte.

    Raises:
        FieldError: the file is gone, or another one by now.
        ModelRegistryDown: the registry does not send it.
    """
    file, status, tag = part.file, said.status, said.headers.get("etag", "").strip('"')
    if status in MISSING:
        raise FieldError(f"{file.path} is not in the registry any more", key="model")
    if status == OTHER or (file.tag and status < 300 and tag not in ("", file.tag)):
        raise FieldError(f"{file.path} is another one by now", key="model")
    if status in SIGN_IN:
        raise refused(file.url, status)
    if status == PART:
        begins = said.headers.get("content-range", "").startswith(f"bytes {part.at}-")
        return begins and (not part.tag or tag == part.tag)
    if status not in (200, BEYOND):
        host = urlsplit(file.url).netloc
        raise ModelRegistryDown(f"the registry of models at {host} answers HTTP {status}")
    return False
