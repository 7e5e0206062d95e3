"""What every queue deserves of each flavor, as capacity, quotas and requests stand."""

from ganglion.engine.division import Claim, divide_tree
from ganglion.engine.holdings import Holdings
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import Usage

NOTHING = Usage()


class Deserved:
    """Shares of all queues, divided when first asked for.

    Args:
        state: read when a flavor is first asked for.
    """

    def __init__(self, state: Holdings) -> None:
        self._state = state
        self._known: dict[str, dict[str, int]] = {}

    def milli(self, queue: str, flavor: str) -> int:
        """Thousandths of GPUs of a flavor (or `*`) that the queue deserves, quota included."""
        shares = self._known.get(flavor)
        if shares is None:
            shares = self._known[flavor] = self._divide(flavor)
        return shares[queue]

    def _divide(self, flavor: str) -> dict[str, int]:
        state = self._state
        requests = self._requests(flavor)
        claims = {}
        for name, queue in state.queues.items():
            quota, limit = queue.quota.get(flavor), queue.limit.get(flavor)
            claims[name] = Claim(
                quota.gpu_milli if quota else 0,
                limit.gpu_milli if limit else None,
                queue.over_quota_weight,
                queue.priority,
                requests[name],
            )
        parents = {name: queue.parent for name, queue in state.queues.items()}
        return divide_tree(self._capacity(flavor), claims, parents)

    def _capacity(self, flavor: str) -> int:
        used = (self._state.shares.usage[n] for n, q in self._state.queues.items() if not q.parent)
        in_use = sum(usage.get(flavor, NOTHING).gpu_milli for usage in used)
        return in_use + self._state.totals.free_gpu(flavor)

    def _requests(self, flavor: str) -> dict[str, int]:
        """What each queue uses and waits for, bounded by the limits of the queues below it."""
        state = self._state
        own = {
            name: state.shares.usage[name].get(flavor, NOTHING).gpu_milli
            for name in state.queues
            if state.shares.is_leaf(name)
        }
        for name, by_types in state.lanes.demand.items():
            if name in own:
                own[name] += sum(
                    milli
                    for types, milli in by_types.items()
                    if flavor == ANY_FLAVOR or not types or flavor in types
                )
        total = dict.fromkeys(state.queues, 0)
        for name, milli in own.items():
            for above in state.shares.path(name):
                total[above] += milli
        return total
