"""ClusterState: the one mutable thing, changed by events and nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

from ganglion.engine.state import events
from ganglion.engine.state.components import Components
from ganglion.engine.state.invariants import check
from ganglion.engine.state.rollback import Image, roll_back
from ganglion.engine.store import fleet_events, gang_events
from ganglion.model import events as ev
from ganglion.model.errors import GanglionError
from ganglion.model.events.access import PodAccess


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
        return self._change(event, _HANDLERS[type(event)], event)

    def take_over(self, event: ev.GangSubmitted, place: ev.GangPlaced) -> bool:
        """Take in a gang that has its place already; as both events, one after the other.

        It costs less, which matters where a whole cluster is taken over. Raises as `apply`.
        """
        return self._change(event, events.taken_over, event, place)

    def _change(self, event: ev.Event, handler: Callable[..., bool], *given: ev.Event) -> bool:
        self.clock = max(self.clock, event.at)
        before = Image(self, event)
        try:
            changed = handler(self, *given)
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
    ev.NodeAdded: events.node_added,
    ev.NodeLost: fleet_events.node_lost,
    ev.NodeCordoned: fleet_events.node_cordoned,
    ev.DeviceHealth: fleet_events.device_health,
    ev.QueueSet: fleet_events.queue_set,
    ev.QueueRemoved: fleet_events.queue_removed,
    ev.TypicalPods: fleet_events.typical,
    ev.PolicySet: events.policy_set,
    ev.GangSubmitted: events.submitted,
    ev.GangUpdated: events.updated,
    ev.GangPlaced: events.placed,
    ev.GangStarted: gang_events.started,
    ev.GangStopping: gang_events.stopping,
    ev.GangEnded: events.ended,
    ev.GangReserved: events.reserved,
    ev.GangResized: gang_events.resized,
    ev.PodsLeft: gang_events.pods_left,
    ev.CheckpointCommitted: gang_events.committed,
    ev.PlaceKept: events.kept,
    ev.StartPlanned: events.start_planned,
    ev.StartExpected: events.start_expected,
    ev.GangSetApart: events.set_apart,
    ev.BookingSet: events.booking_set,
    ev.BookingRemoved: events.booking_removed,
    ev.MetricReported: fleet_events.of_no_concern,
    ev.ServiceScaled: fleet_events.of_no_concern,
    ev.ServiceLearnt: fleet_events.of_no_concern,
    ev.IdleWarned: fleet_events.of_no_concern,
    ev.AlarmSet: fleet_events.of_no_concern,
    ev.LedgerCut: fleet_events.of_no_concern,
    ev.ScheduleSet: fleet_events.of_no_concern,
    ev.ScheduleRemoved: fleet_events.of_no_concern,
    ev.ScheduleFired: fleet_events.of_no_concern,
    PodAccess: fleet_events.of_no_concern,
}
