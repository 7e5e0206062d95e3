"""The local host of services: observes them, scales and drains as is decided, routes replicas."""

from collections.abc import Callable

from msgspec import Struct, structs

from ganglion.lifecycle.autoscaling.memory import Learnt, recalled
from ganglion.lifecycle.autoscaling.reconciler import (
    HASTE_MS,
    TICK_MS,
    ObservedService,
    Services,
    next_tick,
)
from ganglion.lifecycle.autoscaling.trust import IMPLAUSIBLE, LOST
from ganglion.lifecycle.services import Part, Replica, drained
from ganglion.model.behaviour import Scaling
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import (
    Event,
    GangEnded,
    GangPlaced,
    GangSubmitted,
    GangUpdated,
    ServiceLearnt,
)
from ganglion.model.plan import Phase
from ganglion.model.workload import Gang, Kind
from ganglion.router.balancing.table import RoutedService
from ganglion.server.commands import live as commands
from ganglion.server.commands.scale import is_rolling, outdated_of, replicas_of, set_replicas
from ganglion.server.controllers.alarms import said, settle
from ganglion.server.controllers.controller import SUBJECT
from ganglion.server.controllers.rollouts import roll
from ganglion.server.controllers.standby import stand_by
from ganglion.server.signals.loads import Loads
from ganglion.server.signals.router_link import Door, Heard
from ganglion.server.signals.routing import routed
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Transaction

DRAIN_MS = Scaling().drain_ms
"""How long a replica may finish its requests where its spec does not say."""

FINDING_MS = 5_000
"""How long after its start a server may look for where replicas listen."""

ROUTER_DOWN = "router.down"
"""Alarm: services cannot be reached under their URLs."""
FAILED = "replicas.failed"
"""Alarm: replicas ended for good by themselves; no replica takes their seats."""


class _View(Struct, frozen=True):
    """A service as it is found in one turn.

    Attributes:
        entry: the service.
        replicas: all that are remembered.
        ready: those that answer requests.
    """

    entry: LiveWorkload
    replicas: list[Replica]
    ready: set[str]

    def of(self, part: Part) -> list[str]:
        """Gangs of the replicas that do that."""
        return [each.gang for each in self.replicas if each.part is part]


Ready = Callable[[str, int], None]
"""Gets a queue and a time in ms."""


def _unmeasured(_queue: str, _took_ms: int) -> None:
    """Measure nothing."""


class _Look(Struct, frozen=True):
    """Result of reconciling one service.

    Attributes:
        due: when it is to be looked at again, in ms; None = when something happens to it.
        route: what the router gets about it; None = nothing.
        lacks: whether it is not known yet where some replica listens.
    """

    due: int | None
    route: RoutedService | None
    lacks: bool


