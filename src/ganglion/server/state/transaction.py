"""One open turn of the service: what was applied, and what has to be written and done."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import structlog
from msgspec.structs import replace

from ganglion import __version__
from ganglion.engine.gangs.record import HOLDING, SETTLED, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.records import Batch, Changed, Submitted
from ganglion.lifecycle.waiting.sums import WaitSums
from ganglion.metering.attempts import HeldPlace
from ganglion.metering.lending import LendingMeter
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import (
    AccessDenied,
    AccountJoined,
    BootstrapMade,
    BootstrapUsed,
    BudgetDenied,
    BudgetRequested,
    DeliveredEvent,
    DeviceHealth,
    Event,
    GlassBroken,
    GlassMended,
    HoldPlaced,
    HoldReleased,
    NodeAdded,
    NodeCordoned,
    NodeLost,
    PasswordChanged,
    PolicySet,
    QueueRemoved,
    QueueSet,
    ReasonsChanged,
    RoleGranted,
    RoleRevoked,
    ServerStarted,
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
from ganglion.model.events.access import PodAccess
from ganglion.model.events.base import EventBase
from ganglion.model.plan import Plan
from ganglion.server.state.registry import LiveWorkload, Registry
from ganglion.worlds.local.run_files.secret_store import SecretStore
from ganglion.worlds.world import ServedWorld

if TYPE_CHECKING:
    from ganglion.ledger.ledger import Ledger

log = structlog.get_logger(__name__)

_RECORDS = (
    *(PodAccess, RoleGranted, RoleRevoked, TokenCreated, TokenRevoked, AccessDenied),
    *(AccountJoined, SignedIn, SignedOut, HoldPlaced, HoldReleased),
    *(BootstrapMade, BootstrapUsed),
    *(UserAdded, UserGrouped, PasswordChanged, UserDisabled, UserEnabled, UserRemoved),
    *(GlassBroken, GlassMended, UserErased, DeliveredEvent),
    *(BudgetRequested, BudgetDenied, ReasonsChanged),
)
"""Events that no decision follows from."""

_TREE = (QueueSet, QueueRemoved, PolicySet)
_LENDS = (*_TREE, NodeAdded, NodeLost, NodeCordoned, DeviceHealth)
"""Events that change what queues may use, and what there is."""

Order = Callable[[ServedWorld], None]
"""Something to ask of a world once the turn is written; must be safe to repeat."""


class Mind(NamedTuple):
    """What the server keeps in memory; all of it follows from the ledger."""

    state: ClusterState
    book: Registry

    @classmethod
    def of(cls, state: ClusterState, book: Registry, waits: Mapping[str, Any]) -> Self:
        """A state whose gangs tell the book where they wait.

        Args:
            state: new, or out of a checkpoint.
            book: the same.
            waits: what a checkpoint says of waits; empty = nothing, as those of early versions.
        """
        state.gangs.watcher = WaitSums.of(waits, state.gangs.records)
        book.watch(state.gangs.watcher)
        return cls(state, book)

    def tree(self) -> dict[str, str]:
        """Every queue, those of clusters included -> what is above it; empty = nothing."""
        own = {name: queue.parent for name, queue in self.state.queues.by_name.items()}
        return own | self.book.clusters.tree()

    def note(self, event: Event) -> None:
        """Have the book take in an event that the state has accepted."""
        self.book.note(event)
        meter = self.book.meter
        if meter.since is not None:
            meter.note(event, self.state.gangs.record)
        elif isinstance(event, ServerStarted) and event.metered:
            fleet = self.state.fleet
            held = map(_held, self.state.gangs.records.values())
            places = (place for place in held if place)
            meter.begin(event.at, fleet.nodes, sorted(fleet.tree.gone()), places)
        begins = isinstance(event, ServerStarted) and event.meters_losses
        if begins and meter.losses_since is None:
            meter.losses_since = event.at
        lend(self.book.lending, self.state, event)


def lend(lending: LendingMeter, state: ClusterState, event: EventBase) -> None:
    """Have a meter follow what queues lend one another.

    Args:
        lending: the meter.
        state: that has accepted the event; it has no other reader of what was charged.
        event: the next one.
    """
    queues, kind = state.queues, type(event)
    shares = queues.shares
    begins = not lending.now
    starts = isinstance(event, ServerStarted) and event.meters_lending
    if not (begins or starts or shares.charged or kind in _LENDS):
        return
    lending.passes(event.at)
    if starts:
        lending.close()
    accounts = shares.tree.accounts
    is_put = isinstance(event, QueueSet) and lending.put(event.queue, accounts)
    if begins or (kind in _TREE and not is_put):
        lending.tree(queues.by_name.values(), accounts)
        shares.charged.update(dict.fromkeys(queues.by_name))
    for name in shares.charged:
        lending.uses(shares.path(name), shares.usage)
    shares.charged.clear()
    if begins or kind in _LENDS:
        lending.has(state.fleet.totals.capacity())


def _wipe(ledger: "Ledger", _world: ServedWorld) -> None:
    """A database that is in use is wiped later, see `recovery.retention`."""
    try:
        is_done = ledger.wipe()
    except EnvironmentFault as error:
        log.warning("erased names are still in the file of the ledger", error=error.message)
    else:
        if not is_done:
            log.warning("erased names are still in the ledger's log: it is being read")


def _held(record: GangRecord) -> HeldPlace | None:
    """What the attempt of a gang holds; None = nothing."""
    if record.phase not in HOLDING or record.placement is None:
        return None
    wanted = record.placement.pods if record.phase in SETTLED else ()
    return HeldPlace(record.gang, record.attempt, wanted, record.leaving)


class Transaction:
    """Commands change a turn through this and nothing else.

    Args:
        mind: changed at once; rebuilt from the ledger when the turn cannot be written.
        ledger: where ended workloads are looked up and numbers come from.
        secrets: values that the ledger must not hold.
        now: time of the turn in ms.
        noted: called with every event that is taken in.
        endpoints: gang id -> where it listens, for those that run.
        wall: the wall clock in ms, for what happens at dates; None = it agrees with `now`.
        stepped_ms: by how much the wall clock was set since the turn before; below 0 = back.

    Attributes:
        batch: what will be written.
        orders: what will be asked of the world after that.
        renewed: whether the state must be made anew, with other plugins, before the engine
            decides again.
    """

    def __init__(
        self,
        mind: Mind,
        ledger: "Ledger",
        secrets: SecretStore,
        now: int,
        noted: Callable[[Event], None] = lambda _event: None,
        endpoints: Mapping[str, str] | None = None,
        wall: int | None = None,
        stepped_ms: int = 0,
    ) -> None:
        self.mind, self.ledger, self.now, self._noted = mind, ledger, now, noted
        self.secrets = secrets
        self.endpoints = endpoints or {}
        self.wall = now if wall is None else wall
        self.stepped_ms = stepped_ms
        self.batch = Batch(now)
        self.orders: list[Order] = []
        self.renewed = False

    @property
    def state(self) -> ClusterState:
        """The engine's state, with everything of this turn so far."""
        return self.mind.state

    @property
    def book(self) -> Registry:
        """The live workloads, with everything of this turn so far."""
        return self.mind.book

    @property
    def size(self) -> int:
        """Grows with everything that a command changes."""
        batch = self.batch
        return len(batch.incoming) + len(batch.submitted) + len(batch.changed)

    @property
    def concerns_engine(self) -> bool:
        """Whether anything happened that decisions may follow from."""
        batch = self.batch
        others = any(not isinstance(each, _RECORDS) for each in batch.incoming)
        return others or bool(batch.submitted or batch.changed)

    def apply(self, event: Event) -> bool:
        """Take an event in; False = it changes nothing and is not recorded.

        Raises:
            GanglionError: it makes no sense.
        """
        if not self.state.apply(event):
            return False
        self._taken(event)
        return True

    def began(self) -> None:
        """A server of this version began, which meters all that there is."""
        began = ServerStarted(self.now, __version__, metered=True, meters_clusters=True)
        self.record(replace(began, meters_lending=True, meters_losses=True))

    def record(self, event: Event) -> None:
        """Take an event in that is kept even where it changes nothing.

        Raises:
            GanglionError: it makes no sense.
        """
        self.state.apply(event)
        self._taken(event)

    def _taken(self, event: Event) -> None:
        self.batch.incoming.append(event)
        self.mind.note(event)
        self._noted(event)

    def mark(
        self,
        begin: int,
        request: str,
        actor: str,
        grant: str = "",
        glass: str = "",
        *,
        by_token: str = "",
        agent: str = "",
    ) -> None:
        """Name the request that the events from number `begin` on come from.

        Args:
            begin: number of the first of them.
            request: its id.
            actor: who made it.
            grant: the standing grant that allowed it; empty = it needed none.
            glass: the grant by broken glass that allowed it; empty = it needed none.
            by_token: id of the personal token that was sent with it; empty = none.
            agent: the program that made it for that user; empty = unknown.
        """
        if request or actor:
            incoming = self.batch.incoming
            incoming[begin:] = [
                replace(
                    each,
                    request=request,
                    actor=actor,
                    grant="" if isinstance(each, AccessDenied) else grant,
                    glass=glass,
                    by_token=by_token,
                    agent=agent,
                )
                for each in incoming[begin:]
            ]

    def file(self, new: Submitted) -> None:
        """A workload enters; its gangs follow through `apply`."""
        self.batch.submitted.append(new)
        self.book.enter(LiveWorkload(new.id, new.number, new.at, new.document, new.workload))

    def change(self, entry: LiveWorkload, **changes: object) -> None:
        """The description of a live workload changes."""
        workload = replace(entry.workload, **changes)
        self.book.enter(replace(entry, workload=workload))
        self.batch.changed.append(Changed(entry.id, workload))

    def decided(self, plan: Plan) -> None:
        """Take in what the engine decided and has applied already."""
        for event in plan.decisions:
            self.mind.note(event)
            self._noted(event)
        self.batch.decisions.extend(plan.decisions)
        self.book.untold.found(self.state, plan.waits, plan.at)

    def wipe(self) -> None:
        """Have the ledger leave nothing of erased names in its file, once the turn is written."""
        self.orders.append(partial(_wipe, self.ledger))

    def records(self, workload: str) -> list[GangRecord]:
        """The gangs of a live workload, by index."""
        return [self.state.gangs.records[gang] for gang in self.book.gangs[workload]]
