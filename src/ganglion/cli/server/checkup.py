"""What `ganglion doctor` looks at: every check only reads, and prints no secret."""

import os
import platform
import shutil
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from ganglion.cli.output.formats import plural

OK, WARN, FAIL = "ok", "warn", "fail"
LEAST_FREE, NO_ROOM = 1 << 30, 100 << 20
"""Bytes of free disk below which it warns, and fails."""
LEAST_FILES = 8_192
"""Open files that a server with many callers needs."""
LEAST_SHM = 1 << 30
"""Bytes of /dev/shm that programs on several GPUs exchange data through."""
LARGEST_SCAN = 256 << 20
"""Bytes of a ledger up to which every page is looked at."""
BEHIND_MS = 300_000
"""The clock may be so far behind the newest event."""
OTHERS = stat.S_IRWXG | stat.S_IRWXO
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
LOOPBACK = ("localhost", "127.0.0.1")
SECRET_FILES = ("token", "ledger.db", "server.log", "secrets", "tls")


class CheckFinding(NamedTuple):
    """What one check found.

    Attributes:
        check: its name.
        status: `ok`; `warn`: a person should look; `fail`: Ganglion does not work so.
        message: what was found.
        hint: what to do; empty = nothing.
    """

    check: str
    status: str
    message: str
    hint: str = ""


Check = Callable[[Path, Mapping[str, str]], Iterator[CheckFinding]]


