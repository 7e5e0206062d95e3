"""What every queue deserves of the fleet as things stand: its quota and its part of the rest.

A queue's request is what its gangs hold, what those that were asked to stop still hold, and
what waits. GPUs are divided separately in every account: a flavor in which some queue has a
quota, or `*` for all flavors together where no queue has quota by flavor.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from ganglion.engine.gangs.pending import Pending
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.plugins.config import EngineConfig
from ganglion.engine.queues.decayed_usage import PastUse
from ganglion.engine.queues.lending import NOTHING
from ganglion.engine.queues.queues import Queues
from ganglion.engine.queues.water_filling import PARTS, DivisionClaim, divide_tree
from ganglion.engine.topology.fleet import NodeFleet
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount

Bounds = tuple[tuple[str, int], ...]
"""Pairs of (account, thousandths of GPUs)."""


class WaitingGangs(Protocol):
    """What is read of the gangs."""

    lanes: Pending
    records: dict[str, GangRecord]


class Leaving(Protocol):
    """What is read of the holdings."""

    leaving: dict[str, dict[str, None]]


class Scene(Protocol):
    """What the division reads of the state."""

    config: EngineConfig
    fleet: NodeFleet
    queues: Queues

    @property
    def gangs(self) -> WaitingGangs:
        """All gangs, and what waits."""

    @property
    def holdings(self) -> Leaving:
        """Which gangs leave which node."""


class Deserved:
    """Entitlements, worked out when they are first asked for and kept until `refresh`.

    Starting what waits changes no request, so within a cycle they stay as they are.

    Args:
        scene: the state.
        past: decayed use, for policies that correct weights by it.
    """

    def __init__(self, scene: Scene, past: PastUse | None = None) -> None:
        self._scene, self._past = scene, past
        self._now = 0
        self._shares: dict[str, dict[str, int]] = {}
        self._bounds: dict[tuple[str, str], Bounds] = {}
        self._capacity: dict[str, int] = {}

    @property
    def governed(self) -> bool:
        """Whether any queue has a quota of GPUs."""
        return bool(self._scene.queues.shares.tree.accounts)

    @property
    def divided(self) -> bool:
        """Whether there is more than one queue to divide among."""
        return len(self._scene.queues.shares.queues) > 1

    def refresh(self, now: int) -> None:
        """A cycle begins: what is deserved is worked out anew when it is next asked for."""
        self._now = now
        self._shares, self._bounds, self._capacity = {}, {}, {}

    def milli(self, queue: str, flavor: str = ANY_FLAVOR) -> int:
        """What a queue deserves of a flavor, in thousandths of GPUs. At most its request."""
        account = self._account(flavor)
        if account:
            return self._divided(account).get(queue, 0)
        return sum(self._divided(each).get(queue, 0) for each in self._flavors())

    def bound(self, queue: str, flavor: str = ANY_FLAVOR) -> int:
        """The same, but at least its quota: what it uses within this is safe from reclaim."""
        quota = self._quota(self._scene.queues.shares.queues[queue], flavor)
        return max(quota, self.milli(queue, flavor))

    def bounds(self, queue: str, flavor: str) -> Bounds:
        """What use of a flavor is compared with: (account, bound) for each account."""
        found = self._bounds.get((queue, flavor))
        if found is None:
            accounts = self.accounts(flavor)
            found = tuple((each, self.bound(queue, each)) for each in accounts)
            self._bounds[queue, flavor] = found
        return found

    def used(self, queue: str, flavor: str = ANY_FLAVOR) -> int:
        """What a queue uses of a flavor's account, in thousandths of GPUs."""
        account = self._account(flavor) or ANY_FLAVOR
        return self._scene.queues.shares.usage[queue].get(account, NOTHING).gpu_milli

    def is_over(self, queue: str, flavor: str = ANY_FLAVOR, extra_milli: int = 0) -> bool:
        """Whether a queue with `extra_milli` more of a flavor uses more than it deserves."""
        usage = self._scene.queues.shares.usage[queue]
        for account, bound in self.bounds(queue, flavor):
            if usage.get(account, NOTHING).gpu_milli + extra_milli > bound:
                return True
        return False

    def all_accounts(self) -> tuple[str, ...]:
        """All accounts in which some queue has a quota; `*` when none has any."""
        return self._scene.queues.shares.tree.accounts or (ANY_FLAVOR,)

    def capacity(self, account: str) -> int:
        """What there is to divide in an account, in thousandths of GPUs."""
        return self._capacities().get(account, 0)

    def accounts(self, flavor: str) -> tuple[str, ...]:
        """The accounts in which GPUs of a flavor count."""
        known = self._scene.queues.shares.tree.accounts
        if not known:
            return (ANY_FLAVOR,)
        whole = ANY_FLAVOR in known and flavor != ANY_FLAVOR
        own = flavor in known or ANY_FLAVOR not in known
        return (flavor,) * own + (ANY_FLAVOR,) * whole

    def _account(self, flavor: str) -> str:
        """The account that a flavor is divided in; empty = `*` is the sum of all flavors."""
        known = self._scene.queues.shares.tree.accounts
        if flavor in known:
            return flavor
        if not known or ANY_FLAVOR in known:
            return ANY_FLAVOR
        return "" if flavor == ANY_FLAVOR else flavor

    def _quota(self, queue: Queue, flavor: str) -> int:
        account = self._account(flavor)
        keys = (account,) if account else tuple(queue.quota)
        return sum(_milli(queue.quota, key) or 0 for key in keys)

    def _flavors(self) -> Iterable[str]:
        return [each for each in self._capacities() if each != ANY_FLAVOR]

    def _capacities(self) -> dict[str, int]:
        if not self._capacity:
            self._capacity = self._scene.fleet.totals.capacity()
        return self._capacity

    def _divided(self, account: str) -> dict[str, int]:
        found = self._shares.get(account)
        if found is None:
            found = self._shares[account] = self._divide(account)
        return found

    def _divide(self, account: str) -> dict[str, int]:
        tree, correction = self._scene.queues.shares.tree, self._correction()
        requests = self._requests(account)
        claims = {
            name: self._claim(tree.queues[name], account, requests[name])
            for name in sorted(requests, key=tree.order.__getitem__)
        }
        parents = {name: tree.queues[name].parent for name in claims}
        return divide_tree(self.capacity(account), claims, parents, correction)

    def _claim(self, queue: Queue, account: str, request: int) -> DivisionClaim:
        return DivisionClaim(
            _milli(queue.quota, account) or 0,
            _milli(queue.limit, account),
            queue.over_quota_weight,
            queue.priority,
            request,
            self._past_part(queue.name),
        )

    def _correction(self) -> int:
        usage = self._scene.config.policy.usage
        return usage.correction_permille if usage.half_life_ms and self._past else 0

    def _past_part(self, queue: str) -> int:
        if not self._past or not self._correction():
            return 0
        whole = max(1, self.capacity(ANY_FLAVOR))
        return min(PARTS, self._past.mean(queue, self._now) * PARTS // whole)

    def _requests(self, account: str) -> dict[str, int]:
        """What each queue with anything to ask for asks for, subtree included."""
        shares = self._scene.queues.shares
        sums: dict[str, int] = {}
        for leaf, users in shares.users.items():
            if users:
                used = shares.usage[leaf].get(account, NOTHING).gpu_milli
                sums[leaf] = sums.get(leaf, 0) + used
        for leaf, milli in self._waiting(account):
            sums[leaf] = sums.get(leaf, 0) + milli
        for leaf, milli in self._leaving(account):
            sums[leaf] = sums.get(leaf, 0) + milli
        requests: dict[str, int] = {}
        for leaf, milli in sums.items():
            if milli > 0:
                for name in shares.path(leaf):
                    requests[name] = requests.get(name, 0) + milli
        return requests

    def _waiting(self, account: str) -> Iterable[tuple[str, int]]:
        known: dict[tuple[str, ...], bool] = {}
        for leaf, by_types in self._scene.gangs.lanes.demand.items():
            for types, milli in by_types.items():
                if types not in known:
                    flavors = self._scene.fleet.totals.flavors_with(types)
                    known[types] = account == ANY_FLAVOR or account in flavors
                if milli and known[types]:
                    yield leaf, milli

    def _leaving(self, account: str) -> Iterable[tuple[str, int]]:
        gangs = dict.fromkeys(
            gang for each in self._scene.holdings.leaving.values() for gang in each
        )
        tree = self._scene.fleet.tree
        for gang in gangs:
            record = self._scene.gangs.records[gang]
            for pod in record.leaving:
                rank = tree.index.get(pod.node)
                if account == ANY_FLAVOR or (rank is not None and tree.flavors[rank] == account):
                    yield record.gang.queue, len(pod.devices) * pod.milli


def _milli(amounts: Mapping[str, Amount], account: str) -> int | None:
    amount = amounts.get(account)
    return amount.gpu_milli if amount else None
