"""What gangs may still cost at most, by the prices that are known."""

from collections.abc import Mapping
from typing import NamedTuple

from ganglion.engine.gangs.record import HOLDING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE


class CostAhead(NamedTuple):
    """What may still be spent.

    Attributes:
        exact: at most, in thousandths of GPUs times ms times millionths for a GPU-hour.
        unknown: why there is no such figure; empty = there is one.
    """

    exact: int = 0
    unknown: str = ""


NO_LIMIT = CostAhead(unknown="it has no time limit")
NO_NODE = CostAhead(unknown="no node may take it")


class CostsAhead:
    """Says what gangs may still cost: the attempt that runs, or the next one, to its time limit.

    Args:
        state: the fleet, and the prices.
        now: the time in ms.
    """

    def __init__(self, state: ClusterState, now: int) -> None:
        self._state, self._now = state, now
        self._highest: dict[tuple[str, str], int | None] = {}

    def of(self, record: GangRecord) -> CostAhead:
        """What one gang may still cost; one that has ended costs nothing more."""
        limit = record.gang.time_limit_ms
        if record.phase is Phase.ENDED or not any(
            each.request.gpu.count for each in record.gang.pod_sets
        ):
            return CostAhead()
        if record.phase in HOLDING and record.placement is not None:
            end = (record.started or record.placed_at) + limit
            left = max(end - self._now, 0) if limit else None
            return self._at(record, record.placement, left)
        if record.promise is not None:
            return self._at(record, record.promise, limit or None)
        return self._anywhere(record, limit or None)

    def _at(self, record: GangRecord, placement: Placement, left_ms: int | None) -> CostAhead:
        """At a place, for so long; None = without an end."""
        total, holdings = 0, self._state.holdings
        used = holdings.usage_of(record, placement).items()
        for (flavor, _), milli in holdings.costs.rates(record, placement, used):
            price = self._price(flavor, record)
            if price is None:
                return CostAhead(unknown=f"{flavor} has no price")
            total += milli * price
        return NO_LIMIT if left_ms is None else CostAhead(total * left_ms)

    def _anywhere(self, record: GangRecord, left_ms: int | None) -> CostAhead:
        """At the dearest place that it may get; a share given in memory is at most the GPU."""
        total = 0
        for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True):
            if not each.request.gpu.count:
                continue
            usable = self._state.fleet.totals.flavors_for((shape,))
            if not usable:
                return NO_NODE
            prices = dict[str, int]()
            for flavor in usable:
                price = self._price(flavor, record)
                if price is None:
                    return CostAhead(unknown=f"{flavor} has no price")
                prices[flavor] = price
            total += each.count * each.request.gpu.count * self._dearest(shape, prices)
        return NO_LIMIT if left_ms is None else CostAhead(total * left_ms)

    def _dearest(self, shape: Shape, prices: Mapping[str, int]) -> int:
        """What a pod pays at most for one ms of each of its devices."""
        gpu = shape.request.gpu
        whole = max(prices.values()) * (WHOLE if gpu.share_mib else gpu.milli)
        parts = self._state.fleet.parts
        if not parts.are_there():
            return whole
        held = parts.of(shape).items()
        return max(
            (prices[name] * most for name, (_, most) in held if name in prices), default=whole
        )

    def _price(self, flavor: str, record: GangRecord) -> int | None:
        key = flavor, record.gang.kind.value
        if key not in self._highest:
            prices = self._state.queues.budgets.prices
            self._highest[key] = prices.highest(self._now, *key)
        return self._highest[key]
