"""ClusterState: the one mutable thing, changed by events and nothing else."""

from collections.abc import Callable, Mapping
from typing import Any

from ganglion.engine.forecast.forecast import Forecast
from ganglion.engine.plugins.config import EngineConfig
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.queues.fair_share import Deserved
from ganglion.engine.queues.queues import Queues
from ganglion.engine.state import events
from ganglion.engine.state.agenda import Agenda
from ganglion.engine.state.invariants import check
from ganglion.engine.state.rollback import Image, roll_back
from ganglion.engine.store import fleet_events, gang_events
from ganglion.engine.store.gangs import Gangs
from ganglion.engine.store.holdings import Holdings
from ganglion.engine.store.journal import Journal
from ganglion.engine.timeline.timeline import Timeline
from ganglion.engine.topology.fleet import EngineProgress, NodeFleet
from ganglion.model import events as ev
from ganglion.model.errors import GanglionError
from ganglion.model.events.access import PodAccess
from ganglion.model.events.policy import ClusterMoney
from ganglion.model.policy import Policy


class ClusterState:
    """Nodes, queues and gangs as the events so far have made them, and what is expected of them.

    Each component has one invariant, which its docstring gives and its `check` verifies.

    Args:
        policy: in force from the beginning.
        plugins: those of the policy; by default the built-in ones that it names.

    Attributes:
        config: the policy in force, and plugins.
        progress: the time, and what has changed.
        journal: what is being decided.
        fleet: the nodes.
        queues: the queues with their use.
        gangs: records, and where those that wait do so.
        holdings: what is held, promised and left.
        deserved: what every queue is entitled to as of the last cycle.
        timeline: what is spoken for, kept and reserved.
        forecast: what is expected of the work that waits and runs.
        agenda: what one cycle leaves to the next.
    """

    def __init__(self, policy: Policy | None = None, plugins: Plugins | None = None) -> None:
        self.config = EngineConfig(policy, plugins)
        self.progress = EngineProgress()
        self.journal = Journal()
        self.fleet = NodeFleet(self.config.plugins, self.progress)
        self.queues = Queues(self.config.policy.usage.half_life_ms)
        self.gangs = Gangs(self.config, self.progress, self.queues)
        self.holdings = Holdings(self.fleet, self.queues, self.gangs, self.progress)
        self.deserved = Deserved(self, self.queues.past)
        self.timeline = Timeline(self)
        self.forecast = Forecast(self)
        self.agenda = Agenda()

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
        progress = self.progress
        progress.clock = max(progress.clock, event.at)
        before = Image(self, event)
        try:
            changed = handler(self, *given)
        except Exception as error:
            # What was refused was mostly refused before anything changed.
            if not isinstance(error, GanglionError) or not before.holds():
                roll_back(self, [before])
            raise
        self.journal.applied(before)
        return changed

    def rebuild(self) -> None:
        """Make everything anew that follows from nodes, queues, records and reservations."""
        self.fleet.rebuild()
        self.queues.rebuild()
        lanes = self.gangs.rebuild()
        self.holdings.rebuild()
        self.gangs.lanes.remember(lanes)
        self.timeline.rebuild()

    def again(self, now: int) -> None:
        """What the time alone does to the state at the beginning of a cycle, in a replay."""
        self.fleet.settle()
        self.progress.changed(self.queues.budgets.renew(now))
        self.gangs.wake(now)
        self.gangs.sharers.refresh(now)

    def hear_money(self, heard: ClusterMoney, now: int, *, again: bool = False) -> None:
        """Go by prices and budgets as a server says, between two cycles, from a time in ms on.

        Args:
            heard: what it says.
            now: the time in ms.
            again: whether that was heard before: only queues that have no budget yet get theirs.
        """
        fleet_events.money_heard(self, heard, now, again=again)

    def next_wake(self) -> int | None:
        """When the time alone makes a difference next, in ms; None = never."""
        reserved = self.timeline.future.next_wake(self.progress.clock)
        budgets = self.queues.budgets.next_wake()
        times = (self.gangs.next_wake(), reserved, self.agenda.again_at, budgets)
        return min((each for each in times if each is not None), default=None)

    def validate(self) -> None:
        """Check the invariant of every component. Raises InvariantBroken."""
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
    ev.ImagesReported: fleet_events.of_no_concern,
    ev.MetricReported: fleet_events.of_no_concern,
    ev.ServiceScaled: fleet_events.of_no_concern,
    ev.ServiceLearnt: fleet_events.of_no_concern,
    ev.ModelUpdated: fleet_events.of_no_concern,
    ev.IdleWarned: fleet_events.of_no_concern,
    ev.AlarmSet: fleet_events.of_no_concern,
    ev.LedgerCut: fleet_events.of_no_concern,
    ev.ServerStarted: fleet_events.of_no_concern,
    ev.ScheduleSet: fleet_events.of_no_concern,
    ev.ScheduleRemoved: fleet_events.of_no_concern,
    ev.ScheduleFired: fleet_events.of_no_concern,
    PodAccess: fleet_events.of_no_concern,
    ev.RoleGranted: fleet_events.of_no_concern,
    ev.RoleRevoked: fleet_events.of_no_concern,
    ev.GlassBroken: fleet_events.of_no_concern,
    ev.GlassMended: fleet_events.of_no_concern,
    ev.TokenCreated: fleet_events.token_created,
    ev.TokenRevoked: fleet_events.of_no_concern,
    ev.AccessDenied: fleet_events.of_no_concern,
    ev.AccountJoined: fleet_events.of_no_concern,
    ev.SignedIn: fleet_events.of_no_concern,
    ev.SignedOut: fleet_events.of_no_concern,
    ev.HoldPlaced: fleet_events.of_no_concern,
    ev.HoldReleased: fleet_events.of_no_concern,
    ev.BootstrapMade: fleet_events.of_no_concern,
    ev.BootstrapUsed: fleet_events.of_no_concern,
    ev.UserAdded: fleet_events.of_no_concern,
    ev.UserGrouped: fleet_events.of_no_concern,
    ev.PasswordChanged: fleet_events.of_no_concern,
    ev.UserDisabled: fleet_events.of_no_concern,
    ev.UserEnabled: fleet_events.of_no_concern,
    ev.UserRemoved: fleet_events.of_no_concern,
    ev.UserErased: fleet_events.of_no_concern,
    ev.DeliveredEvent: fleet_events.of_no_concern,
    ev.PriceSet: fleet_events.price_set,
    ev.BudgetSet: fleet_events.budget_set,
    ev.BudgetRemoved: fleet_events.budget_removed,
    ev.BudgetRaised: fleet_events.budget_raised,
    ev.BudgetRequested: fleet_events.of_no_concern,
    ev.BudgetDenied: fleet_events.of_no_concern,
    ev.ReasonsChanged: fleet_events.of_no_concern,
}