def python(_home: Path, _environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """The interpreter is new enough."""
    version = platform.python_version()
    fine = sys.version_info >= (3, 11)
    yield CheckFinding("python", OK if fine else FAIL, version, "" if fine else "use 3.11 or newer")


def environment(_home: Path, environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """Variables that lead elsewhere than a person expects; their values are not printed."""
    given = [name for name in PROXIES if environ.get(name) or environ.get(name.lower())]
    spared = (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(",")
    caught = [host for host in LOOPBACK if host not in map(str.strip, spared) and "*" not in spared]
    if given and caught:
        message = f"{', '.join(given)} also catches {' and '.join(caught)}"
        hint = f"export NO_PROXY={','.join(LOOPBACK)} (ganglion itself goes past proxies there)"
        yield CheckFinding("proxies", WARN, message, hint)
    else:
        yield CheckFinding("proxies", OK, "none catches this machine")
    elsewhere = [name for name in ("GANGLION_URL", "GANGLION_TOKEN") if environ.get(name)]
    if elsewhere:
        message = f"{' and '.join(elsewhere)} win over the home directory"
        yield CheckFinding("variables", WARN, message, f"unset {' '.join(elsewhere)}")


def home_modes(home: Path, _environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """The home belongs to this user and is closed to others."""
    if not home.exists():
        yield CheckFinding("home", OK, f"{home} is made by: ganglion up")
        return
    if home.stat().st_uid != os.getuid() or not os.access(home, os.W_OK | os.X_OK):
        hint = "set GANGLION_HOME to a folder of your own"
        yield CheckFinding("home", FAIL, f"{home} cannot be written by you", hint)
        return
    paths = (home, *(home / name for name in SECRET_FILES))
    opened = [path for path in paths if path.exists() and path.stat().st_mode & OTHERS]
    if opened:
        names = ", ".join(path.name for path in opened)
        hint = f"chmod -R go= {home}"
        yield CheckFinding("home", WARN, f"other users may read {names} in {home.parent}", hint)
    else:
        yield CheckFinding("home", OK, f"{home} is closed to others")


def disk(home: Path, _environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """The disk has space for the ledger, logs and checkpoints."""
    place = next(path for path in (home, *home.parents) if path.exists())
    free, left = shutil.disk_usage(place).free, os.statvfs(place)
    status = FAIL if free < NO_ROOM else WARN if free < LEAST_FREE else OK
    message, hint = f"{free >> 20:,} MiB are free at {place}", "free space, or set GANGLION_HOME"
    if left.f_files and left.f_favail * 100 < left.f_files:
        status = FAIL if status == FAIL else WARN
        message = f"{left.f_favail:,} inodes are free at {place}"
    yield CheckFinding("disk", status, message, "" if status == OK else hint)


def open_files(_home: Path, _environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """A server may open enough files and connections."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fine = hard == resource.RLIM_INFINITY or hard >= LEAST_FILES
    shown = "no limit" if hard == resource.RLIM_INFINITY else f"at most {hard:,}"
    hint = f"raise `nofile` to {LEAST_FILES} in /etc/security/limits.conf, and log in again"
    yield CheckFinding("open files", OK if fine else WARN, shown, "" if fine else hint)


def shared_memory(_home: Path, _environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """Processes of one job can exchange data, as NCCL and data loaders do."""
    place = Path("/dev/shm")
    if not place.is_dir():
        yield CheckFinding("shared memory", WARN, f"there is no {place}", "mount a tmpfs there")
        return
    size = shutil.disk_usage(place).total
    hint = "" if size >= LEAST_SHM else "in a container: docker run --shm-size=8g, or --ipc=host"
    yield CheckFinding("shared memory", WARN if hint else OK, f"{size >> 20:,} MiB", hint)


def cgroups(_home: Path, _environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """The kernel reports limits of this container, and which job ran out of memory."""
    fine = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    message = "version 2" if fine else "version 2 is not mounted: limits of a container are unseen"
    hint = "" if fine else "boot with systemd.unified_cgroup_hierarchy=1, or give --cpus, --memory"
    yield CheckFinding("cgroups", OK if fine else WARN, message, hint)


def gpus(_home: Path, _environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """NVIDIA's library sees what the driver has."""
    from ganglion.worlds.local.machine import nvml as library

    nvml = library.BINDING

    driver = Path("/proc/driver/nvidia/version").exists()
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        if driver:
            hint = "compare: nvidia-smi; in a container: docker run --gpus=all"
            yield CheckFinding("gpus", FAIL, f"the driver is there, but NVML says: {error}", hint)
        else:
            yield CheckFinding("gpus", OK, "none; pretend some with: ganglion up --fake-gpus 8")
        return
    try:
        count = nvml.nvmlDeviceGetCount()
        version = _text(nvml.nvmlSystemGetDriverVersion())
    finally:
        nvml.nvmlShutdown()
    yield CheckFinding("gpus", OK if count else WARN, f"{plural(count, 'GPU')}, driver {version}")


def ledger(home: Path, _environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """The events can be read, and none is newer than the clock."""
    path = home / "ledger.db"
    if not path.exists():
        yield CheckFinding("ledger", OK, "there is none yet in this home")
        return
    size = path.stat().st_size
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            said = opened.execute("PRAGMA quick_check(1)").fetchone()[0] if _scans(size) else "ok"
            last, newest = opened.execute("SELECT max(seq), max(at) FROM events").fetchone()
    except sqlite3.Error as error:
        hint = "see 'Damaged ledger' in docs/runbooks/server.md"
        yield CheckFinding("ledger", FAIL, f"{path}: {error}", hint)
        return
    if said != "ok":
        yield CheckFinding("ledger", FAIL, f"{path}: {said}", "ganglion ledger verify")
        return
    yield CheckFinding("ledger", OK, f"{last or 0:,} events, {size >> 20:,} MiB")
    behind = (newest or 0) - time.time_ns() // 1_000_000
    if behind > BEHIND_MS:
        message = f"{behind // 1000:,} s behind the newest event in the ledger"
        yield CheckFinding("clock", WARN, message, "set it: timedatectl set-ntp true")
    else:
        yield CheckFinding("clock", OK, "not behind the ledger")


def _scans(size: int) -> bool:
    return size <= LARGEST_SCAN


def _text(found: Any) -> str:  # noqa: ANN401 - bytes or text, by version of the binding
    return found.decode() if isinstance(found, bytes) else str(found)


CHECKS: tuple[Check, ...] = (
    python,
    environment,
    home_modes,
    disk,
    open_files,
    shared_memory,
    cgroups,
    gpus,
    ledger,
)
