"""Gangs that start in a cycle, as victims that can be taken from the next cycle on."""

from collections.abc import Iterator, Sequence

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.plan import Start


class Fresh:
    """The gang of the lowest priority that started in each queue; one represents the others."""

    def __init__(self) -> None:
        self._lowest: dict[str, GangRecord] = {}
        self._noted = 0

    def units(self, state: ClusterState, starts: Sequence[Start]) -> Iterator[VictimUnit]:
        """The started gangs as units.

        Args:
            state: the fleet and the queues.
            starts: all starts of the cycle so far.
        """
        for start in starts[self._noted :]:
            gang = start.gang
            known = self._lowest.get(gang.queue)
            if gang.preemptible and (known is None or gang.priority < known.gang.priority):
                self._lowest[gang.queue] = state.gangs.records[gang.id]
        self._noted = len(starts)
        for record in self._lowest.values():
            if record.placement:
                yield VictimUnit(record, record.placement.pods, True, 0, CauseKind.PREEMPTED)
