"""ClusterState: the one mutable thing, changed by events and nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

from ganglion.engine import ahead, facts, life
from ganglion.engine.components import Components
from ganglion.engine.invariants import check
from ganglion.engine.rollback import Image, roll_back
from ganglion.model import events as ev
from ganglion.model.errors import GanglionError
from ganglion.model.events_access import PodAccess


class ClusterState(Components):
    """Nodes, queues and gangs as the events so far have made them."""

    def apply(self, event: ev.Event) -> bool:
        """Take one event in.

        Returns:
            False when it changes nothing: a duplicate, or news of an attempt that is over.

        Whatever it raises, the state is as it was before.

        Raises:
            NotFound: it names an unknown queue, node or gang.
            Conflict: it contradicts what is known, as a second gang of the same id.
        """
        self.clock = max(self.clock, event.at)
        before = Image(self, event)
        try:
            changed = _HANDLERS[type(event)](self, event)
        except Exception as error:
            # What was refused was mostly refused before anything changed.
            if not isinstance(error, GanglionError) or not before.holds():
                roll_back(self, [before])
            raise
        if self.journal is not None:
            self.journal.append(before)
        return changed

    def validate(self) -> None:
        """Check every invariant. Raises InvariantBroken."""
        check(self)


_HANDLERS: Mapping[type, Callable[[ClusterState, Any], bool]] = {
    ev.NodeAdded: ahead.node_added,
    ev.NodeLost: facts.node_lost,
    ev.NodeCordoned: facts.node_cordoned,
    ev.DeviceHealth: facts.device_health,
    ev.QueueSet: facts.queue_set,
    ev.QueueRemoved: facts.queue_removed,
    ev.TypicalPods: facts.typical,
    ev.PolicySet: ahead.policy_set,
    ev.GangSubmitted: ahead.submitted,
    ev.GangUpdated: ahead.updated,
    ev.GangPlaced: ahead.placed,
    ev.GangStarted: life.started,
    ev.GangStopping: life.stopping,
    ev.GangEnded: ahead.ended,
    ev.GangReserved: ahead.reserved,
    ev.GangResized: life.resized,
    ev.PodsLeft: life.pods_left,
    ev.CheckpointCommitted: life.committed,
    ev.PlaceKept: ahead.kept,
    ev.StartPlanned: ahead.start_planned,
    ev.StartExpected: ahead.start_expected,
    ev.GangSetApart: ahead.set_apart,
    ev.BookingSet: ahead.booking_set,
    ev.BookingRemoved: ahead.booking_removed,
    ev.MetricReported: facts.of_no_concern,
    ev.ServiceScaled: facts.of_no_concern,
    ev.ServiceLearnt: facts.of_no_concern,
    ev.IdleWarned: facts.of_no_concern,
    ev.AlarmSet: facts.of_no_concern,
    ev.LedgerCut: facts.of_no_concern,
    ev.ScheduleSet: facts.of_no_concern,
    ev.ScheduleRemoved: facts.of_no_concern,
    ev.ScheduleFired: facts.of_no_concern,
    PodAccess: facts.of_no_concern,
}
