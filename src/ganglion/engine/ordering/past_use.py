"""What the past use of a queue does to it: to what it deserves, and to its place in the order."""

from bisect import bisect_left
from typing import NamedTuple

from ganglion.engine.ordering.ranking import ShareStanding
from ganglion.engine.queues.decayed_usage import PastUse
from ganglion.engine.queues.fair_share import Deserved
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.policy import Entitlement
from ganglion.model.resources import WHOLE


class PastStanding(NamedTuple):
    """One queue with its past, and as if it and all others had none.

    Attributes:
        mean_milli: the steady use, in thousandths of GPUs, that its past counts like.
        used_permille: its part of that of all queues beside it and its own, in thousandths.
        weight_permille: its part of their weights.
        deserved_milli: what it deserves, in thousandths of GPUs.
        deserved_without_milli: the same as if no queue had used anything.
        place: its place among them, from 1, by use in thousandths of what it deserves; 0 = the
            order does not look at past use of queues.
        place_without: the same as if no queue had used anything.
        beside: how many they are.
    """

    mean_milli: int
    used_permille: int
    weight_permille: int
    deserved_milli: int
    deserved_without_milli: int
    place: int
    place_without: int
    beside: int


class PastComparison:
    """Compares queues with and without their past; shares are divided once.

    Args:
        state: left as it is.
        now: the time in ms.
    """

    def __init__(self, state: ClusterState, now: int) -> None:
        self._state, self._now = state, max(now, state.progress.clock)
        past = state.queues.past
        self._plain = Deserved(state)
        self._plain.refresh(self._now)
        self._with = ShareStanding(state, state.deserved, past, self._now)
        self._without = ShareStanding(state, self._plain, PastUse(), self._now)
        by_share = state.config.policy.entitlement is Entitlement.SHARE
        self._ordered = by_share and self._with.remembers
        self._families: dict[str, _Family] = {}

    def of(self, name: str) -> PastStanding | None:
        """What the past does to a queue; None = the policy remembers none."""
        state, past = self._state, self._state.queues.past
        if not past.half_life_ms:
            return None
        queue = state.queues.by_name[name]
        beside = self._family(queue.parent)
        mean = past.mean(name, self._now)
        return PastStanding(
            mean,
            _part(mean, beside.past),
            _part(queue.over_quota_weight, beside.weight),
            state.deserved.milli(name),
            self._plain.milli(name),
            _place(self._with.share(name), beside.shares) if self._ordered else 0,
            _place(self._without.share(name), beside.shares_without) if self._ordered else 0,
            beside.size,
        )

    def _family(self, parent: str) -> "_Family":
        """All queues below one, summed up once."""
        found = self._families.get(parent)
        if found is None:
            tree, past = self._state.queues.shares.tree, self._state.queues.past
            names = tree.children[parent]
            found = self._families[parent] = _Family(
                len(names),
                sum(past.mean(each, self._now) for each in names),
                sum(tree.queues[each].over_quota_weight for each in names),
                sorted(map(self._with.share, names)) if self._ordered else [],
                sorted(map(self._without.share, names)) if self._ordered else [],
            )
        return found


class _Family(NamedTuple):
    """Queues below one: how many, their past use and weights in all, their shares in order."""

    size: int
    past: int
    weight: int
    shares: list[int]
    shares_without: list[int]


def _place(share: int, ordered: list[int]) -> int:
    return 1 + bisect_left(ordered, share)


def _part(of_one: int, of_all: int) -> int:
    return of_one * WHOLE // of_all if of_all else 0
