"""A disk that fills up, fails, and loses what was not synced."""

import errno
import os

from ganglion.seams.files import OWNER, SYSTEM_FILES, Where
from tests.faults.plan import Plan

READS = ("read", "names", "stat", "pread", "free")
WRITES = (
    *("open", "write", "truncate", "sync", "rename", "unlink", "mkdir", "chmod"),
    *("rmdir", "remove_tree", "scratch"),
)


class FaultyFiles:
    """Files of which some calls fail.

    A write that fails has written half; nothing else that fails has had an effect.

    Args:
        plan: which calls.
        number: of the error.
        room: bytes that are free; None = those of the real disk.
        among: part of the paths of which calls may fail; empty = any.
    """

    def __init__(
        self, plan: Plan, number: int = errno.ENOSPC, room: int | None = None, among: str = ""
    ) -> None:
        self._plan, self._number, self._room, self._among = plan, number, room, among
        self._real, self._opened = SYSTEM_FILES, dict[int, str]()

    def _fails(self, call: str, place: Where | int) -> None:
        is_open = isinstance(place, int)
        path = self._opened.get(place, "") if isinstance(place, int) else str(place)
        if self._among in path and self._plan.strikes(call):
            named = () if is_open else (path,)  # the kernel names no file that is open
            raise OSError(self._number, os.strerror(self._number), *named)

    def read(self, path: Where) -> bytes:
        self._fails("read", path)
        return self._real.read(path)

    def names(self, path: Where) -> list[str]:
        self._fails("names", path)
        return self._real.names(path)

    def stat(self, path: Where, *, follow: bool = True) -> os.stat_result:
        self._fails("stat", path)
        return self._real.stat(path, follow=follow)

    def open(self, path: Where, flags: int, mode: int = OWNER) -> int:
        self._fails("open", path)
        descriptor = self._real.open(path, flags, mode)
        self._opened[descriptor] = str(path)
        return descriptor

    def pread(self, descriptor: int, count: int, offset: int) -> bytes:
        self._fails("pread", descriptor)
        return self._real.pread(descriptor, count, offset)

    def write(self, descriptor: int, content: bytes) -> None:
        try:
            self._fails("write", descriptor)
        except OSError:
            self._real.write(descriptor, content[: len(content) // 2])
            raise
        self._real.write(descriptor, content)

    def truncate(self, descriptor: int, size: int) -> None:
        self._fails("truncate", descriptor)
        self._real.truncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        self._fails("sync", descriptor)
        self._real.sync(descriptor)

    def lock(self, descriptor: int, operation: int) -> None:
        self._fails("lock", descriptor)
        self._real.lock(descriptor, operation)

    def close(self, descriptor: int) -> None:
        self._real.close(descriptor)

    def rename(self, path: Where, to: Where) -> None:
        self._fails("rename", path)
        self._real.rename(path, to)

    def unlink(self, path: Where) -> None:
        self._fails("unlink", path)
        self._real.unlink(path)

    def mkdir(self, path: Where, mode: int = 0o700) -> None:
        self._fails("mkdir", path)
        self._real.mkdir(path, mode)

    def rmdir(self, path: Where) -> None:
        self._fails("rmdir", path)
        self._real.rmdir(path)

    def remove_tree(self, path: Where) -> None:
        self._fails("remove_tree", path)
        self._real.remove_tree(path)

    def scratch(self) -> str:
        self._fails("scratch", "/tmp")
        return self._real.scratch()

    def chmod(self, path: Where, mode: int) -> None:
        self._fails("chmod", path)
        self._real.chmod(path, mode)

    def free(self, path: Where) -> int:
        self._fails("free", path)
        return self._real.free(path) if self._room is None else self._room
