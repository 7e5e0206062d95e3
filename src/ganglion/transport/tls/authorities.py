"""Certificates by which others are recognised, read once as long as their files stay the same.

Those of a machine take some 40 ms of CPU time to read.
"""

import ssl

from ganglion.seams.files import Files


class Authorities:
    """What is trusted.

    Args:
        path: file of certificates; empty = those of the machine.
        files: where they lie.
    """

    def __init__(self, path: str, files: Files) -> None:
        self._path, self._files = path, files
        self._stamp: tuple[object, ...] = ()
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """What TLS is spoken by. Raises OSError: the file cannot be read."""
        stamp = tuple(map(self._stamp_of, self._sources()))
        if self._context is None or stamp != self._stamp:
            self._context, self._stamp = loaded(self._path), stamp
        return self._context

    def _sources(self) -> tuple[str, ...]:
        if self._path:
            return (self._path,)
        found = ssl.get_default_verify_paths()
        return (found.cafile or "", found.capath or "")

    def _stamp_of(self, path: str) -> object:
        try:
            found = self._files.stat(path)
        except OSError as error:
            return error.errno
        return (path, found.st_ino, found.st_size, found.st_mtime_ns)


def loaded(path: str) -> ssl.SSLContext:
    """Read certificates. Raises OSError."""
    return ssl.create_default_context(cafile=path or None)
