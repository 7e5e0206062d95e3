"""What the kernel and the file system say at this moment: the one place that asks them.

Whatever is asked for may vanish between two calls: a process while /proc is listed, a run
directory while it is removed. Three answers are kept apart: it is there; it is gone (None, or
nothing in a list); the machine does not say (`OSError`, as with too many open files), which
proves nothing. Beside seams only the standard library is imported here, because supervisors import
this.
"""

import contextlib
import errno
import os
import stat as modes
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ganglion.seams import files as seam
from ganglion.seams.files import SYSTEM_FILES, Files, Where

GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESRCH})
"""Errors that say that something is not there any more."""
PROC = "/proc"
LISTENS = "0A"
"""State of a socket in the tables of TCP (proc_net_tcp(5))."""
TRIES = 3
"""Most tries to read what was cut short."""


files: Files = SYSTEM_FILES
"""The system calls; tests put others in their place, in supervisors too."""


def read(path: Where) -> bytes | None:
    """The content of a file; None = it is gone.

    Raises:
        OSError: the machine does not say.
    """
    try:
        return files.read(os.fspath(path))
    except OSError as error:
        if error.errno in GONE:
            return None
        raise


def text(path: Where) -> str | None:
    """The content of a file as text; None = it is gone. Bytes that are no UTF-8 are kept.

    Raises:
        OSError: the machine does not say.
    """
    found = read(path)
    return None if found is None else found.decode("utf-8", "surrogateescape")


def names(path: Where) -> list[str]:
    """What a directory has in it, sorted; nothing when it is gone.

    Raises:
        OSError: the machine does not say.
    """
    try:
        return sorted(files.names(os.fspath(path)))
    except OSError as error:
        if error.errno in GONE:
            return []
        raise


def stat(path: Where, *, follow: bool = True) -> os.stat_result | None:
    """Type, size and times of a file; None = it is gone.

    Raises:
        OSError: the machine does not say.
    """
    try:
        return files.stat(os.fspath(path), follow=follow)
    except OSError as error:
        if error.errno in GONE:
            return None
        raise


def exists(path: Where) -> bool:
    """Whether something is there.

    Raises:
        OSError: the machine does not say.
    """
    return stat(path) is not None


def is_directory(path: Where) -> bool:
    """Whether a directory is there.

    Raises:
        OSError: the machine does not say.
    """
    found = stat(path)
    return found is not None and modes.S_ISDIR(found.st_mode)


def replace_whole(path: Where, content: bytes, *, durable: bool = False) -> None:
    """Write a file so that readers see all of it or nothing. Raises OSError: it is as it was."""
    seam.replace_whole(files, path, content, os.getpid(), durable=durable)


def publish(path: Where, content: bytes) -> None:
    """Write what those may read whom its folder lets in. Raises OSError: it is as it was."""
    seam.replace_whole(files, path, content, os.getpid(), durable=False, mode=0o640)


def make_folder(path: Where) -> None:
    """Make a directory for its owner only, with those above it. Raises OSError: it cannot be."""
    seam.make_folder(files, path)


def remove(path: Where) -> None:
    """Remove a file, if it is there. Raises OSError: it is there still."""
    seam.remove(files, path)


# --- processes ----------------------------------------------------------------------------


class Task(NamedTuple):
    """One process that is neither gone nor a zombie.

    Attributes:
        pid, parent, group: process ids.
        tty: number of its terminal device; 0 = it has none.
        ticks: CPU time of its own and of children that it has waited for.
        started: when it started, in clock ticks since boot.
        pages: resident memory.
    """

    pid: int
    parent: int
    group: int
    tty: int
    ticks: int
    started: int
    pages: int


def task(pid: int, proc: Where = PROC) -> Task | None:
    """One process; None = it is gone or a zombie.

    Raises:
        OSError: the machine does not say.
    """
    for _ in range(TRIES):
        found = read(f"{os.fspath(proc)}/{pid}/stat")
        if found is None:
            return None
        # The name of a program may contain anything, brackets and line feeds too.
        fields = found.rpartition(b")")[2].split()
        try:
            numbers = [int(fields[i]) for i in (1, 2, 4, 11, 12, 13, 14, 19, 21)]
        except (IndexError, ValueError):
            continue
        if fields[0] in (b"Z", b"X"):
            return None
        parent, group, tty, *times, started, pages = numbers
        return Task(pid, parent, group, tty, sum(times), started, pages)
    raise OSError(errno.EIO, f"cannot parse {proc}/{pid}/stat")


def tasks(proc: Where = PROC) -> Iterator[Task]:
    """Every process that was there for as long as this looked.

    A process that begins or ends meanwhile may or may not be among them.

    Raises:
        OSError: the machine does not say.
    """
    if proc == PROC and not has_proc():
        yield from _told_by_psutil()
        return
    for name in names(proc):
        found = task(int(name), proc) if name.isdigit() else None
        if found:
            yield found


def children(tasks: Iterable[Task]) -> dict[int, list[int]]:
    """Return the children of every process that has some."""
    found: dict[int, list[int]] = {}
    for each in tasks:
        found.setdefault(each.parent, []).append(each.pid)
    return found


def below(root: int, children: Mapping[int, Sequence[int]]) -> frozenset[int]:
    """Return all descendants of a process, itself left out."""
    found, left = set[int](), [root]
    while left:
        # A number that was used again while /proc was listed may close a circle.
        new = [each for each in children.get(left.pop(), ()) if each not in found]
        found.update(new)
        left += new
    return frozenset(found - {root})


