"""Any event, and those that a ledger and its server write about themselves."""

from ganglion.model.events.access import PodAccess
from ganglion.model.events.base import EventBase
from ganglion.model.events.clusters import DeliveredEvent, SchedulingEvent
from ganglion.model.events.gangs import ReasonsChanged
from ganglion.model.events.identity import (
    AccessDenied,
    AccountJoined,
    BootstrapMade,
    BootstrapUsed,
    GlassBroken,
    GlassMended,
    HoldPlaced,
    HoldReleased,
    PasswordChanged,
    RoleGranted,
    RoleRevoked,
    SignedIn,
    SignedOut,
    TokenCreated,
    TokenRevoked,
    UserAdded,
    UserDisabled,
    UserEnabled,
    UserErased,
    UserGrouped,
    UserRemoved,
)
from ganglion.model.events.policy import (
    BudgetDenied,
    BudgetRaised,
    BudgetRemoved,
    BudgetRequested,
    BudgetSet,
    PriceSet,
)
from ganglion.model.events.reports import AlarmSet, IdleWarned, MetricReported
from ganglion.model.events.schedules import ScheduleFired, ScheduleRemoved, ScheduleSet
from ganglion.model.events.services import ModelUpdated, ServiceLearnt, ServiceScaled


class LedgerCut(EventBase, frozen=True, tag="ledger_cut"):
    """A checkpoint took the place of all events up to `seq`; both sums are in hexadecimal."""

    seq: int
    checksum: str
    digest: str


class ServerStarted(EventBase, frozen=True, tag="server_started"):
    """A server began; what it decides until the next such event, this version decided.

    `metered`: it writes intervals of usage, see `docs/usage.md`; earlier versions do not.
    `meters_clusters`: it does so for the clusters that deliver as well; earlier versions do not.
    `meters_lending`: it closes the sums of what queues lend one another, so that a replay does so
    at the same moment; earlier versions do not.
    `meters_losses`: it writes which part of an attempt was thrown away; earlier versions do not.
    """

    version: str
    metered: bool = False
    meters_clusters: bool = False
    meters_lending: bool = False
    meters_losses: bool = False


Event = (
    SchedulingEvent
    | MetricReported
    | ServiceScaled
    | ServiceLearnt
    | IdleWarned
    | AlarmSet
    | LedgerCut
    | ScheduleSet
    | ModelUpdated
    | ScheduleRemoved
    | ScheduleFired
    | PodAccess
    | RoleGranted
    | RoleRevoked
    | GlassBroken
    | GlassMended
    | TokenCreated
    | TokenRevoked
    | AccessDenied
    | ServerStarted
    | AccountJoined
    | SignedIn
    | SignedOut
    | HoldPlaced
    | HoldReleased
    | BootstrapMade
    | BootstrapUsed
    | UserAdded
    | UserGrouped
    | PasswordChanged
    | UserDisabled
    | UserEnabled
    | UserRemoved
    | UserErased
    | DeliveredEvent
    | PriceSet
    | BudgetSet
    | BudgetRemoved
    | BudgetRequested
    | BudgetRaised
    | BudgetDenied
    | ReasonsChanged
)
"""Any event; decode with `msgspec.json.Decoder(Event)`."""
