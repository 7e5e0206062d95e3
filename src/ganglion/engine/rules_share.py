"""Who may take from whom where queues are compared by share, as we do it and as KAI does.

Preempt: within a queue, from gangs of lower priority. Reclaim: across queues, when the asking
queue stays within its share and the other one, at the level where the two part, is above its
own; or when the asker stays within its quota there and the other is above its quota.

Source: the semantics of KAI-Scheduler's reclaim and preempt actions, as documented there.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ganglion.engine.entitled import KINDS, Entitled
from ganglion.engine.holdings import Holdings
from ganglion.engine.quota import asked
from ganglion.engine.record import SETTLED, GangRecord
from ganglion.engine.units import units_of
from ganglion.engine.victims import Cause, Unit, Useful
from ganglion.model.placement import PodPlacement
from ganglion.model.policy import Entitlement, VictimOrder
from ganglion.model.queue import Victims
from ganglion.model.reasons import Reason, Token
from ganglion.model.resources import decimal

Key = tuple[int, ...]
"""Smaller is taken first."""


class ShareRules:
    """Rules for the entitlements `share` and `kai`."""

    def hopeless(self, state: Holdings, asker: GangRecord, now: int) -> Reason | None:
        """Why nobody may be stopped for this gang, by arithmetic alone; None = perhaps."""
        search = _Search(state, asker, now)
        if search.waits:
            return Reason(Token.POLICY, "it may not have others stopped yet")
        wanted = search.more.gpu_milli
        free = sum(state.totals.free_gpu(flavor) for flavor in search.flavors)
        takeable = sum(unit.gpu_milli for unit in search.bound())
        if takeable and free + takeable >= wanted:
            return None
        return Reason(
            Token.QUOTA,
            f"it needs {decimal(wanted)} GPUs; {decimal(free)} are free and gangs that may be"
            f" stopped for it hold {decimal(takeable)}",
            evidence={"asked_milli": wanted, "free_milli": free, "takeable_milli": takeable},
        )

    def allows(self, state: Holdings, asker: GangRecord, unit: Unit, now: int) -> bool:
        """Whether a unit may still be taken as usage stands now; see `Rules`."""
        search = _Search(state, asker, now)
        queue = unit.record.gang.queue
        return search.may_take(_Pool(queue, *search.branches(queue), [unit]))

    def victims(
        self, state: Holdings, asker: GangRecord, now: int, useful: Useful
    ) -> Iterator[Unit]:
        """Units in the order in which they are to be taken; see `Rules`."""
        search = _Search(state, asker, now)
        if search.waits:
            return
        pools = search.pools(useful)
        while pools:
            open_pools = [pool for pool in pools if search.may_take(pool)]
            if not open_pools:
                return
            pool = min(open_pools, key=search.key)
            yield pool.units.pop()
            pools = [each for each in pools if each.units]


class _Pool(NamedTuple):
    """Units of one queue, the one to be taken first last.

    Attributes:
        queue: their queue.
        mine: branch of the asker at the level where the two part; empty = the same queue.
        theirs: branch of the units there.
        units: the units.
    """

    queue: str
    mine: str
    theirs: str
    units: list[Unit]


class _Search:
    """One asker's look at who runs."""

    def __init__(self, state: Holdings, asker: GangRecord, now: int) -> None:
        policy, gang = state.policy, asker.gang
        self.state, self.asker, self.now = state, asker, now
        self.rights = state.queues[gang.queue].preemption or policy.preemption
        self.entitled = Entitled(state, policy.evict.dead_zone_permille)
        self.flavors = state.totals.flavors_for(asker.shapes)
        self.more = asked(asker)
        self.kinds = [kind for kind in KINDS if getattr(self.more, kind)]
        self.waits = now - gang.submitted < self.rights.delay_ms
        self.like_kai = policy.entitlement is Entitlement.KAI
        self._age = {name: age for age, name in enumerate(state.queues)}

    def pools(self, useful: Useful) -> list[_Pool]:
        """Everything that might be taken, by queue."""
        pools: dict[str, _Pool] = {}
        for record in self.state.records.values():
            if not self._is_candidate(record):
                continue
            queue = record.gang.queue
            if queue not in pools:
                pools[queue] = _Pool(queue, *self.branches(queue), [])
            cause = Cause.RECLAIMED if pools[queue].mine else Cause.PREEMPTED
            whole = not self._is_protected(record)
            pools[queue].units.extend(units_of(record, cause, self._price, useful, whole=whole))
        for pool in pools.values():
            pool.units.sort(key=self._unit_key, reverse=True)
        return [pool for pool in pools.values() if pool.units]

    def bound(self) -> Iterator[Unit]:
        """Units that might be taken in the best case."""
        claim = any(map(self._is_entitled, self.flavors))
        for pool in self.pools(lambda unit: bool(unit.pods)):
            if claim or not pool.mine:
                yield from pool.units

    def may_take(self, pool: _Pool) -> bool:
        """Whether the next unit of a queue may be taken as things stand."""
        unit = pool.units[-1]
        if not pool.mine:
            return self._outranks(unit.record, self.rights.preempt)
        return any(self._may_reclaim(pool, unit, flavor) for flavor in self._flavors_of(unit))

    def key(self, pool: _Pool) -> Key:
        """Order among queues: others' first, then as the policy compares victims."""
        unit = pool.units[-1]
        own = 0 if pool.mine else 1
        if self.like_kai:
            return (own, *self._last_in_order(pool), *self._unit_key(unit))
        return (own, *self._unit_key(unit), -self._age[pool.queue])

    def _is_candidate(self, record: GangRecord) -> bool:
        gang = record.gang
        if record.phase not in SETTLED or not gang.preemptible or record is self.asker:
            return False
        if gang.queue == self.asker.gang.queue:
            return self._outranks(record, self.rights.preempt)
        return self._outranks(record, self.rights.reclaim) or self._outranks(
            record, self.rights.borrowing
        )

    def _is_protected(self, record: GangRecord) -> bool:
        settings = self.state.queues[record.gang.queue].preemption or self.state.policy.preemption
        return self.now - (record.started or record.placed_at) < settings.protected_ms

    def _outranks(self, record: GangRecord, rule: Victims) -> bool:
        asker, victim = self.asker.gang, record.gang
        if rule is Victims.ANY:
            return True
        if rule is Victims.NEVER or asker.priority < victim.priority:
            return False
        newer = rule is Victims.LOWER_OR_NEWER and victim.submitted > asker.submitted
        return asker.priority > victim.priority or newer

    def branches(self, queue: str) -> tuple[str, str]:
        """Where the paths of asker and victim part, seen from the top."""
        paths = self.state.shares.path(self.asker.gang.queue), self.state.shares.path(queue)
        for mine, theirs in zip(paths[0][::-1], paths[1][::-1], strict=False):
            if mine != theirs:
                return mine, theirs
        return "", ""

    def _may_reclaim(self, pool: _Pool, unit: Unit, flavor: str) -> bool:
        ours, record = self.entitled, unit.record
        if not self._is_entitled(flavor):
            return False
        borrows = not ours.within_quota(self.asker.gang.queue, flavor, self.more)
        if not self._outranks(record, self.rights.borrowing if borrows else self.rights.reclaim):
            return False
        threshold = self.rights.threshold
        if borrows and threshold is not None and record.gang.priority > threshold:
            return False
        kinds = [kind for kind in self.kinds if _frees(unit, kind)]
        if ours.within_quota(pool.mine, flavor, self.more) and ours.over_quota(
            pool.theirs, flavor, kinds
        ):
            return True
        return ours.within_share(pool.mine, flavor, self.more) and ours.over_share(
            pool.theirs, flavor, kinds
        )

    def _is_entitled(self, flavor: str) -> bool:
        """Whether the asker's own queue deserves that much."""
        return self.entitled.within_share(self.asker.gang.queue, flavor, self.more)

    def _flavors_of(self, unit: Unit) -> list[str]:
        tree = self.state.tree
        found = {tree.flavors[tree.index[pod.node]] for pod in unit.pods}
        return [flavor for flavor in self.flavors if flavor in found]

    def _last_in_order(self, pool: _Pool) -> Key:
        """KAI's order of queues, turned round, from the level where the branches part down."""
        path = self.state.shares.path(pool.queue)[::-1]
        return tuple(part for name in path for part in self._queue_key(name))

    def _queue_key(self, name: str) -> Key:
        ours = self.entitled
        flavors = self.flavors
        over_share = any(ours.over_share(name, flavor, KINDS) for flavor in flavors)
        over_quota = any(ours.over_quota(name, flavor, KINDS) for flavor in flavors)
        used, share = self._of_share(name)
        zero = used > 0 and share == 0
        part = used * 1_000_000 // max(share, 1)
        priority = self.state.queues[name].priority
        return (-over_share, -over_quota, priority, -zero, -part, -self._age[name])

    def _of_share(self, name: str) -> tuple[int, int]:
        accounts = dict.fromkeys(a for f in self.flavors for a in self.entitled.accounts(f))
        used = sum(self.entitled.used(name, account, "gpu_milli") for account in accounts)
        share = sum(self.entitled.share(name, account, "gpu_milli") or 0 for account in accounts)
        return used, share

    def _unit_key(self, unit: Unit) -> Key:
        gang = unit.record.gang
        order = self.state.policy.evict.victims
        youth = (-gang.submitted, -unit.record.placed_at)
        if order is VictimOrder.PRICE_FIRST:
            return (unit.price, gang.priority, unit.whole, *youth)
        if order is VictimOrder.NEWEST:
            return (gang.priority, unit.whole, *youth)
        return (gang.priority, unit.whole, unit.price, *youth)

    def _price(self, record: GangRecord, pods: tuple[PodPlacement, ...], whole: bool) -> int:
        gpus = sum(len(pod.devices) * pod.milli for pod in pods)
        since = max(record.committed_at, record.started, record.placed_at)
        lost = self.now - since if whole else 0
        return gpus * (lost + self.state.policy.evict.restart_ms)


def _frees(unit: Unit, kind: str) -> bool:
    if kind == "gpu_milli":
        return unit.gpu_milli > 0
    return any(getattr(each.request, kind) for each in unit.record.gang.pod_sets)
