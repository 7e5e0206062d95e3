"""What the past use of a queue does to it: to what it deserves, and to its place in the order."""

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

    def of(self, name: str) -> PastStanding | None:
        """What the past does to a queue; None = the policy remembers none."""
        state, past = self._state, self._state.queues.past
        if not past.half_life_ms:
            return None
        tree = state.queues.shares.tree
        beside = tree.children[tree.queues[name].parent]
        means = {each: past.mean(each, self._now) for each in beside}
        weights = {each: tree.queues[each].over_quota_weight for each in beside}
        return PastStanding(
            means[name],
            _part(means[name], sum(means.values())),
            _part(weights[name], sum(weights.values())),
            state.deserved.milli(name),
            self._plain.milli(name),
            self._place(self._with, name, beside) if self._ordered else 0,
            self._place(self._without, name, beside) if self._ordered else 0,
            len(beside),
        )

    def _place(self, standing: ShareStanding, name: str, beside: list[str]) -> int:
        own = standing.share(name)
        return 1 + sum(standing.share(each) < own for each in beside)


def _part(of_one: int, of_all: int) -> int:
    return of_one * WHOLE // of_all if of_all else 0
