"""Run records: the files through which a supervisor and a `LocalWorld` exchange facts.

One directory per attempt, `runs/<workload id>/<index>/<attempt>/`:

- `spec.json`     what to run; its presence makes the attempt exist
- `lock`          locked (flock) by the supervisor for as long as it lives
- `start.json`    pid and start time of the one supervisor that ever ran the attempt
- `pids`          one line `<pid> <start time>` per process group started
- `running.json`  all ranks run
- `stop.json`     order to stop; `limit.json` a changed time limit
- `resize.json`   order to run on other pods; `left.json` those it left out are gone
- `replaced.json` how often pods were started again in place, and why the last time
- `exchange`      folder that programs of another account may write: all below but `reports`
- `checkpoint`    the job touches it whenever a checkpoint is complete
- `reports/<pod>` what the pod's processes report, one JSON object per line
- `resumed.json`  the checkpoint it goes on from, and what is to be reported of that
- `exit.json`     how the attempt ended; its reader need not look further
- `stop`          what the job itself may read: why it is being stopped
- `leave`         the job makes it when it has saved and need not be waited for
- `hostfile`      nodes and slots for MPI
- `callers.sock`  where clients that run something in a pod connect to the supervisor
- `terminal.sock` where viewers of the terminal of rank 0 connect

Only the standard library is imported here, because the supervisor imports this module.
"""

import fcntl
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ganglion.worlds.local.machine import host

SPEC = "spec.json"
START = "start.json"
RUNNING = "running.json"
EXIT = "exit.json"
STOP = "stop.json"
LIMIT = "limit.json"
RESIZE = "resize.json"
LEFT = "left.json"
LOCK = "lock"
PIDS = "pids"
STOP_NOTE = "stop"
LEAVE = "leave"
CHECKPOINT = "checkpoint"
HOSTFILE = "hostfile"
REPLACED = "replaced.json"
REPORTS = "reports"
CALLERS = "callers.sock"
TERMINAL = "terminal.sock"
RESUMED = "resumed.json"
EXCHANGE = "exchange"

boot_id, start_time = host.boot_id, host.start_time

Record = dict[str, Any]
"""A decoded record file: a JSON object."""


def exchange(run: Path, spec: Mapping[str, Any]) -> Path:
    """Where the programs of an attempt and its supervisor find what they write for each other."""
    return Path(spec.get(EXCHANGE, run))


def report_file(run: Path, pod: int) -> Path:
    """Where the processes of pod number `pod` report."""
    return run / REPORTS / f"{pod}.jsonl"


def now_ms() -> int:
    """Wall clock in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def stamp() -> Record:
    """The present moment for a record: by the wall clock, and since boot, which is never set."""
    return {"at": now_ms(), "up": host.uptime_ms()}


def moment(record: Record, now: int, up: int, boot: str) -> int:
    """When a record was stamped, in ms, by the clock that says `now`; never later.

    Args:
        record: with the fields of `stamp`; `up` is missing in those of older versions.
        now: the time in ms.
        up: the time since boot at that moment.
        boot: boot in which it was stamped.
    """
    if "up" in record and boot == boot_id():
        return now - max(0, up - int(record["up"]))
    return min(now, int(record["at"]))


def write(path: Path, record: Mapping[str, Any], *, durable: bool = False) -> None:
    """Write a record so that readers see all of it or nothing.

    Args:
        path: the file.
        record: a JSON object.
        durable: force it to the disk, so that it also outlasts a loss of power. Only ends
            need that: no attempt survives such a loss, and the boot id shows that it happened.

    Raises:
        OSError: the disk refuses; the record is as it was.
    """
    host.replace_whole(path, json.dumps(record).encode(), durable=durable)


def read(path: Path) -> Record | None:
    """Read a record; None when it is absent or was cut short by a crash of the machine.

    Raises:
        OSError: the machine does not say.
    """
    text = host.text(path)
    try:
        record = None if text is None else json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def glance(path: Path) -> Record | None:
    """Read an order that is looked for again and again: None also when the machine does not say."""
    try:
        return read(path)
    except OSError:
        return None


class RunLock:
    """The lock of a run directory; the kernel lets go of it when its holder dies.

    Args:
        path: the lock file; made when absent.
    """

    def __init__(self, path: Path) -> None:
        self._fd = host.files.open(path, os.O_RDWR | os.O_CREAT)

    def take(self, *, shared: bool = False, patience_s: float = 0.0) -> bool:
        """Try to take the lock, again and again for `patience_s` seconds.

        A check whether the lock is held takes a shared lock, which does not keep other
        checks out, and a supervisor outwaits it.
        """
        mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
        give_up = time.monotonic() + patience_s
        while True:
            try:
                host.files.lock(self._fd, mode)
            except BlockingIOError:
                if time.monotonic() >= give_up:
                    return False
                time.sleep(0.02)
            else:
                return True

    def close(self) -> None:
        """Let go."""
        host.files.close(self._fd)


def is_held(run: Path) -> bool:
    """Whether a supervisor lives in this run directory, which may be gone by now."""
    if not host.exists(run / LOCK):
        return False
    lock = RunLock(run / LOCK)
    try:
        return not lock.take(shared=True)
    finally:
        lock.close()
