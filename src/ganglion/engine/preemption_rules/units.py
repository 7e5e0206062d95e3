"""What running gangs can give: surplus pods one by one, then the gang as a whole."""

from collections.abc import Callable, Iterable, Iterator

from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import Grade, Useful, VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.placement import PodPlacement
from ganglion.model.workload import PodSet

Priced = Callable[[GangRecord, tuple[PodPlacement, ...], bool], int]
"""Price of pods of a gang; the flag says whether the whole gang stops."""


def units_of(
    record: GangRecord,
    cause: CauseKind,
    price: Priced,
    useful: Useful,
    *,
    whole: bool = True,
    grade: Grade = (),
) -> Iterator[VictimUnit]:
    """Units of one gang in the order in which they can be taken.

    Surplus pods leave from the pod set that has most of them, the last one first; where
    slices nest pods, a slice leaves together. The whole gang comes last and consists of the
    pods that are left then.

    Args:
        record: a gang with a placement.
        cause: why it may be taken.
        price: what taking it costs.
        useful: whether a unit may help at all.
        whole: whether the gang itself may be stopped, not only shrunk.
        grade: of its units, see `VictimUnit`.
    """
    assert record.placement
    left = record.placement.pods
    for pods in _surplus(record):
        unit = VictimUnit(record, pods, False, price(record, pods, False), cause, grade)
        if useful(unit):
            left = tuple([pod for pod in left if pod not in pods])
            yield unit
    if whole:
        unit = VictimUnit(record, left, True, price(record, left, True), cause, grade)
        if useful(unit):
            yield unit


def _surplus(record: GangRecord) -> Iterator[tuple[PodPlacement, ...]]:
    """Groups of pods above the least, the one that leaves first first."""
    assert record.placement
    sets, here = record.gang.pod_sets, record.placement.pods
    if len(sets) == 1 and len(here) <= sets[0].least:
        return
    groups = {
        each.name: _groups(each, [p for p in here if p.pod_set == each.name]) for each in sets
    }
    while any(groups.values()):
        # Of equals the last set gives first: sets are in order of importance.
        name = max(reversed(groups), key=lambda each: len(groups[each]))
        yield groups[name].pop()


def _groups(pod_set: PodSet, pods: list[PodPlacement]) -> list[tuple[PodPlacement, ...]]:
    size = pod_set.slices[0].size if pod_set.slices else 1
    return [tuple(pods[at : at + size]) for at in range(pod_set.least, len(pods) - size + 1, size)]


class Running:
    """Gangs that run and may be stopped, by queue, as they were when it was made."""

    def __init__(self, state: Store) -> None:
        self.by_queue: dict[str, list[GangRecord]] = {}
        for record in state.holdings.settled():
            if record.gang.preemptible:
                self.by_queue.setdefault(record.gang.queue, []).append(record)
        self._milli: dict[str, dict[int, int]] = {}
        self._ripe: dict[tuple[str, ...], int | None] = {}

    def reaches(self, queue: str, priority: int) -> bool:
        """Whether a gang of a queue has at most a priority."""
        return any(record.gang.priority <= priority for record in self.by_queue[queue])

    def milli(self, queue: str, priority: int) -> int:
        """Thousandths of GPUs of the gangs of a queue up to a priority."""
        by_priority = self._milli.get(queue)
        if by_priority is None:
            by_priority = self._milli[queue] = {}
            for record in self.by_queue.get(queue, ()):
                mine = record.gang.priority
                pods = record.placement.pods if record.placement else ()
                by_priority[mine] = by_priority.get(mine, 0) + preemption_cost.gpu_milli(pods)
        return sum(milli for each, milli in by_priority.items() if each <= priority)

    def first_ripe(
        self, queues: tuple[str, ...], first: Callable[[Iterable[GangRecord]], int | None]
    ) -> int | None:
        """What `first` says of the gangs of some queues; in one cycle every asker says the same."""
        if queues not in self._ripe:
            self._ripe[queues] = first(e for queue in queues for e in self.by_queue[queue])
        return self._ripe[queues]
