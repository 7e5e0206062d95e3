"""Unix sockets in Ganglion's home: their addresses, and the user at the other end."""

import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SUPPORTED = hasattr(socket, "SO_PEERCRED") and Path("/proc/self/fd").is_dir()
"""Whether this system has Unix sockets whose peer's user the kernel reports (Linux does)."""
LONGEST = 100
"""Bytes of a path that go into a socket address as they are; Linux takes 107 (unix(7))."""
MODE, FOR_ALL = 0o600, 0o666
"""Who may connect: the owner; every account, of which the server then asks the kernel."""
_CREDENTIALS = struct.Struct("=iII")
"""`struct ucred`: pid, uid, gid (unix(7))."""


@contextmanager
def address(path: Path) -> Iterator[str]:
    """A path of at most `LONGEST` bytes to a socket, however deep its folder is."""
    if len(os.fsencode(path)) <= LONGEST:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def bind(path: Path, mode: int = MODE) -> socket.socket:
    """Make a socket that only its owner may connect to; it does not listen yet.

    Args:
        path: replaced when it exists: the caller holds the lock of the folder.
        mode: who else may connect.

    Raises:
        OSError: the file system has no sockets, or the folder cannot be written.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        with address(path) as name:
            made.bind(name)
        # No client can connect before the socket listens, so the mode is in time.
        path.chmod(mode)
    except OSError:
        made.close()
        raise
    return made


def check_server(connected: socket.socket, path: Path, *, shared: bool = False) -> None:
    """Compare who listens with who should: this user, or for root the owner of the folder.

    Args:
        connected: the connection.
        path: of the socket.
        shared: whether it is one for other accounts: then the owner of a folder that only its
            owner may write should listen.

    Raises:
        PermissionError: another user listens.
    """
    found, own, folder = peer_uid(connected), os.geteuid(), path.parent.stat()
    closed = not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if found != own and not (found == folder.st_uid and (own == 0 or (shared and closed))):
        raise PermissionError(f"{path} belongs to a process of user {found}, not {own}")


def peer_uid(connected: socket.socket) -> int:
    """The user whose process made the other end, as the kernel reports it."""
    found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(found)[1]
    return uid


def may_call(uid: int) -> bool:
    """Whether a user may use what this process serves: itself and root."""
    return uid in (os.geteuid(), 0)
