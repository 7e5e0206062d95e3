"""How fast replicas may come and go."""

from collections.abc import Sequence

from ganglion.lifecycle.autoscaling.memory import ReplicaChange
from ganglion.model.behaviour import Pace

NO_LIMIT = 1 << 30
"""More replicas than any service has."""


def most(pace: Pace, changes: Sequence[ReplicaChange], now: int, replicas: int) -> int:
    """Most replicas there may be now.

    Args:
        pace: the larger of count and percent, within its time.
        changes: what was changed before, oldest first.
        now: the time, in ms.
        replicas: how many there are.
    """
    if not pace.per_ms:
        return NO_LIMIT
    before = _before(pace, changes, now, replicas)
    return max(replicas, before + _step(pace, before))


def fewest(pace: Pace, changes: Sequence[ReplicaChange], now: int, replicas: int) -> int:
    """Fewest replicas there may be now; arguments as of `most`."""
    if not pace.per_ms:
        return 0
    before = _before(pace, changes, now, replicas)
    return max(0, min(replicas, before - _step(pace, before)))


def _before(pace: Pace, changes: Sequence[ReplicaChange], now: int, replicas: int) -> int:
    return replicas - sum(each.by for each in changes if each.at > now - pace.per_ms)


def _step(pace: Pace, before: int) -> int:
    return max(pace.count, -(-before * pace.percent // 100))