class ServicesController:
    """A keeper; see `keepers.Keeper`.

    Args:
        door: where services are reached.
        loads: reports their load.
        ready: gets the queue of a replica, and how long after its placement it answered, in ms.
    """

    name = "services"

    def __init__(self, door: Door, loads: Loads, ready: Ready = _unmeasured) -> None:
        self._door, self._loads, self._ready = door, loads, ready
        self._placed: dict[str, int] = {}
        self.reconciler = Services()
        self._decided: dict[str, int] = {}
        self._looks: dict[str, _Look] = {}
        self._begun = 0
        self._told: tuple[RoutedService, ...] | None = None

    def note(self, event: Event) -> None:
        """Remember since when replicas are wanted, and what happened to which service."""
        match event:
            case GangSubmitted(gang=gang) if gang.kind is Kind.SERVICE:
                self._decided[gang.id] = event.at
            case GangUpdated(held=False) if event.gang in self._decided:
                self._decided[event.gang] = event.at
            case GangPlaced() if event.gang in self._decided:
                self._placed[event.gang] = event.at
            case GangEnded():
                self._decided.pop(event.gang, None)
                self._placed.pop(event.gang, None)
        if self._looks:
            self._looks.pop(_service_of(event), None)

    def forget(self) -> None:
        """Forget what was noted; load and what was learnt of it stay."""
        self._decided.clear()
        self._placed.clear()
        self._looks.clear()
        self._told = None

    def memory(self) -> object:
        """Since when replicas are wanted."""
        return self._decided

    def recall(self, memory: dict[str, int]) -> None:
        """Go on with this."""
        self._decided = memory

    def tend(self, draft: Transaction) -> int | None:
        """Scale, drain and publish; see `keepers.Keeper`."""
        services = [draft.book.entries[each] for each in draft.book.replicas.issued]
        self._drop({each.id for each in services}, {each.id for each in draft.batch.changed})
        todo = [each for each in services if self._is_due(each.id, draft.now)]
        if todo:
            heard = self._door.heard()
            self._loads.follow(services, draft.endpoints)
            looks = {each.id: self._look_after(draft, each, heard) for each in todo}
            self._looks |= looks
        self._publish(draft)
        dues = (look.due for look in self._looks.values() if look.due is not None)
        return min(dues, default=None)

    def _is_due(self, service: str, now: int) -> bool:
        look = self._looks.get(service)
        return look is None or (look.due is not None and look.due <= now)

    def _drop(self, live: set[str], changed: set[str]) -> None:
        self.reconciler.keep(live)
        known = live - changed
        self._looks = {key: each for key, each in self._looks.items() if key in known}

    def _look_after(self, draft: Transaction, entry: LiveWorkload, heard: Heard) -> _Look:
        """Do for one service what is due."""
        view = _view(draft, entry, heard)
        self._stop_drained(draft, view, heard)
        broken = view.of(Part.BROKEN)
        settle(draft, entry.id, {FAILED: _failed(draft, broken)} if broken else {}, "replicas.")
        if entry.workload.scaling and not entry.workload.held:
            self._scale(draft, view, heard)
        if not entry.workload.held:
            roll(draft, draft.book.entries[entry.id], view.ready)
        stand_by(draft, draft.book.entries[entry.id])
        return _look(draft, entry)

    def _stop_drained(self, draft: Transaction, view: _View, heard: Heard) -> None:
        workload, outdated = view.entry.workload, outdated_of(draft, view.entry)
        wait_ms = workload.scaling.drain_ms if workload.scaling else DRAIN_MS
        busy = {gang: _busy(view.entry, gang, heard) for gang in view.of(Part.DRAINING)}
        for gang in drained(view.replicas, busy, draft.now, wait_ms):
            because = Cause(CauseKind.SCALED_DOWN)
            if gang in outdated and (update := draft.book.replicas.updated.get(view.entry.id)):
                because = update.cause
            cause = Cause(CauseKind.RELEASED, because=because)
            commands.withdraw(draft, draft.state.gangs.records[gang], cause)

    def _scale(self, draft: Transaction, view: _View, heard: Heard) -> None:
        entry, now = view.entry, draft.now
        scaling = entry.workload.scaling or Scaling()
        if self.reconciler.memory(entry.id) is None:
            self._recall(draft, entry.id, scaling)
        if not self.reconciler.is_due(entry.id, scaling, now):
            return
        decision = self.reconciler.decide(
            entry.id, scaling, self._observed(draft, view, heard), now
        )
        if decision.learnt:
            draft.record(ServiceLearnt(now, entry.id, **structs.asdict(decision.learnt)))
        settle(draft, entry.id, decision.alarms, "metrics.")
        wanted = decision.desired
        cause = Cause(CauseKind.LOAD, text=wanted.reason)
        set_replicas(draft, draft.book.entries[entry.id], wanted.replicas, cause)

    def _observed(self, draft: Transaction, view: _View, heard: Heard) -> ObservedService:
        """A service as the reconciler gets it; how long a start took is reported once."""
        entry, now = view.entry, draft.now
        active = set(view.of(Part.ACTIVE))
        took = {each: now - self._decided.pop(each, now + 1) for each in view.ready}
        for each in view.ready & self._placed.keys():
            self._ready(entry.workload.queue, now - self._placed.pop(each))
        held = draft.book.replicas.held.get(entry.id, 0) > now
        return ObservedService(
            self._loads.look(entry, view.ready, heard, now),
            took,
            len(view.ready & active),
            len(active),
            entry.workload.replicas if held else None,
            {alarm: said(draft, entry.id, alarm) for alarm in (LOST, IMPLAUSIBLE)},
            _learnt(draft, entry.id),
        )

    def _recall(self, draft: Transaction, service: str, scaling: Scaling) -> None:
        """Begin with what an earlier server had learnt of a service."""
        known = draft.book.replicas.learnt.get(service)
        memory = recalled(_learnt(draft, service), known.at) if known else None
        self.reconciler.recall(service, scaling, draft.now, memory)

    def _publish(self, draft: Transaction) -> None:
        self._begun = self._begun or draft.now
        # A router that outlived the last server must not lose replicas that are not found yet.
        patient = draft.now < self._begun + FINDING_MS
        if self._told is None and patient and any(look.lacks for look in self._looks.values()):
            return
        table = tuple(look.route for look in self._looks.values() if look.route)
        if table != self._told:
            # What the router gets must be recorded: a drain that is not would never end.
            draft.orders.append(lambda _world: self._door.publish(self.name, table))
            self._told = table
        words = {ROUTER_DOWN: f"services cannot be reached: {self._door.trouble}"}
        settle(draft, SUBJECT, words if self._door.trouble else {}, "router.")


