"""What gangs use at a place: as queues are charged for it, and as it is metered and costs money."""

from collections.abc import Iterable

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.budget_account import Rates, rates_in, rates_of
from ganglion.engine.queues.budgets import growing, promised
from ganglion.engine.queues.queues import Queues
from ganglion.engine.topology.fleet import EngineProgress, NodeFleet
from ganglion.engine.topology.tree import Tree
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.reasons import Reason
from ganglion.model.resources import Usage


class GangCosts:
    """Counts what gangs hold, are promised and would grow by against budgets.

    Args:
        fleet: the nodes, which say what parts of GPUs their devices are.
        queues: whose budgets they are.
        progress: its clock is the time.
    """

    def __init__(self, fleet: NodeFleet, queues: Queues, progress: EngineProgress) -> None:
        self._fleet, self._queues, self._progress = fleet, queues, progress

    def rates(
        self, record: GangRecord, placement: Placement, used: Iterable[tuple[str, Usage]]
    ) -> Rates:
        """What a gang pays for at a place where it uses that much: the same as is metered."""
        parts = self._fleet.parts
        if parts.are_there():
            return rates_in(record.gang.kind, parts.held(placement))
        return rates_of(record.gang.kind, used)

    def count(self, record: GangRecord) -> None:
        """Count what a gang holds, until it has left, or the nodes are forgotten that it leaves."""
        budgets, gang, place = self._queues.budgets, record.gang, record.placement
        if not budgets.accounts or place is None:
            return
        used: Iterable[tuple[str, Usage]] = record.charged
        if not used:
            tree = self._fleet.tree
            pods = tuple(pod for pod in place.pods if pod.node in tree.index)
            place = Placement(pods, place.level)
            used = usage_of(tree, record, place).items()
        rates = self.rates(record, place, used)
        path, end = self._queues.payers(gang), _end_of(record, gang.time_limit_ms)
        budgets.hold(gang.id, path, rates, end, self._progress.clock)

    def refuse_limit(self, records: Iterable[GangRecord], limit_ms: int, now: int) -> Reason | None:
        """Why gangs of one workload may not have another time limit; None = they may.

        Args:
            records: the gangs; those that wait are looked at when they start.
            limit_ms: the time limit; 0 = none.
            now: the time in ms.
        """
        holding = [each for each in records if each.placement is not None]
        if not holding:
            return None
        ends = {each.gang.id: _end_of(each, limit_ms) for each in holding}
        path = self._queues.payers(holding[0].gang)
        return self._queues.budgets.refuses_longer(path, ends, now)

    def count_growth(self, record: GangRecord, more: tuple[PodPlacement, ...]) -> None:
        """Count what a gang would grow by; nothing = it does not any more."""
        key = growing(record.gang.id)
        if record.placement and more and self._queues.budgets.accounts:
            wider = Placement(more, record.placement.level)
            used = usage_of(self._fleet.tree, record, wider)
            self._pledge(key, record, wider, used.items())
        else:
            self._queues.budgets.drop(key, self._progress.clock)

    def count_promise(self, record: GangRecord) -> None:
        """Count what a gang is promised, if it is."""
        if record.promise is not None and self._queues.budgets.accounts:
            self._pledge(promised(record.gang.id), record, record.promise, record.pledged)

    def _pledge(
        self,
        key: str,
        record: GangRecord,
        placement: Placement,
        used: Iterable[tuple[str, Usage]],
    ) -> None:
        gang, rates = record.gang, self.rates(record, placement, used)
        path, limit = self._queues.payers(gang), gang.time_limit_ms
        self._queues.budgets.promise(key, path, rates, limit, self._progress.clock)


def _end_of(record: GangRecord, limit_ms: int) -> int:
    """When a gang that holds a place ends at the latest, in ms; 0 = it has no time limit."""
    return (record.started or record.placed_at) + limit_ms if limit_ms else 0


def usage_of(tree: Tree, record: GangRecord, placement: Placement) -> dict[str, Usage]:
    """What a placement uses, by flavor, as the queue of its gang is charged for it."""
    requests = {s.name: s.request for s in record.gang.pod_sets}
    if len(placement.pods) == len(requests) == 1:
        (pod,), (request,) = placement.pods, requests.values()
        gpu, rank = len(pod.devices) * pod.milli, tree.index[pod.node]
        flavor = tree.flavors[rank]
        if flavor == tree.cpu_flavors[rank]:
            return {flavor: Usage(gpu, request.cpu_milli, request.memory_mib)}
    sums: dict[str, list[int]] = {}
    for pod in placement.pods:
        rank, request = tree.index[pod.node], requests[pod.pod_set]
        if pod.devices:
            total = sums.setdefault(tree.flavors[rank], [0, 0, 0])
            total[0] += len(pod.devices) * pod.milli
        if request.cpu_milli or request.memory_mib or not pod.devices:
            total = sums.setdefault(tree.cpu_flavors[rank], [0, 0, 0])
            total[1] += request.cpu_milli
            total[2] += request.memory_mib
    return {flavor: Usage(*total) for flavor, total in sums.items()}
