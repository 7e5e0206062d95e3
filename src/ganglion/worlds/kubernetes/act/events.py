"""Events (`events.k8s.io/v1`) about what the scheduler did, for `kubectl describe` and people.

Recording never waits and never fails: what cannot be written in time is dropped and counted,
because decisions matter more than telling of them. Equal events become one that counts.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable

from ganglion.worlds.kubernetes.act.bucket import Bucket
from ganglion.worlds.kubernetes.act.series import Happened, Series, Shelf
from ganglion.worlds.kubernetes.act.times import Clock, wall_ms
from ganglion.worlds.kubernetes.api.client import Api
from ganglion.worlds.kubernetes.api.errors import Absent, ApiError
from ganglion.worlds.kubernetes.api.patches import Patch

SCHEDULED = "Scheduled"
FAILED_SCHEDULING = "FailedScheduling"
PREEMPTED = "Preempted"
QUARANTINED = "Quarantined"

_MOST_SERIES = 4096
_ENDS_MS = 6 * 60_000
"""A series to which nothing was added for this long has ended."""


class Recorder:
    """Writes events of one cluster. `record` may be called from any thread; `run` writes.

    Args:
        api: the cluster's.
        instance: of this process, as its pod's name.
        per_second: most writes per second in the long run.
        burst: most writes at once.
        most_waiting: series that may wait to be written; later ones are dropped.
        again_ms: least time between two writes of one series, in ms.
        clock: for the times in events.
        steady: for the limit, in seconds.
    """

    def __init__(
        self,
        api: Api,
        instance: str,
        *,
        per_second: float = 50,
        burst: int = 200,
        most_waiting: int = 2000,
        again_ms: int = 30_000,
        clock: Clock = wall_ms,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._instance, self._clock = api, instance, clock
        self._most_waiting, self._again_ms = most_waiting, again_ms
        self._bucket = Bucket(per_second, burst, steady)
        self._shelf = Shelf(_MOST_SERIES, _ENDS_MS)
        self._waiting: deque[Series] = deque()
        self._growing: dict[str, Series] = {}
        self._lock = threading.Lock()
        self.dropped = 0
        """Events that were never written."""

    def record(self, event: Happened) -> None:
        """Take note of what happened."""
        with self._lock:
            series, is_first = self._shelf.add(event, self._clock())
            if is_first and len(self._waiting) >= self._most_waiting:
                self.dropped += 1
            elif is_first:
                self._waiting.append(series)
            elif series.written:
                self._growing[series.name] = series

    async def run(self, idle_s: float = 0.25) -> None:
        """Write what was recorded, for ever; looks for more every `idle_s` seconds."""
        while True:
            await self.flush()
            await asyncio.sleep(max(idle_s, self._bucket.wait_s()))

    async def flush(self, *, everything: bool = False) -> None:
        """Write what is due and the limit allows.

        Args:
            everything: also series of which little time has passed since they were written,
                as at the end.
        """
        while series := self._next(everything):
            await self._write(series)

    def _next(self, everything: bool) -> Series | None:
        with self._lock:
            now_ms = self._clock()
            due = next(
                (s for s in self._growing.values() if everything or self._due(s, now_ms)), None
            )
            if not (self._waiting or due) or not self._bucket.take():
                return None
            series = self._waiting.popleft() if self._waiting else due
            if series is not None:
                self._growing.pop(series.name, None)
            return series

    def _due(self, series: Series, now_ms: int) -> bool:
        return now_ms - series.written_ms >= self._again_ms

    async def _write(self, series: Series) -> None:
        told = series.count
        try:
            await (self._grow(series) if series.written else self._create(series))
        except ApiError:
            with self._lock:
                self.dropped += told - series.written
        series.written, series.written_ms = told, self._clock()

    async def _create(self, series: Series) -> None:
        await self._api.create(series.path, series.whole(self._instance))

    async def _grow(self, series: Series) -> None:
        try:
            await self._api.patch(f"{series.path}/{series.name}", series.more(), Patch.MERGE)
        except Absent:  # the server forgets events after a while
            await self._create(series)
