"""Victims: what may be taken from running gangs, and by which rules."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, Protocol

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.store.store import Store
from ganglion.model.causes import CauseKind
from ganglion.model.placement import PodPlacement
from ganglion.model.reasons import Reason
from ganglion.model.workload import Gang

Grade = tuple[int, ...]
"""A class of victims; those of a smaller one are taken before those of a larger one."""


UnitKey = tuple[str, bool, PodPlacement | None]
"""Gang, whether it stops as a whole, and the first of the pods that leave."""


class VictimUnit(NamedTuple):
    """Pods of one gang that would leave together: a whole gang, or surplus of an elastic one.

    Attributes:
        record: the gang.
        pods: the pods that leave.
        whole: whether the gang stops.
        price: GPU time lost, in thousandths of GPUs x ms.
        cause: why it may be taken.
        grade: how it compares before its price does, smaller is taken first; empty = by the
            gang's priority.
    """

    record: GangRecord
    pods: tuple[PodPlacement, ...]
    whole: bool
    price: int
    cause: CauseKind
    grade: Grade = ()

    @property
    def key(self) -> UnitKey:
        """Its identity: each pod is in one unit only."""
        first = self.pods[0] if self.pods else None
        return (self.record.gang.id, self.whole, first)

    @property
    def is_there(self) -> bool:
        """Whether its pods count still: an earlier trade may have taken them."""
        record = self.record
        if record.phase not in SETTLED:
            return False
        return not record.leaving or not any(pod in record.leaving for pod in self.pods)

    @property
    def hurts(self) -> Grade:
        """The class of victims it belongs to."""
        return self.grade or (self.record.gang.priority,)

    @property
    def gpu_milli(self) -> int:
        """Thousandths of GPUs that it frees."""
        total = 0
        for pod in self.pods:
            total += len(pod.devices) * pod.milli
        return total


Useful = Callable[[VictimUnit], bool]
"""Whether a unit may help at all, as by lying in the domain that is looked at."""


def may_stop(state: Store, victim: GangRecord, favoured: Gang, now: int) -> bool:
    """Whether plugins let a gang be stopped for another; one that is set apart is left alone.

    What a plugin raises is about the victim: any other asker would meet it, too.
    """
    if victim.fault:
        return False
    vetoes, attended = state.config.plugins.preempts, state.journal.attended
    if not vetoes:
        return True
    state.journal.blame(victim.gang.id)
    allowed = all(each.may_stop(victim.gang, favoured, now) for each in vetoes)
    state.journal.blame(attended)
    return allowed


class VictimRules(Protocol):
    """Who may take from whom, and in which order."""

    def hopeless(self, state: Store, asker: GangRecord, now: int) -> Reason | None:
        """Why no gang may be stopped for this one, by arithmetic alone; None = perhaps."""

    def allows(
        self,
        state: Store,
        asker: GangRecord,
        unit: VictimUnit,
        now: int,
        gets: Collection[str] = (),
    ) -> bool:
        """Whether a unit may still be taken as usage stands now, just before it is.

        Args:
            state: the fleet and the queues.
            asker: the gang that it would be taken for.
            unit: what would be taken.
            now: the time in ms.
            gets: flavors that the asker's place uses, where that is known; empty = any.
        """

    def may_any(self, state: Store, asker: GangRecord, now: int) -> bool:
        """Whether `allows` may be true of any unit as usage stands, by what queues hold alone."""

    def top(self, state: Store, asker: GangRecord, queue: str, now: int) -> int:
        """The highest priority of what might be taken of a queue as usage stands."""

    def next_ripe(self, state: Store, asker: GangRecord, now: int) -> int | None:
        """When a gang has run long enough to be stopped for this one's share; None = unknown."""

    def victims(
        self, state: Store, asker: GangRecord, now: int, useful: Useful
    ) -> Iterator[VictimUnit]:
        """Units in the order in which they are to be taken.

        Between two of them the state changes: whatever was taken so far has left the tree and
        the usage of its queues (tentatively), so that rules which compare usage look anew.
        """
