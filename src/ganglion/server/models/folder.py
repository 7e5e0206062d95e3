"""Models in folders and files of the server's machine, by a digest of their content."""

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import PurePosixPath
from threading import Event

import anyio

from ganglion.model.errors import FieldError
from ganglion.model.workload import ResolvedModel
from ganglion.seams.files import Files
from ganglion.server.models.cache.local import LOCAL, readable, tag_of
from ganglion.server.models.cache.sources import (
    MOST_FILES,
    SUMS,
    FileRequest,
    RemoteFile,
    digests_listed,
)
from ganglion.specs.grammar.rules.models import ModelReference

BLOCK = 1 << 22
MOST_DEPTH = 20


class FolderRegistry:
    """Folders and files.

    Args:
        files: the file system.
        roots: folders that a model may lie in; empty = it may lie anywhere.
    """

    def __init__(self, files: Files, roots: tuple[str, ...] = ()) -> None:
        self._files, self._roots = files, roots

    async def resolve(self, wanted: ModelReference) -> ResolvedModel:
        """See `ModelSource`."""
        stop = Event()
        try:
            digest = await anyio.to_thread.run_sync(
                self._digest, wanted.name, stop, abandon_on_cancel=True
            )
        finally:
            stop.set()  # where the time is over, the thread ends with the block that it reads
        return ResolvedModel(str(wanted), str(wanted), "", f"sha256:{digest}")

    async def below(self, wanted: ModelReference) -> list[RemoteFile]:
        """See `FileStore`."""
        return await anyio.to_thread.run_sync(self._files_of, wanted.name, abandon_on_cancel=True)

    async def request(self, _wanted: ModelReference, file: RemoteFile) -> FileRequest:
        """See `ModelSource`."""
        path = file.url.removeprefix(LOCAL)
        with readable(path):
            self._check_place(path)
        return FileRequest({}, file.check)

    def _files_of(self, folder: str) -> list[RemoteFile]:
        """The files of a folder as they are now."""
        found: list[RemoteFile] = []
        with readable(folder):
            self._check_place(folder)
            listed = self._listed(folder)
            for name in islice(self._below(folder, "", 0), MOST_FILES + 1):
                path = f"{folder}/{name}"
                state, check = self._files.stat(path), listed.get(name, "")
                check = check and f"sha256:{check}"
                found.append(RemoteFile(name, LOCAL + path, state.st_size, check, tag_of(state)))
        return found

    def _digest(self, path: str, stop: Event) -> str:
        """Of a file its own; of a folder, of the lines `DIGEST  PATH` of its files in order.

        Raises:
            FieldError: it is not there, cannot be read, or is no model.
        """
        with readable(path):
            self._check_place(path)
            found = self._files.stat(path)
            if stat.S_ISREG(found.st_mode):
                return self._of_file(path, stop)
            lines = self._listed(path) or self._hashed(path, stop)
        if not lines:
            hint = "name the folder that holds the weights"
            raise FieldError(f"{path} has no files in it", key="model", hint=hint)
        text = "".join(f"{digest}  {name}\n" for name, digest in sorted(lines.items()))
        return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

    def _check_place(self, path: str) -> None:
        """Where folders are named, a model lies in one of them, and no link leads out of it."""
        if not self._roots:
            return
        root = next((each for each in self._roots if PurePosixPath(path).is_relative_to(each)), "")
        hint = f"models lie in {', '.join(self._roots)}: `files` in models.yaml of the server"
        if not root:
            raise FieldError(f"{path} is in no folder for models", key="model", hint=hint)
        place = PurePosixPath(root)
        for part in PurePosixPath(path).relative_to(root).parts:
            place /= part
            if stat.S_ISLNK(self._files.stat(place, follow=False).st_mode):
                raise FieldError(f"{place} is a link", key="model", hint=hint)

    def _listed(self, folder: str) -> dict[str, str]:
        """File -> digest as `SHA256SUMS` says; empty = there is none."""
        try:
            text = self._files.read(f"{folder}/{SUMS}").decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return {}
        try:
            found = digests_listed(text)
        except ValueError:
            hint = f"write it anew: cd {folder} && sha256sum -b FILES > {SUMS}"
            raise FieldError(
                f"{folder}/{SUMS} is no list of digests", key="model", hint=hint
            ) from None
        for name in found:
            self._files.stat(f"{folder}/{name}")
        return found

    def _hashed(self, folder: str, stop: Event) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in self._below(folder, "", 0):
            if len(found) >= MOST_FILES:
                hint = f"write their digests down: sha256sum -b FILES > {SUMS}"
                problem = f"{folder} has more than {MOST_FILES:,} files"
                raise FieldError(problem, key="model", hint=hint)
            found[name] = self._of_file(f"{folder}/{name}", stop)
        return found

    def _below(self, folder: str, head: str, depth: int) -> Iterator[str]:
        """Paths of the files of a folder, relative to it; links to folders are not followed."""
        for name in sorted(self._files.names(f"{folder}/{head}")):
            path = f"{head}{name}"
            mode = self._files.stat(f"{folder}/{path}", follow=False).st_mode
            if stat.S_ISDIR(mode) and depth < MOST_DEPTH:
                yield from self._below(folder, f"{path}/", depth + 1)
            elif stat.S_ISREG(mode) or (
                stat.S_ISLNK(mode) and stat.S_ISREG(self._files.stat(f"{folder}/{path}").st_mode)
            ):
                self._check_place(f"{folder}/{path}")
                yield path

    def _of_file(self, path: str, stop: Event) -> str:
        digest, at = sha256(), 0
        opened = self._files.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while block := self._files.pread(opened, BLOCK, at):
                if stop.is_set():
                    return ""
                digest.update(block)
                at += len(block)
        finally:
            self._files.close(opened)
        return digest.hexdigest()