def _told_by_psutil() -> Iterator[Task]:
    """The same on systems without /proc."""
    import psutil  # noqa: PLC0415 - supervisors import this module and nothing but the standard library

    size, ticks = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError), process.oneshot():
            pid, cpu = process.pid, process.cpu_times()
            if process.status() != psutil.STATUS_ZOMBIE:
                used, rss = round((cpu.user + cpu.system) * ticks), process.memory_info().rss
                yield Task(pid, process.ppid(), os.getpgid(pid), 0, used, 1, rss // size)


def marks(name: str) -> Iterator[tuple[int, str]]:
    """Every process whose environment has a variable: its pid and the value.

    Raises:
        OSError: the machine does not say.
    """
    for each in tasks():
        value = environment(each.pid).get(name.encode())
        if value is not None:
            yield each.pid, os.fsdecode(value)


def environment(pid: int, proc: Where = PROC) -> Mapping[bytes, bytes]:
    """Environment that a process was started with; empty when it is gone or not ours.

    Raises:
        OSError: the machine does not say.
    """
    try:
        found = read(f"{os.fspath(proc)}/{pid}/environ")
    except PermissionError:
        return {}
    if found is None and not has_proc():
        return _environment_by_psutil(pid)
    pairs = (each.partition(b"=") for each in (found or b"").split(b"\0"))
    return {name: value for name, _, value in pairs if name}


def _environment_by_psutil(pid: int) -> Mapping[bytes, bytes]:
    import psutil  # noqa: PLC0415 - see `_told_by_psutil`

    try:
        found = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return {}
    return {os.fsencode(name): os.fsencode(value) for name, value in found.items()}


def listening(port: int, proc: Where = PROC) -> frozenset[int]:
    """Inodes of the sockets that take TCP connections at a port; of this network namespace."""
    found = set[int]()
    for table in ("tcp", "tcp6"):
        for line in (text(f"{os.fspath(proc)}/net/{table}") or "").splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS and int(words[1].rpartition(":")[2], 16) == port:
                found.add(int(words[9]))
    return frozenset(found)


def sockets(pid: int, proc: Where = PROC) -> frozenset[int]:
    """Inodes of the sockets that a process has open; none when it is gone or not ours."""
    found = set[int]()
    folder = f"{os.fspath(proc)}/{pid}/fd"
    with contextlib.suppress(PermissionError):
        for each in names(folder):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                target = os.readlink(f"{folder}/{each}")  # noqa: PTH115 - no path: `socket:[7]`
                if target.startswith("socket:["):
                    found.add(int(target[8:-1]))
    return frozenset(found)


def has_proc() -> bool:
    """Whether the system describes processes in files, as Linux does."""
    return exists(f"{PROC}/self/stat")


def start_time(pid: int) -> int:
    """When a process started, in clock ticks since boot; 0 = it is gone or a zombie.

    Together with the pid this names a process for ever, although pids are used again.
    Systems without /proc answer 1 for every process that exists.

    Raises:
        OSError: the machine does not say.
    """
    found = task(pid)
    if found:
        return found.started
    return 0 if has_proc() else _signalled(pid)


def _signalled(pid: int) -> int:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return 0
    except PermissionError:
        return 1
    return 1


def has_children() -> bool:
    """Whether this process has any child that lives, adopted ones too.

    A list of processes cannot prove that there is none: one that begins another and ends may
    be missed together with it. The kernel knows.
    """
    if sys.platform == "darwin":  # it adopts no orphans either
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


# --- the machine --------------------------------------------------------------------------


def boot_id() -> str:
    """Identifier of the machine's present boot; empty where the system has none.

    Raises:
        OSError: the machine does not say.
    """
    return (text(f"{PROC}/sys/kernel/random/boot_id") or "").strip()


def machine_id() -> str:
    """Identifier of this installation of the operating system; empty where there is none.

    Raises:
        OSError: the machine does not say.
    """
    found = (text(path) or "" for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"))
    return next((each.strip() for each in found if each.strip()), "")


def uptime_ms() -> int:
    """Time since boot in ms, with the time of sleep where the system counts it; never set."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1_000_000


def numbers(path: Where, count: int) -> tuple[int, ...] | None:
    """The first numbers in a file; None when there are fewer or it cannot be read."""
    try:
        words = (text(path) or "").split()
        return tuple(int(word) for word in words[:count]) if len(words) >= count else None
    except (OSError, ValueError):
        return None


_OOM_KILL = "oom_kill"


def memory_kills(root: Path = Path("/")) -> int:
    """How often the kernel has killed for want of memory; only differences mean anything.

    That is the count of this process's control group (version 2), or else of the machine. 0 where
    the kernel does not report it.

    Args:
        root: where `proc` and `sys` are mounted.
    """
    own = _count(_events_of_group(root))
    return own if own is not None else _count(root / "proc/vmstat") or 0


def _events_of_group(root: Path) -> Path:
    """The file of this process's control group (version 2); it need not exist."""
    try:
        lines = (text(root / "proc/self/cgroup") or "").splitlines()
    except OSError:
        lines = []
    name = next((line[3:] for line in lines if line.startswith("0::")), "/")
    return root / "sys/fs/cgroup" / name.lstrip("/") / "memory.events"


def _count(path: Path) -> int | None:
    try:
        for line in (text(path) or "").splitlines():
            name, _, value = line.partition(" ")
            if name == _OOM_KILL:
                return int(value)
    except (OSError, ValueError):
        return None
    return None
