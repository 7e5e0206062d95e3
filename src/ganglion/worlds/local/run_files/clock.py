"""The time of a server: as steady as a monotonic clock, and close to the wall clock.

Durations are differences of this time, so a wall clock that is set must not change them. What has
to happen at a date (schedules) follows the wall clock, which is reported beside it.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from ganglion.model.errors import EnvironmentFault
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records

FILE = "clock.json"
SLEW = 20
"""One part in this number of the elapsed time goes into coming closer to the wall clock."""
KEEP_MS = 1_000
"""How far the offset moves before it is written down again."""


class SteadyClock:
    """Time in ms since 1970 that never goes back and never jumps. Safe from any thread.

    After a step of the wall clock it comes closer by a twentieth of the time that passes. Its
    offset from the time since boot is kept in the home: a new server goes on with the same time.

    Args:
        home: where the offset is kept.
        least: no time before this one is reported; the newest time that was ever recorded.
        wall: the wall clock in ms.
        uptime: the time since boot in ms.

    Raises:
        OSError: the home cannot be read or written.
    """

    def __init__(
        self,
        home: Path,
        least: int = 0,
        *,
        wall: Callable[[], int] = records.now_ms,
        uptime: Callable[[], int] = host.uptime_ms,
    ) -> None:
        self._path, self._wall, self._uptime = home / FILE, wall, uptime
        self._lock = threading.Lock()
        known = records.read(self._path) or {}
        boot = host.boot_id()
        self._up = uptime()
        is_known = bool(boot) and known.get("boot") == boot
        offset = int(known["offset"]) if is_known else wall() - self._up
        self._offset = max(offset, least - self._up)
        self._boot, self._kept = boot, 0
        self._keep()

    def __call__(self) -> int:
        """The time in ms."""
        with self._lock:
            up = max(self._uptime(), self._up)
            most = (up - self._up) // SLEW
            if most:
                gap = self._wall() - (up + self._offset)
                self._offset += max(-most, min(most, gap))
                self._up = up
            if abs(self._offset - self._kept) >= KEEP_MS:
                self._keep()
            return up + self._offset

    def wall(self) -> int:
        """The wall clock in ms, which may jump and go back."""
        return self._wall()

    def _keep(self) -> None:
        try:
            records.write(self._path, {"boot": self._boot, "offset": self._offset})
        except OSError:  # on a full disk the next server begins with the wall clock
            return
        self._kept = self._offset


def steady_clock(home: Path, least: int, clock: Clock = SYSTEM_CLOCK) -> SteadyClock:
    """The clock of a home, made of those of a machine; other arguments as of `SteadyClock`.

    Raises:
        EnvironmentFault: the home cannot be read.
    """
    try:
        uptime = lambda: int(clock.since_boot() * 1000)  # noqa: E731 - shorter than a function
        return SteadyClock(home, least, wall=clock.now_ms, uptime=uptime)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot use the clock of {home}: {error}", "check space and permissions"
        ) from error
