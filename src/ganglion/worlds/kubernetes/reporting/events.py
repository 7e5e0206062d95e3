"""Events (`events.k8s.io/v1`) about what the scheduler did, for `kubectl describe` and people.

Recording never waits and never fails: what cannot be written in time is dropped and counted,
because decisions matter more than their reports. Equal events become one that counts.
"""

import threading
from collections.abc import Callable

from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.instance import FIRST
from ganglion.worlds.kubernetes.names import FAILED_SCHEDULING, SCHEDULED
from ganglion.worlds.kubernetes.write_rules.bucket import Bucket
from ganglion.worlds.kubernetes.write_rules.series import EventSeries, Happened, Shelf
from ganglion.worlds.kubernetes.write_rules.times import Clock, steady
from ganglion.worlds.kubernetes.writes.calls import always

_ROUTINE = frozenset({SCHEDULED, FAILED_SCHEDULING})
"""Reasons of which there may be very many: they give way to all others."""
_MOST_SERIES = 4096
_HURRIED_PER_SECOND = 2
"""Most events written per second while more urgent writes are waiting."""
_ENDS_MS = 6 * 60_000
"""A series to which nothing was added for this long has ended."""


def never() -> bool:
    """Say that nothing is more urgent."""
    return False


class Recorder:
    """Writes events of one cluster. `record` may be called from any thread; `run` writes.

    Args:
        api: the cluster's.
        instance: of this process, as its pod's name.
        per_second: most writes per second in the long run.
        burst: most writes at once.
        most_waiting: series that may wait to be written; later ones are dropped.
        again_ms: least time between two writes of one series, in ms.
        clock: for the times in events, in ms; None = that of `api`.
        may: asked before every write; False = another scheduler has taken over.
        controller: which of several schedulers reports.

    Attributes:
        is_hurried: whether more urgent writes are waiting: few events are written meanwhile.
    """

    def __init__(
        self,
        api: Api,
        instance: str,
        *,
        per_second: int = 50,
        burst: int = 200,
        most_waiting: int = 2000,
        again_ms: int = 30_000,
        clock: Clock | None = None,
        may: Callable[[], bool] = always,
        controller: str = FIRST.controller,
    ) -> None:
        self._api, self._clock = api, clock or api.effects.clock.now_ms
        self._instance, self._controller = instance, controller
        self._most_waiting, self._again_ms = most_waiting, again_ms
        self._may = may
        limit = clock or steady(api.effects.clock)
        self._bucket = Bucket(per_second, burst, limit)
        self._hurried = Bucket(_HURRIED_PER_SECOND, 1, limit)
        self.is_hurried: Callable[[], bool] = never
        self._shelf = Shelf(_MOST_SERIES, _ENDS_MS)
        self._queued: dict[str, EventSeries] = {}
        self._lock = threading.Lock()
        self.dropped = 0
        """Events that were never written."""

    def record(self, event: Happened) -> None:
        """Record what happened."""
        with self._lock:
            series = self._shelf.add(event, self._clock())
            if series.name in self._queued:
                return
            # Those of which there may be many leave half of the line to all others.
            most = self._most_waiting // 2 if _is_routine(series) else self._most_waiting
            if len(self._queued) < most:
                self._queued[series.name] = series
            else:
                self.dropped += 1

    async def run(self, idle_s: float = 0.25) -> None:
        """Write what was recorded, until cancelled; looks for more every `idle_s` seconds."""
        while True:
            await self.flush()
            await self._api.effects.clock.pause(max(idle_s, self._bucket.wait_ms() / 1000))

    async def flush(self, *, everything: bool = False) -> None:
        """Write what is due and the limit allows.

        Args:
            everything: also series of which little time has passed since they were written,
                as at the end.
        """
        for series in self._ripe(everything=everything):
            if not self._may() or not self._takes():
                return
            with self._lock:
                self._queued.pop(series.name, None)
            await self._write(series)

    def _takes(self) -> bool:
        """Whether one more event may be written now."""
        return (not self.is_hurried() or self._hurried.take()) and self._bucket.take()

    def _ripe(self, *, everything: bool) -> list[EventSeries]:
        """Return the series to be written now: rare ones first, then in the order they began."""
        with self._lock:
            now_ms = self._clock()
            due = [s for s in self._queued.values() if everything or self._due(s, now_ms)]
        return sorted(due, key=_is_routine)

    def _due(self, series: EventSeries, now_ms: int) -> bool:
        return not series.written or now_ms - series.written_ms >= self._again_ms

    async def _write(self, series: EventSeries) -> None:
        told = series.count
        try:
            await (self._grow(series) if series.written else self._create(series))
        except EnvironmentFault:
            with self._lock:
                self.dropped += told - series.written
        series.written, series.written_ms = told, self._clock()

    async def _create(self, series: EventSeries) -> None:
        await self._api.create(series.path, series.whole(self._instance, self._controller))

    async def _grow(self, series: EventSeries) -> None:
        try:
            await self._api.patch(f"{series.path}/{series.name}", series.more(), Patch.MERGE)
        except Absent:  # the server forgets events after a while
            await self._create(series)


def _is_routine(series: EventSeries) -> bool:
    return series.first.reason in _ROUTINE
