"""Files: one method per system call that may fail, and what is made of several of them.

Every method raises `OSError` as the kernel does.
"""

import contextlib
import fcntl
import io
import os
import stat as modes
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

Where = str | os.PathLike[str]

OWNER = 0o600
"""Mode of a file that only its owner may read and write."""


class Files(Protocol):
    """The system calls. Safe from any thread."""

    def read(self, path: Where) -> bytes:
        """The whole content of a file."""

    def names(self, path: Where) -> list[str]:
        """What a directory has in it."""

    def stat(self, path: Where, *, follow: bool = True) -> os.stat_result:
        """Type, size and times of a file."""

    def open(self, path: Where, flags: int, mode: int = OWNER) -> int:
        """A descriptor of a file, closed when a program is started."""

    def pread(self, descriptor: int, count: int, offset: int) -> bytes:
        """Some bytes of an open file."""

    def write(self, descriptor: int, content: bytes) -> None:
        """Append all of it at the descriptor's place; after an error, some of it may be there."""

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut an open file off."""

    def sync(self, descriptor: int) -> None:
        """Return once the content of a file, or the names of a directory, survive a power cut."""

    def lock(self, descriptor: int, operation: int) -> None:
        """Lock a file for as long as it is open, as flock(2)."""

    def close(self, descriptor: int) -> None:
        """Give a descriptor back."""

    def rename(self, path: Where, to: Where) -> None:
        """Give a file another name, in place of what has that name."""

    def unlink(self, path: Where) -> None:
        """Remove a file."""

    def mkdir(self, path: Where, mode: int = 0o700) -> None:
        """Make a directory."""

    def rmdir(self, path: Where) -> None:
        """Remove a directory that has nothing in it."""

    def remove_tree(self, path: Where) -> None:
        """Remove a directory with all in it that can be removed, and raise the first refusal.

        No link is followed, also none that another process puts in a directory's place meanwhile.
        What is gone already is no refusal.
        """

    def scratch(self) -> str:
        """Make an empty directory for the owner only, where temporary files go."""

    def chmod(self, path: Where, mode: int) -> None:
        """Change who may use a file."""

    def free(self, path: Where) -> int:
        """Bytes that may be written to the disk below a path."""


class SystemFiles:
    """The file system of this machine."""

    def read(self, path: Where) -> bytes:
        """The whole content of a file."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            return file.readall()

    def names(self, path: Where) -> list[str]:
        """What a directory has in it."""
        return os.listdir(path)  # noqa: PTH208 - one system call, one answer

    def stat(self, path: Where, *, follow: bool = True) -> os.stat_result:
        """Type, size and times of a file."""
        return os.stat(path, follow_symlinks=follow)  # noqa: PTH116 - the same

    def open(self, path: Where, flags: int, mode: int = OWNER) -> int:
        """A descriptor of a file, closed when a program is started."""
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def pread(self, descriptor: int, count: int, offset: int) -> bytes:
        """Some bytes of an open file."""
        return os.pread(descriptor, count, offset)

    def write(self, descriptor: int, content: bytes) -> None:
        """Append all of it at the descriptor's place; after an error, some of it may be there."""
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut an open file off."""
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        """Return once the content of a file, or the names of a directory, survive a power cut."""
        os.fsync(descriptor)

    def lock(self, descriptor: int, operation: int) -> None:
        """Lock a file for as long as it is open, as flock(2)."""
        fcntl.flock(descriptor, operation)

    def close(self, descriptor: int) -> None:
        """Give a descriptor back."""
        os.close(descriptor)

    def rename(self, path: Where, to: Where) -> None:
        """Give a file another name, in place of what has that name."""
        os.replace(path, to)  # noqa: PTH105 - one system call

    def unlink(self, path: Where) -> None:
        """Remove a file."""
        os.unlink(path)  # noqa: PTH108 - one system call

    def mkdir(self, path: Where, mode: int = 0o700) -> None:
        """Make a directory."""
        os.mkdir(path, mode)  # noqa: PTH102 - one system call

    def rmdir(self, path: Where) -> None:
        """Remove a directory that has nothing in it."""
        os.rmdir(path)  # noqa: PTH106 - one system call

    def remove_tree(self, path: Where) -> None:
        """Remove a directory with all in it that can be removed, and raise the first refusal."""
        import shutil  # noqa: PLC0415 - supervisors import this module, and remove nothing

        refused: list[BaseException] = []
        shutil.rmtree(path, onerror=lambda _call, _path, failed: refused.append(failed[1]))
        for error in refused:
            if not isinstance(error, FileNotFoundError):
                raise error

    def scratch(self) -> str:
        """Make an empty directory for the owner only, where temporary files go."""
        import tempfile  # noqa: PLC0415 - as `remove_tree`

        return tempfile.mkdtemp(prefix="ganglion-")

    def chmod(self, path: Where, mode: int) -> None:
        """Change who may use a file."""
        os.chmod(path, mode)  # noqa: PTH101 - one system call

    def free(self, path: Where) -> int:
        """Bytes that may be written to the disk below a path."""
        found = os.statvfs(path)
        return found.f_bavail * found.f_frsize


SYSTEM_FILES = SystemFiles()


class FileStream(io.RawIOBase):
    """A file as a stream, to read or to write from its start.

    Args:
        files: the file system.
        path: the file.
        flags: as of open(2): `os.O_RDONLY`, or `os.O_WRONLY` and what goes with it.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, files: Files, path: Where, flags: int) -> None:
        super().__init__()
        self._files, self._at = files, 0
        self._writes = bool(flags & os.O_WRONLY)
        self._descriptor = files.open(path, flags)

    def readable(self) -> bool:
        """Whether it is read."""
        return not self._writes

    def writable(self) -> bool:
        """Whether it is written."""
        return self._writes

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read on; 0 = the end."""
        room = memoryview(buffer).cast("B")
        found = self._files.pread(self._descriptor, len(room), self._at)
        room[: len(found)] = found
        self._at += len(found)
        return len(found)

    def write(self, content: "ReadableBuffer", /) -> int:
        """Write all of it."""
        whole = bytes(content)
        self._files.write(self._descriptor, whole)
        return len(whole)

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        if not self.closed:
            super().close()
            self._files.close(self._descriptor)


def exists(files: Files, path: Where) -> bool:
    """Whether something has that name, a link that leads nowhere left out.

    Raises:
        OSError: the machine does not say.
    """
    try:
        files.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def program(files: Files, name: str, search: str) -> str | None:
    """Find a program in a search path, as `/usr/bin:/bin`; None = it has none of that name.

    A folder of which the machine does not say what it has is passed over.
    """
    for folder in search.split(os.pathsep):
        path = os.path.join(folder or ".", name)  # noqa: PTH118 - as the shell spells it
        with contextlib.suppress(OSError):
            mode = files.stat(path).st_mode
            if modes.S_ISREG(mode) and mode & 0o111:
                return path
    return None


def remove(files: Files, path: Where) -> None:
    """Remove a file, if it is there.

    Raises:
        OSError: it is there still.
    """
    with contextlib.suppress(FileNotFoundError):
        files.unlink(path)


def make_folder(files: Files, path: Where, mode: int = 0o700) -> None:
    """Make a directory, for its owner only, and those above it, where they are missing.

    Args:
        files: the file system.
        path: the directory.
        mode: of the directory; those above it get what is usual.

    Raises:
        OSError: it cannot be made.
    """
    try:
        files.mkdir(path, mode)
    except FileExistsError:
        if not modes.S_ISDIR(files.stat(path).st_mode):
            raise
    except FileNotFoundError:
        make_folder(files, os.path.dirname(os.fspath(path)), 0o777)  # noqa: PTH120 - text too
        files.mkdir(path, mode)


def replace_whole(
    files: Files,
    path: Where,
    content: bytes,
    mark: object,
    *,
    durable: bool = True,
    mode: int = OWNER,
) -> None:
    """Write a file of the owner's; readers, and a machine that loses power, see all or nothing.

    Args:
        files: the file system.
        path: the file.
        content: what it shall have.
        mark: distinguishes writers of one file, such as their pid.
        durable: return once it survives a power cut; without that only readers see all or nothing.
        mode: what the umask, or the list of its folder, may leave of it.

    Raises:
        OSError: the file, which it names, is as it was, and nothing else is left behind.
    """
    folder, name = os.path.split(os.fspath(path))  # a path may be text
    scratch = os.path.join(folder, f".{name}.{mark}")  # noqa: PTH118 - the same
    remove(files, scratch)
    try:
        _written(files, scratch, content, mode, durable=durable)
        files.rename(scratch, path)
    except BaseException as error:
        if isinstance(error, OSError) and not error.filename:
            error.filename = os.fspath(path)  # the kernel names no file that is open
        with contextlib.suppress(OSError):  # what fails to write may fail to remove
            files.unlink(scratch)
        raise
    if durable:
        sync_folder(files, folder or ".")


def _written(files: Files, path: Where, content: bytes, mode: int, *, durable: bool) -> None:
    descriptor = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        files.write(descriptor, content)
        if durable:
            files.sync(descriptor)
    finally:
        files.close(descriptor)


def install(files: Files, scratch: Where, path: Where) -> None:
    """Give a complete file its name, once what it has survives a power cut.

    Raises:
        OSError: nothing has that name which had it not before.
    """
    descriptor = files.open(scratch, os.O_RDONLY)
    try:
        files.sync(descriptor)
    finally:
        files.close(descriptor)
    files.rename(scratch, path)
    sync_folder(files, os.path.dirname(os.fspath(path)) or ".")  # noqa: PTH120 - text too


def sync_folder(files: Files, path: Where) -> None:
    """Return once the names in a directory survive a power cut, where the file system can do so."""
    # The new name is in force; what fails here is only how soon it is on the disk.
    with contextlib.suppress(OSError):
        descriptor = files.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            files.sync(descriptor)
        finally:
            files.close(descriptor)
