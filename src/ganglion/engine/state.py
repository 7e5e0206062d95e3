"""ClusterState: the one mutable thing, changed by events and nothing else."""

from collections.abc import Callable
from typing import Any

from ganglion.engine import facts, life
from ganglion.engine.holdings import Holdings
from ganglion.engine.invariants import check
from ganglion.model import events as ev


class ClusterState(Holdings):
    """Nodes, queues and gangs as the events so far have made them."""

    def apply(self, event: ev.Event) -> bool:
        """Take one event in.

        Returns:
            False when it changes nothing: a duplicate, or news of an attempt that is over.

        Raises:
            NotFound: it names an unknown queue, node or gang.
            Conflict: it contradicts what is known, as a second gang of the same id.
        """
        self.clock = max(self.clock, event.at)
        return _HANDLERS[type(event)](self, event)

    def validate(self) -> None:
        """Check every invariant. Raises InvariantBroken."""
        check(self)


_HANDLERS: dict[type, Callable[[Holdings, Any], bool]] = {
    ev.NodeAdded: facts.node_added,
    ev.NodeLost: facts.node_lost,
    ev.NodeCordoned: facts.node_cordoned,
    ev.DeviceHealth: facts.device_health,
    ev.QueueSet: facts.queue_set,
    ev.QueueRemoved: facts.queue_removed,
    ev.TypicalPods: facts.typical,
    ev.PolicySet: facts.policy_set,
    ev.GangSubmitted: life.submitted,
    ev.GangUpdated: life.updated,
    ev.GangPlaced: life.placed,
    ev.GangStarted: life.started,
    ev.GangStopping: life.stopping,
    ev.GangEnded: life.ended,
    ev.GangReserved: life.reserved,
    ev.GangResized: life.resized,
    ev.PodsLeft: life.pods_left,
    ev.CheckpointCommitted: life.committed,
}
