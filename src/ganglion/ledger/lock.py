"""At most one server per home: an advisory lock that dies with its process."""

import contextlib
import fcntl
import os
from pathlib import Path

from ganglion.model.errors import EnvironmentFault, InUse
from ganglion.seams.files import SYSTEM_FILES, Files
from ganglion.seams.processes import SYSTEM_PROCESSES, Processes


class FileLock:
    """An exclusive lock on a file; the kernel lets go of it however the process ends.

    The file stays behind: removing it would let two processes lock two files of one name.

    Args:
        path: the file, made where it is missing; holds the pid of the owner.
        what: what is locked, for the message.
        files: the file system.
        processes: know the pid.

    Raises:
        InUse: another process holds it.
        EnvironmentFault: the file cannot be written or locked.
    """

    def __init__(
        self,
        path: Path,
        what: str,
        files: Files = SYSTEM_FILES,
        processes: Processes = SYSTEM_PROCESSES,
    ) -> None:
        self._files = files
        self._file = _open(files, path)
        try:
            _lock(files, self._file, path, what)
        except BaseException:
            self.release()
            raise
        with contextlib.suppress(OSError):  # the pid only serves the message of the next one
            files.truncate(self._file, 0)
            files.write(self._file, b"%d\n" % processes.own())

    def release(self) -> None:
        """Let the next one in; harmless when repeated."""
        if self._file >= 0:
            self._files.close(self._file)
            self._file = -1


def _open(files: Files, path: Path) -> int:
    try:
        return files.open(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {path}: {error.strerror}",
            "set GANGLION_HOME to a folder on a writable disk",
        ) from error


def _lock(files: Files, file: int, path: Path, what: str) -> None:
    try:
        files.lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = ""
        with contextlib.suppress(OSError):  # the message does without
            holder = files.pread(file, 20, 0).decode("ascii", "replace").strip()
        raise _held(what, holder) from error
    except OSError as error:
        raise EnvironmentFault(
            f"cannot lock {path}: {error.strerror}",
            "set GANGLION_HOME to a folder on a disk that has locks",
        ) from error


def _held(what: str, holder: str) -> InUse:
    return InUse(
        f"{what} is in use by another server" + (f" (pid {holder})" if holder else ""),
        "stop it with `ganglion down`, or set GANGLION_HOME to another folder",
    )