def _learnt(draft: Transaction, service: str) -> Learnt:
    """What is written of a service."""
    event = draft.book.replicas.learnt.get(service)
    if event is None:
        return Learnt()
    return Learnt(**{name: getattr(event, name) for name in Learnt.__struct_fields__})


def _service_of(event: Event) -> str:
    """The workload that an event is about; empty = none."""
    gang: str | Gang = getattr(event, "gang", "")
    return gang.workload if isinstance(gang, Gang) else gang.rpartition("/")[0]


def _view(draft: Transaction, entry: LiveWorkload, heard: Heard) -> _View:
    replicas = replicas_of(draft, entry.id)
    records = draft.state.gangs.records
    running = {each.gang for each in replicas if records[each.gang].phase is Phase.RUNNING}
    if heard.fresh and entry.workload.name in heard.services:
        running &= heard.ready(entry.workload.name)
    return _View(entry, replicas, running)


def _busy(entry: LiveWorkload, gang: str, heard: Heard) -> bool | None:
    """Whether a replica that drains has requests; one without a port has none."""
    return heard.busy(entry.workload.name, gang) if entry.workload.run.port else False


def _failed(draft: Transaction, broken: list[str]) -> str:
    last = draft.state.gangs.records[broken[-1]]
    said = last.message or f"exit code {last.exit_code}"
    count = "1 replica" if len(broken) == 1 else f"{len(broken)} replicas"
    return f"{count} ended for good: {said}"


def _look(draft: Transaction, entry: LiveWorkload) -> _Look:
    """How a service is left, and when it is to be looked at again."""
    replicas, lacks = replicas_of(draft, entry.id), _lacks(draft, entry)
    route = routed(draft, entry, replicas) if entry.workload.run.port else None
    asleep = not any(each.part is Part.ACTIVE for each in replicas)
    scales = entry.workload.scaling is not None
    haste = lacks or (scales and asleep) or is_rolling(replicas, outdated_of(draft, entry))
    if haste or any(each.part is Part.DRAINING for each in replicas):
        return _Look(next_tick(draft.now, HASTE_MS), route, lacks)
    return _Look(next_tick(draft.now, TICK_MS) if scales else None, route, lacks)


def _lacks(draft: Transaction, entry: LiveWorkload) -> bool:
    """Whether it is not known yet where some replica listens."""
    return any(
        record.phase is Phase.RUNNING and record.gang.id not in draft.endpoints
        for record in draft.records(entry.id)
    )
