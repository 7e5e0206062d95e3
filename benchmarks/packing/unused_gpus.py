"""GPUs that no pod has while a pod waits: watched cycle by cycle."""

from collections.abc import Sequence
from typing import Any

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import Event, GangEnded, GangSubmitted
from ganglion.model.plan import Plan
from ganglion.worlds.simulated.job import gpu_milli


class Idle:
    """Watches a cluster.

    Args:
        milli: thousandths of GPUs that it has.
        begin, end: the time that counts, in ms.
    """

    def __init__(self, milli: int, begin: int, end: int) -> None:
        self._milli, self._begin, self._end = milli, begin, end
        self._now = self._held = self._free = self._waited = self._total = self._used = 0
        self._size: dict[str, int] = {}
        self._waiting: dict[str, None] = {}

    def look(self, _: ClusterState, events: Sequence[Event], plan: Plan) -> None:
        """Take in one cycle; a `Look` of `drive`."""
        self._pass_time(plan.at)
        for event in events:
            if isinstance(event, GangSubmitted):
                self._size[event.gang.id] = gpu_milli(event.gang)
                if self._size[event.gang.id]:
                    self._waiting[event.gang.id] = None
            elif isinstance(event, GangEnded) and not event.requeue:
                self._held -= self._size.pop(event.gang)
        for stop in plan.stops:
            self._held -= self._size[stop.gang]
            self._waiting[stop.gang] = None
        for start in plan.starts:
            self._held += self._size[start.gang.id]
            self._waiting.pop(start.gang.id, None)

    def _pass_time(self, now: int) -> None:
        span = min(now, self._end) - max(self._now, self._begin)
        if span > 0:
            self._total += span
            self._used += self._held * span
            if self._waiting:
                self._waited += span
                self._free += (self._milli - self._held) * span
        self._now = now

    def figures(self) -> dict[str, Any]:
        """What came out, in per cent.

        `unallocated_pct_while_waiting`: mean share of the GPUs that no pod had while
        a pod that wants GPUs waited; `waiting_pct`: part of the time in which one did;
        `allocated_pct`: mean share in use at all times.
        """
        return {
            "unallocated_pct_while_waiting": _pct(self._free, self._waited * self._milli),
            "waiting_pct": _pct(self._waited, self._total),
            "allocated_pct": _pct(self._used, self._total * self._milli),
        }


def _pct(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
