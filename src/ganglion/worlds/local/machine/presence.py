"""The processes of a workspace as Linux reports them: CPU, bytes, terminals, connections."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ganglion.lifecycle.workspaces.processes import CPU_MILLI, Attached, ProcessUse
from ganglion.worlds.local.machine import host

TICK_MS = 10
"""Length of a clock tick as /proc counts them: 100 to the second on every Linux."""
PTS_MAJOR = range(136, 144)
"""Device numbers of pseudo terminals."""
LISTENING, ESTABLISHED = "0A", "01"
MIB = 1 << 20


class Total(Struct, frozen=True):
    """All processes at one moment.

    Attributes:
        at: in ms.
        cpu_ms: CPU time ever used.
        moved: bytes ever read and written.
        memory_mib: resident memory.
        ttys: numbers of their terminal devices.
    """

    at: int
    cpu_ms: int
    moved: int
    memory_mib: int
    ttys: frozenset[int]


def total(
    root: int, at: int, started: frozenset[int] = frozenset(), proc: Path = Path(host.PROC)
) -> Total | None:
    """Everything below a process, itself included; None = it is gone, or nothing is known.

    Args:
        root: the process, which must adopt orphans below it.
        at: the time in ms.
        started: what it has had started; where a helper did that, all below the helper's process
            counts as well, which adopts orphans too.
        proc: where the kernel lists processes.

    Raises:
        OSError: the machine does not say.
    """
    tasks = {task.pid: task for task in host.tasks(proc)}
    if root not in tasks:
        return None
    children, known = host.children(tasks.values()), {root}
    known |= host.below(root, children)
    for keeper in {tasks[pid].parent for pid in started - known if pid in tasks}:
        known |= host.below(keeper, children)
    mine = [tasks[pid] for pid in sorted(known)]
    return Total(
        at,
        sum(task.ticks for task in mine) * TICK_MS,
        sum(_moved(proc / str(task.pid) / "io") for task in mine),
        sum(task.pages for task in mine if task.pid != root) * os.sysconf("SC_PAGE_SIZE") // MIB,
        frozenset(task.tty for task in mine if task.tty),
    )


def usage(before: Total | None, now: Total) -> ProcessUse:
    """What was used between two moments; without a first one all counts are zero."""
    span = now.at - before.at if before else 0
    if before is None or span <= 0:
        return ProcessUse(now.at, 0, 0)
    used, moved = now.cpu_ms - before.cpu_ms, now.moved - before.moved
    if used < 0 or moved < 0:  # a process ended, and its figures with it
        return ProcessUse(now.at, span, CPU_MILLI)
    return ProcessUse(now.at, span, used * 1000 // span, moved * 1000 // span)


def attached(now: Total, port: int, proc: Path = Path(host.PROC)) -> Attached:
    """Who is at the terminals and at the port.

    Args:
        now: the processes.
        port: the workspace's port.
        proc: where the kernel lists connections.

    Raises:
        OSError: a terminal or the table of connections cannot be looked at.
    """
    states = list(_states(port, proc))
    typed = max((_typed(tty) for tty in now.ttys), default=0)
    return Attached(now.at, typed, states.count(ESTABLISHED), LISTENING in states)


def _typed(tty: int) -> int:
    """When a terminal was last read from, in ms: the kernel counts that in steps of 8 s."""
    path = terminal(tty)
    found = host.stat(path) if path else None
    return found.st_atime_ns // 1_000_000 if found else 0


def terminal(tty: int) -> Path | None:
    """Where a pseudo terminal is found by its number; None = it is another sort of terminal."""
    major, minor = os.major(tty), os.minor(tty)
    if major not in PTS_MAJOR:
        return None
    return Path(f"/dev/pts/{minor + 256 * (major - PTS_MAJOR.start)}")


def _states(port: int, proc: Path) -> Iterator[str]:
    """States of everything that has this local port."""
    wanted = f"{port:04X}"
    for name in ("tcp", "tcp6"):
        for line in (host.text(proc / "net" / name) or "").splitlines()[1:]:
            fields = line.split()
            if fields[1].rpartition(":")[2] == wanted:
                yield fields[3]


def _moved(path: Path) -> int:
    """Bytes that a process and children it waited for read and wrote, sockets included."""
    try:
        lines = (host.text(path) or "").splitlines()
    except PermissionError:  # it is not ours to look into
        return 0
    return sum(int(line.partition(":")[2]) for line in lines if line[:5] in ("rchar", "wchar"))
