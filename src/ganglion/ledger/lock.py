"""At most one server per home: an advisory lock that dies with its process."""

import contextlib
import fcntl
import os
from pathlib import Path

from ganglion.model.errors import EnvironmentFault, InUse


class FileLock:
    """An exclusive lock on a file; the kernel lets go of it however the process ends.

    The file stays behind: removing it would let two processes lock two files of one name.

    Args:
        path: the file, made where it is missing; holds the pid of the owner.
        what: what is locked, for the message.

    Raises:
        InUse: another process holds it.
        EnvironmentFault: the file cannot be written.
    """

    def __init__(self, path: Path, what: str) -> None:
        self._file = _open(path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise _held(what, holder) from error
        with contextlib.suppress(OSError):  # the pid only serves the message of the next one
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        """Let the next one in; harmless when repeated."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {path}: {error.strerror}",
            "set GANGLION_HOME to a folder on a writable disk",
        ) from error


def _held(what: str, holder: str) -> InUse:
    return InUse(
        f"{what} is in use by another server" + (f" (pid {holder})" if holder else ""),
        "stop it with `ganglion down`, or set GANGLION_HOME to another folder",
    )
