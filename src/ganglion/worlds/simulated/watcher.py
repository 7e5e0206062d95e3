"""What can be seen of a simulated world while it runs: the truth, not the reports."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ganglion.model.events import Outcome
from ganglion.model.fleet.node import Node
from ganglion.model.placement import PodPlacement
from ganglion.worlds.causes import Trade
from ganglion.worlds.simulated.job import SimJob


class SimulatedEnd(Struct, frozen=True):
    """How an attempt really ended.

    Attributes:
        at: when, in ms.
        outcome: how.
        final: whether the job is over with it.
        lost_ms: time of the attempt, at the gang's full size, that has to be done again or was
            overhead.
        traded_ms: what of it is the price of preemption: work thrown away by it, the overhead of
            starts after it, and that of changes of size.
        trade: what it was stopped for; None = for no other gang.
    """

    at: int
    outcome: Outcome
    final: bool
    lost_ms: int
    traded_ms: int = 0
    trade: Trade | None = None


class Watcher(Protocol):
    """Notified of everything at the moment it happens; `at` in ms."""

    def submitted(self, job: SimJob, at: int) -> None:
        """A job was submitted."""

    def placed(self, job: SimJob, pods: Sequence[PodPlacement], at: int) -> None:
        """An attempt takes its resources."""

    def begun(self, job: SimJob, at: int) -> None:
        """The pods of an attempt run."""

    def resized(
        self, job: SimJob, gone: Sequence[PodPlacement], came: Sequence[PodPlacement], at: int
    ) -> None:
        """Pods of an attempt give their resources back, or take new ones."""

    def ended(self, job: SimJob, pods: Sequence[PodPlacement], end: SimulatedEnd) -> None:
        """An attempt gives its resources back."""

    def withdrawn(self, job: SimJob, at: int) -> None:
        """A job that could never start was taken back."""

    def node_up(self, node: Node, at: int) -> None:
        """A node joined or came back, with all devices usable."""

    def node_down(self, node: Node, at: int) -> None:
        """A node is gone; its attempts have been reported as ended before."""

    def device(self, node: Node, index: int, healthy: bool, at: int) -> None:
        """A device failed, after its attempts ended, or is usable again."""
