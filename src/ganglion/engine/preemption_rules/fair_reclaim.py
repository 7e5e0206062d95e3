"""Reclaim for fairness: who may take what no queue is guaranteed, and from whom.

A gang is *guaranteed* its place against another queue where, at the level where the two part, its
branch stays within its quota with it. Otherwise it may ask for its share: each of its queues
below that level may pass its share by no more than it lacks of it before, so that gangs of every
size reach the share on average. The victim's branch must use more than its share, and the
whole trade must bring use closer to the shares: the shortfall, summed over all queues of both
paths, has to become smaller. Starts never make it larger, so that for unchanged requests trades
end, and no gang is stopped if its own queue would be owed what it gives up.

Source: water filling for the shares; sums of squares that only fall are the usual proof that
transfers end (as for the fair-sharing strategies of Kueue, which compare one pair of queues).
"""

from collections.abc import Iterable, Mapping

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.lending import NOTHING
from ganglion.engine.store.entitlement import KINDS, Entitled
from ganglion.engine.store.queue_rules import rules_for
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import WHOLE, Usage

SCALE = 1 << 20
"""Precision of the shortfall."""

STEPS = 10
"""Parts of the least run time; a gang counts as too young up to the end of one."""

DOUBLINGS = 6
"""How often being stopped doubles the least run time of a gang."""


class Shortfall:
    """How far queues are below what they deserve.

    Args:
        state: the queues and what they use.
    """

    def __init__(self, state: Store) -> None:
        self._usage, self._deserved = state.queues.shares.usage, state.deserved

    def of(self, changes: Mapping[str, int], account: str) -> int:
        """The sum of (what a queue lacks)² / share over some queues.

        Args:
            changes: the queues, each with thousandths of GPUs to add to what it uses now.
            account: the account that is compared.
        """
        return sum(self._one(name, account, more) for name, more in changes.items())

    def _one(self, queue: str, account: str, more: int) -> int:
        share = self._deserved.milli(queue, account)
        short = share - self._usage[queue].get(account, NOTHING).gpu_milli - more
        return short * short * SCALE // max(share, WHOLE) if short > 0 else 0


class FairReclaim:
    """What one gang may reclaim where queues are compared by share.

    Args:
        state: the queues and what they use.
        entitled: use against quota and share.
        queue: the gang's queue.
        more: what it asks for.
        now: the time in ms.
    """

    def __init__(self, state: Store, entitled: Entitled, queue: str, more: Usage, now: int) -> None:
        self._state, self._entitled, self._more, self._now = state, entitled, more, now
        self._path = state.queues.shares.path(queue)
        self._shortfall = Shortfall(state)
        self._kinds = [kind for kind in KINDS if getattr(more, kind)]
        self._undisturbed: dict[str, int] = {}

    def is_guaranteed(self, mine: str, theirs: str, flavor: str, kinds: Iterable[str]) -> bool:
        """Whether quotas alone say that a branch yields.

        Args:
            mine: the gang's branch where its path parts from the victim's.
            theirs: the victim's branch.
            flavor: flavor of what is asked for.
            kinds: resources that are asked for and that the victim frees.
        """
        ours = self._entitled
        return (
            ours.within_quota(mine, flavor, self._more)
            and all(ours.within_share(name, flavor, self._more) for name in self._below(mine))
            and ours.over_quota(theirs, flavor, kinds)
        )

    def is_owed(self, mine: str, theirs: str, flavor: str) -> bool:
        """Whether the branch `mine` lacks what `theirs` uses beyond its share; see above."""
        owed = all(self.may_have(name, flavor) for name in (*self._below(mine), mine))
        return owed and self._entitled.over_share(theirs, flavor, ("gpu_milli",))

    def may_have(self, queue: str, flavor: str) -> bool:
        """Whether a queue passes its share with the gang by no more than it lacks without it.

        Of CPU and memory it stays within its quota.
        """
        ours = self._entitled
        for account in ours.accounts(flavor):
            for kind in self._kinds:
                bound, used = ours.share(queue, account, kind), ours.used(queue, account, kind)
                asked = getattr(self._more, kind)
                counted = -(-asked // 2) if kind == "gpu_milli" else asked
                if bound is not None and used + counted > bound:
                    return False
        return True

    def improves(self, unit: VictimUnit, flavor: str) -> bool:
        """Whether use comes closer to the shares with the gang in the place of a unit."""
        theirs = self._state.queues.shares.path(unit.record.gang.queue)
        before = after = 0
        for account in self._state.deserved.accounts(flavor):
            changes = dict.fromkeys(self._path, self._more.gpu_milli)
            freed = milli_of(self._state, unit, account)
            for name in theirs:
                changes[name] = changes.get(name, 0) - freed
            before += self._shortfall.of(dict.fromkeys(changes, 0), account)
            after += self._shortfall.of(changes, account)
        return after < before

    def is_unripe(self, record: GangRecord) -> bool:
        """Whether it has run for too short a time to be stopped for a share."""
        return self._now < self._ripe_at(record)

    def next_ripe(self, records: Iterable[GangRecord]) -> int | None:
        """When the first of the gangs that are too young is no longer; None = none is.

        Late by up to a tenth of that time, so that a backlog is not looked at for every gang.
        """
        found = ((self._ripe_at(each), self._least(each)) for each in records)
        ripe = (at + -at % max(least // STEPS, 1) for at, least in found if at > self._now)
        return min(ripe, default=None)

    def _ripe_at(self, record: GangRecord) -> int:
        return (record.started or record.placed_at) + self._least(record)

    def _least(self, record: GangRecord) -> int:
        """How long it runs undisturbed: twice as long after every stop for others.

        Work without checkpoints gets done that way, too, whatever its queue holds.
        """
        least = self._undisturbed.get(record.gang.queue)
        if least is None:
            least = rules_for(self._state, record.gang.queue).share_after_ms
            self._undisturbed[record.gang.queue] = least
        return least << min(record.preempted, DOUBLINGS)

    def _below(self, mine: str) -> tuple[str, ...]:
        """The gang's queues below a branch."""
        return self._path[: self._path.index(mine)]


def milli_of(state: Store, unit: VictimUnit, account: str) -> int:
    """Thousandths of GPUs that a unit frees in an account."""
    if account == ANY_FLAVOR:
        return unit.gpu_milli
    tree = state.fleet.tree
    return sum(
        len(pod.devices) * pod.milli
        for pod in unit.pods
        if tree.flavors[tree.index[pod.node]] == account
    )
