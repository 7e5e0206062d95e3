"""Everything that can happen. The engine's state changes by these and nothing else.

Facts come from worlds and users; decisions (`GangPlaced`, `GangStopping`) come from the
engine itself and are recorded like facts, so that replaying a ledger needs no thinking.
`at` is the time in milliseconds.
"""

from ganglion.model.events.access import PodAccess
from ganglion.model.events.event import Event, LedgerCut, ServerStarted
from ganglion.model.events.fleet import (
    BookingRemoved,
    BookingSet,
    DeviceHealth,
    NodeAdded,
    NodeCordoned,
    NodeLost,
    TypicalPods,
)
from ganglion.model.events.gangs import (
    CheckpointCommitted,
    GangEnded,
    GangPlaced,
    GangResized,
    GangSetApart,
    GangStarted,
    GangStopping,
    GangSubmitted,
    GangUpdated,
    Outcome,
    PodsLeft,
)
from ganglion.model.events.identity import (
    AccessDenied,
    AccountJoined,
    GlassBroken,
    GlassMended,
    HoldPlaced,
    HoldReleased,
    RoleGranted,
    RoleRevoked,
    SignedIn,
    SignedOut,
    TokenCreated,
    TokenRevoked,
)
from ganglion.model.events.money import BudgetRemoved, BudgetSet, PriceSet
from ganglion.model.events.policy import PolicySet, QueueRemoved, QueueSet
from ganglion.model.events.reports import AlarmSet, IdleWarned, MetricReported
from ganglion.model.events.reservations import GangReserved, PlaceKept, StartExpected, StartPlanned
from ganglion.model.events.schedules import ScheduleFired, ScheduleRemoved, ScheduleSet
from ganglion.model.events.services import ServiceLearnt, ServiceScaled

__all__ = [
    "AccessDenied",
    "AccountJoined",
    "AlarmSet",
    "BookingRemoved",
    "BookingSet",
    "BudgetRemoved",
    "BudgetSet",
    "CheckpointCommitted",
    "DeviceHealth",
    "Event",
    "GangEnded",
    "GangPlaced",
    "GangReserved",
    "GangResized",
    "GangSetApart",
    "GangStarted",
    "GangStopping",
    "GangSubmitted",
    "GangUpdated",
    "GlassBroken",
    "GlassMended",
    "HoldPlaced",
    "HoldReleased",
    "IdleWarned",
    "LedgerCut",
    "MetricReported",
    "NodeAdded",
    "NodeCordoned",
    "NodeLost",
    "Outcome",
    "PlaceKept",
    "PodAccess",
    "PodsLeft",
    "PolicySet",
    "PriceSet",
    "QueueRemoved",
    "QueueSet",
    "RoleGranted",
    "RoleRevoked",
    "ScheduleFired",
    "ScheduleRemoved",
    "ScheduleSet",
    "ServerStarted",
    "ServiceLearnt",
    "ServiceScaled",
    "SignedIn",
    "SignedOut",
    "StartExpected",
    "StartPlanned",
    "TokenCreated",
    "TokenRevoked",
    "TypicalPods",
]
