"""What can be seen of a simulated world while it runs: the truth, not the reports."""

from typing import Protocol

from msgspec import Struct

from ganglion.model.events import Outcome
from ganglion.model.node import Node
from ganglion.model.placement import Placement
from ganglion.worlds.simulated.job import SimJob


class End(Struct, frozen=True):
    """How an attempt really ended.

    Attributes:
        at: when, in ms.
        outcome: how.
        final: whether the job is over with it.
        lost_ms: time of the attempt that has to be done again or was overhead.
    """

    at: int
    outcome: Outcome
    final: bool
    lost_ms: int


class Watcher(Protocol):
    """Told of everything at the moment it happens; `at` in ms."""

    def submitted(self, job: SimJob, at: int) -> None:
        """A job was submitted."""

    def placed(self, job: SimJob, placement: Placement, at: int) -> None:
        """An attempt takes its resources."""

    def begun(self, job: SimJob, at: int) -> None:
        """The pods of an attempt run."""

    def ended(self, job: SimJob, placement: Placement, end: End) -> None:
        """An attempt gives its resources back."""

    def withdrawn(self, job: SimJob, at: int) -> None:
        """A job that could never start was taken back."""

    def node_up(self, node: Node, at: int) -> None:
        """A node joined or came back, with all devices usable."""

    def node_down(self, node: Node, at: int) -> None:
        """A node is gone; its attempts have been reported as ended before."""

    def device(self, node: Node, index: int, healthy: bool, at: int) -> None:
        """A device failed, after its attempts ended, or is usable again."""
