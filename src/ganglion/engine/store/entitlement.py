"""Who is entitled to what: use against quota and share, level by level of the queue tree."""

from collections.abc import Iterable

from ganglion.engine.store.store import Store
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import Usage

KINDS = ("gpu_milli", "cpu_milli", "memory_mib")
NOTHING = Usage()


class Entitled:
    """Compares what queues use now with what they deserve as of this cycle.

    GPUs are divided by quota and weight; of CPU and memory a queue is entitled to its quota,
    where it has one.

    Args:
        state: the fleet and the queues.
        dead_zone_permille: a queue counts as over only beyond this part of its entitlement.
    """

    def __init__(self, state: Store, dead_zone_permille: int = 0) -> None:
        self._shares = state.queues.shares
        self._deserved = state.deserved
        self._zone = dead_zone_permille
        self._accounts = {key for queue in state.queues.by_name.values() for key in queue.quota}
        self._of_flavor: dict[str, tuple[str, ...]] = {}

    def accounts(self, flavor: str) -> tuple[str, ...]:
        """The keys under which use of a flavor is compared."""
        found = self._of_flavor.get(flavor)
        if found is None:
            keys = tuple([key for key in (flavor, ANY_FLAVOR) if key in self._accounts])
            found = self._of_flavor[flavor] = keys or (ANY_FLAVOR,)
        return found

    def all_accounts(self) -> tuple[str, ...]:
        """All keys under which any use is compared."""
        return tuple(sorted(self._accounts)) or (ANY_FLAVOR,)

    def quota(self, queue: str, account: str, kind: str) -> int | None:
        """What the queue is guaranteed; None = it is not governed.

        A queue without quota is guaranteed no GPUs.
        """
        amount = self._shares.queues[queue].quota.get(account)
        if amount is None:
            return 0 if kind == "gpu_milli" else None
        bound: int | None = getattr(amount, kind)
        return bound

    def share(self, queue: str, account: str, kind: str) -> int | None:
        """What the queue deserves, its quota included; None = it is not governed."""
        quota = self.quota(queue, account, kind)
        if quota is None or kind != "gpu_milli":
            return quota
        return max(quota, self._deserved.milli(queue, account))

    def used(self, queue: str, account: str, kind: str) -> int:
        """What the queue uses now."""
        used: int = getattr(self._shares.usage[queue].get(account, NOTHING), kind)
        return used

    def of_share(self, queue: str, flavors: Iterable[str]) -> tuple[int, int]:
        """Thousandths of GPUs that the queue uses and deserves, quota apart."""
        accounts = dict.fromkeys(account for each in flavors for account in self.accounts(each))
        used = sum(self.used(queue, account, "gpu_milli") for account in accounts)
        return used, sum(self._deserved.milli(queue, account) for account in accounts)

    def within_quota(self, queue: str, flavor: str, more: Usage) -> bool:
        """Whether the queue stays within its quota with that much more."""
        return all(
            bound is None or self.used(queue, account, kind) + asked <= bound
            for account in self.accounts(flavor)
            for kind in KINDS
            if (asked := getattr(more, kind))
            for bound in (self.quota(queue, account, kind),)
        )

    def within_share(self, queue: str, flavor: str, more: Usage, relief: str = "") -> bool:
        """Whether the queue stays within what it deserves with that much more.

        Args:
            queue: the queue.
            flavor: flavor of what is added.
            more: what is added.
            relief: a leaf under the queue; what others beside it use beyond their own shares
                does not count, as it can be taken back.
        """
        return all(
            bound is None
            or self.used(queue, account, kind) + asked - self._excess(queue, account, kind, relief)
            <= bound
            for account in self.accounts(flavor)
            for kind in KINDS
            if (asked := getattr(more, kind))
            for bound in (self.share(queue, account, kind),)
        )

    def over_quota(self, queue: str, flavor: str, kinds: Iterable[str]) -> bool:
        """Whether the queue uses more than its quota of one of the kinds."""
        for account in self.accounts(flavor):
            for kind in kinds:
                bound = self.quota(queue, account, kind)
                if bound is not None and self.used(queue, account, kind) > self._with_zone(bound):
                    return True
        return False

    def over_share(self, queue: str, flavor: str, kinds: Iterable[str]) -> bool:
        """Whether the queue uses more than it deserves, and than its quota, of one of them."""
        for account in self.accounts(flavor):
            for kind in kinds:
                bound = self.share(queue, account, kind)
                if bound is not None and self.used(queue, account, kind) > self._with_zone(bound):
                    return True
        return False

    def _with_zone(self, bound: int) -> int:
        return bound + bound * self._zone // 1000

    def _excess(self, queue: str, account: str, kind: str, beside: str) -> int:
        if not beside or queue == beside:
            return 0
        leaves = (leaf for leaf in self._shares.tree.leaves(queue) if leaf != beside)
        found = ((leaf, self.share(leaf, account, kind)) for leaf in leaves)
        return sum(
            max(0, self.used(leaf, account, kind) - share)
            for leaf, share in found
            if share is not None
        )
