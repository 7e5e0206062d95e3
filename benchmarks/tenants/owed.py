"""Whether queues get what they are owed: watched cycle by cycle."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import Event, GangEnded, GangSubmitted
from ganglion.model.plan import Plan
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import gpu_milli
from ganglion.worlds.simulated.metrics.records import quantile


def jain(values: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all are equal, 1/n when one has everything."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


class _Watched:
    """One queue: what it is owed, holds and wants, and since when it is short."""

    def __init__(self, quota: int) -> None:
        self.quota = quota
        self.held = self.wanted = 0
        self.waiting: Counter[int] = Counter()
        self.short_since = -1
        self.short: list[int] = []
        self.got = self.due = 0

    def pass_time(self, ms: int) -> None:
        """Count what it had of what was its due."""
        due = min(self.quota, self.wanted)
        self.due += due * ms
        self.got += min(self.held, due) * ms

    def look(self, now: int) -> None:
        """Short: something waits that fits beside what it holds within its quota."""
        least = min(self.waiting, default=None)
        short = least is not None and self.held + least <= self.quota
        if short and self.short_since < 0:
            self.short_since = now
        elif not short and self.short_since >= 0:
            self.short.append(now - self.short_since)
            self.short_since = -1


class Owed:
    """Watches queues.

    Args:
        quotas: GPUs that each queue is guaranteed, by name.
    """

    def __init__(self, quotas: Mapping[str, int]) -> None:
        self._queues = {name: _Watched(quota) for name, quota in quotas.items()}
        self._gangs: dict[str, Gang] = {}
        self._now = 0

    def look(self, _: ClusterState, events: Sequence[Event], plan: Plan) -> None:
        """Take in one cycle; a `Look` of `drive`."""
        for watched in self._queues.values():
            watched.pass_time(plan.at - self._now)
        self._now = plan.at
        for event in events:
            self._happened(event)
        for stop in plan.stops:
            self._holds(self._gangs[stop.gang], -1)
        for start in plan.starts:
            self._holds(start.gang, 1)
        for watched in self._queues.values():
            watched.look(plan.at)

    def _happened(self, event: Event) -> None:
        if isinstance(event, GangSubmitted):
            self._gangs[event.gang.id] = event.gang
            watched, gpus = self._of(event.gang)
            watched.wanted += gpus
            watched.waiting[gpus] += 1
        elif isinstance(event, GangEnded) and not event.requeue:
            gang = self._gangs.pop(event.gang)
            watched, gpus = self._of(gang)
            watched.wanted -= gpus
            watched.held -= gpus

    def _holds(self, gang: Gang, sign: int) -> None:
        watched, gpus = self._of(gang)
        watched.held += sign * gpus
        watched.waiting[gpus] -= sign
        if not watched.waiting[gpus]:
            del watched.waiting[gpus]

    def _of(self, gang: Gang) -> tuple[_Watched, int]:
        return self._queues[gang.queue], gpu_milli(gang) // 1000

    def figures(self) -> dict[str, Any]:
        """What came out.

        Keys: `jain_of_share_over_entitlement`: index over the queues of what each held, up to
        its entitlement, over its entitlement or its demand, whichever is less, over time;
        `share_over_entitlement`: that by queue; `shortages`: times during which a queue could
        have used its quota and did not have it; their `mean`, `p95` and longest length in s.
        """
        shares = {name: q.got / q.due if q.due else 1.0 for name, q in self._queues.items()}
        lengths = sorted(length for q in self._queues.values() for length in q.short)
        return {
            "jain_of_share_over_entitlement": jain(list(shares.values())),
            "share_over_entitlement": shares,
            "shortages": len(lengths),
            "time_to_reclaim_mean_s": fmean(lengths) / 1000 if lengths else 0.0,
            "time_to_reclaim_p95_s": quantile(lengths, 95) / 1000 if lengths else 0.0,
            "time_to_reclaim_max_s": lengths[-1] / 1000 if lengths else 0.0,
        }
