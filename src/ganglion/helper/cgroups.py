"""One control group (cgroup v2) per attempt: limits, and an end that no process escapes."""

import contextlib
import errno
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from ganglion.helper.orders import ProcessLimits

MOUNTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
"""Where cgroup v2 is mounted: alone, or beside the first version."""
SYSTEMD = Path("/run/systemd/system")
"""Is there where systemd runs (sd_booted(3))."""
FOLDER = "ganglion"
PERIOD_US = 100_000
"""Period of `cpu.max`."""
BASIC_DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "char-pts")
"""What every program with a GPU needs beside the nodes of its GPUs; and terminals."""
MOVED_S = 5.0
"""How long systemd may take to make a scope."""


def mount() -> Path | None:
    """Where cgroup v2 is mounted; None = nowhere."""
    return next((each for each in MOUNTS if (each / "cgroup.controllers").is_file()), None)


class ControlGroup:
    """The control group of an attempt.

    Args:
        folder: of the group; None = there is none, and nothing is limited.
        unenforced: what was asked for and is not limited: `memory`, `cpu`, `devices`.
    """

    def __init__(self, folder: Path | None, unenforced: Sequence[str]) -> None:
        self.folder, self.unenforced = folder, tuple(unenforced)

    def enter(self) -> None:
        """Put this process into the group; runs in a new process.

        Raises:
            OSError: the group is gone.
        """
        if self.folder:
            (self.folder / "cgroup.procs").write_text("0")

    def remove(self) -> None:
        """Remove the group once it is empty."""
        if self.folder:
            with contextlib.suppress(OSError):  # systemd removes its own
                self.folder.rmdir()


def group_name(socket: Path, attempt: str) -> str:
    """The name of an attempt's group: helpers of two servers may keep attempts of one name.

    Args:
        socket: of the helper.
        attempt: its name.
    """
    return f"{sha256(os.fsencode(socket)).hexdigest()[:8]}-{attempt}"


def joined(group: str, limits: ProcessLimits, devices: tuple[str, ...] | None) -> ControlGroup:
    """Make the group of an attempt, or find it, and set its limits.

    Args:
        group: its name, see `group_name`.
        limits: of the group.
        devices: GPUs that its processes may use; None = no device is fenced off.
    """
    wanted = [
        name
        for name, asked in (
            ("memory", limits.memory_bytes),
            ("cpu", limits.cpu_milli),
            ("devices", devices is not None),
        )
        if asked
    ]
    found = mount()
    if found is None:
        return ControlGroup(None, wanted)
    if SYSTEMD.is_dir():
        scope = _scope(found, group, limits, devices)
        if scope:
            return ControlGroup(scope, ())
    folder = found / FOLDER / group
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError:
        return ControlGroup(None, wanted)
    for above in (found, found / FOLDER):
        for each in ("memory", "cpu"):
            with contextlib.suppress(OSError):  # seen below: the limit cannot be set
                (above / "cgroup.subtree_control").write_text(f"+{each}")
    quota = limits.cpu_milli * PERIOD_US // 1000
    texts = {
        "memory": ("memory.max", str(limits.memory_bytes)),
        "cpu": ("cpu.max", f"{quota} {PERIOD_US}"),
    }
    done = {each for each in wanted if each in texts and _set(folder, *texts[each])}
    return ControlGroup(folder, [each for each in wanted if each not in done])


def unenforced() -> list[str]:
    """What cannot be limited on this machine: `memory`, `cpu`, `devices`."""
    found = mount()
    if found and SYSTEMD.is_dir():
        return []
    try:
        there = (found / "cgroup.controllers").read_text().split() if found else []
    except OSError:
        there = []
    return [each for each in ("memory", "cpu") if each not in there] + ["devices"]


def end(group: str) -> bool:
    """Kill what is left in the group of an attempt; True when nothing was."""
    found = mount()
    folders = [found / FOLDER / group, found / "system.slice" / scope_name(group)] if found else []
    left = False
    for folder in folders:
        try:
            procs = (folder / "cgroup.procs").read_text()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENODEV):
                continue
            raise
        if procs.strip():
            left = True
            (folder / "cgroup.kill").write_text("1")
        else:
            ControlGroup(folder, ()).remove()
    return not left


def _set(folder: Path, name: str, text: str) -> bool:
    try:
        (folder / name).write_text(text)
    except OSError:
        return False
    return True


def scope_name(group: str) -> str:
    """The unit of systemd that an attempt runs in."""
    return f"ganglion-{group}.scope"


def scope_call(
    group: str, pid: int, limits: ProcessLimits, devices: tuple[str, ...] | None
) -> list[str]:
    """The command that has systemd make a transient scope with its first process.

    Args:
        group: its name.
        pid: of that process.
        limits: of the scope.
        devices: GPUs that its processes may use; None = no device is fenced off.
    """
    properties = [
        ["PIDs", "au", "1", str(pid)],
        ["Slice", "s", "system.slice"],
        ["Delegate", "b", "true"],
        ["CollectMode", "s", "inactive-or-failed"],
    ]
    if limits.memory_bytes:
        properties.append(["MemoryMax", "t", str(limits.memory_bytes)])
    if limits.cpu_milli:
        properties.append(["CPUQuotaPerSecUSec", "t", str(limits.cpu_milli * 1000)])
    if devices is not None:
        nodes = [*BASIC_DEVICES, *devices] if devices else ["char-pts"]
        rules = [word for node in nodes for word in (node, "rw")]
        properties.append(["DevicePolicy", "s", "closed"])
        properties.append(["DeviceAllow", "a(ss)", str(len(nodes)), *rules])
    service = ["org.freedesktop.systemd1", "/org/freedesktop/systemd1"]
    method = ["org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))"]
    words = [word for each in properties for word in each]
    call = [scope_name(group), "fail", str(len(properties)), *words, "0"]
    return [
        shutil.which("busctl", path="/usr/bin:/bin") or "busctl",
        "call",
        *service,
        *method,
        *call,
    ]


def _scope(
    found: Path, group: str, limits: ProcessLimits, devices: tuple[str, ...] | None
) -> Path | None:
    """The group of a transient scope; None = systemd makes none."""
    folder = found / "system.slice" / scope_name(group)
    if folder.is_dir():
        return folder
    first = _sleeper()
    done = subprocess.run(
        scope_call(group, first, limits, devices), check=False, stdout=subprocess.DEVNULL
    )
    give_up = time.monotonic() + MOVED_S
    while done.returncode == 0 and time.monotonic() < give_up:
        with contextlib.suppress(OSError):
            if str(first) in (folder / "cgroup.procs").read_text().split():
                return folder
        time.sleep(0.02)
    return None


def _sleeper() -> int:
    """A child that ends with this process: a scope needs a process to begin with."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    return pid  # the writing end stays open until this process ends
