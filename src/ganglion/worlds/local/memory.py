"""How many processes the kernel has killed for want of memory; standard library only."""

from pathlib import Path

_OOM_KILL = "oom_kill"


def kills(root: Path = Path("/")) -> int:
    """The kernel's count, of this process's control group or else of the whole machine.

    Only differences between two counts mean anything. 0 where the kernel does not tell.

    Args:
        root: where `proc` and `sys` are mounted.
    """
    own = _count(_events_of_group(root))
    return own if own is not None else _count(root / "proc/vmstat") or 0


def _events_of_group(root: Path) -> Path:
    """The file of this process's control group (version 2); it need not exist."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        lines = []
    name = next((line[3:] for line in lines if line.startswith("0::")), "/")
    return root / "sys/fs/cgroup" / name.lstrip("/") / "memory.events"


def _count(path: Path) -> int | None:
    try:
        for line in path.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == _OOM_KILL:
                return int(value)
    except (OSError, ValueError):
        return None
    return None
