"""A file of a model on this machine, read as those that registries send."""

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from ganglion.model.errors import FieldError
from ganglion.seams.files import Files
from ganglion.server.models.cache.sources import RemoteFile

LOCAL = "file://"
"""How the URL of such a file begins; its path follows as it is."""
BLOCK = 1 << 22


def tag_of(state: os.stat_result) -> str:
    """What is another one once a file has been changed or replaced."""
    return f"{state.st_ino}-{state.st_size}-{state.st_mtime_ns}"


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Say of a file, or of something below a folder, that it cannot be read: FieldError."""
    try:
        yield
    except OSError as error:
        raise FieldError(
            f"{path} cannot be read: {error.strerror}",
            key="model",
            hint="it has to lie on the machine of the server, readable for its account",
        ) from None


class LocalContent:
    """Its content from one byte on; see `RegistryContent`.

    Args:
        files: the file system.
        file: on this machine.
        at: the first byte.

    Attributes:
        status: of HTTP.
        headers: by their names in lower case.

    Raises:
        FieldError: it cannot be read.
    """

    def __init__(self, files: Files, file: RemoteFile, at: int) -> None:
        self._files, self._file, self._at = files, file, at
        self._path = file.url.removeprefix(LOCAL)
        self.status = 206 if at else 200
        with readable(self._path):
            self.headers = {"etag": self._tag(), "content-range": f"bytes {at}-"}

    def _tag(self) -> str:
        return tag_of(self._files.stat(self._path))

    async def parts(self) -> AsyncGenerator[bytes]:
        """What it has, part by part. Raises FieldError where it is changed meanwhile."""
        with readable(self._path):
            opened = self._files.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            at = self._at
            while True:
                with readable(self._path):
                    block = self._files.pread(opened, BLOCK, at)
                if not block:
                    break
                at += len(block)
                yield block
        finally:
            self._files.close(opened)
        with readable(self._path):
            if self._tag() != self._file.tag:
                raise FieldError(f"{self._path} was changed while it was copied", key="model")
