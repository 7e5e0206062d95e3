"""Reconciles services: scales them, drains what goes, sends the router its replicas."""

from msgspec import Struct, structs

from ganglion.lifecycle.autoscaling.memory import Learnt, Memory, recalled
from ganglion.lifecycle.autoscaling.scaler import Desired, Scaler
from ganglion.lifecycle.autoscaling.trust import IMPLAUSIBLE, LOST
from ganglion.lifecycle.services import Part, Replica, drained
from ganglion.model.behaviour import Scaling
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event, GangEnded, GangSubmitted, GangUpdated, ServiceLearnt
from ganglion.model.plan import Phase
from ganglion.model.workload import Gang, Kind
from ganglion.router.balancing.table import Service
from ganglion.server.commands import live as commands
from ganglion.server.commands.scale import replicas_of, set_replicas
from ganglion.server.controllers.alarms import said, settle
from ganglion.server.controllers.controller import SUBJECT
from ganglion.server.controllers.standby import stand_by
from ganglion.server.signals.loads import Load, Loads
from ganglion.server.signals.router_link import Door, Heard
from ganglion.server.signals.routing import routed
from ganglion.server.state.registry import Entry
from ganglion.server.state.transaction import Transaction

TICK_MS = 1_000
"""How often a service that scales is looked at."""
HASTE_MS = 100
"""The same where a client may wait for it: for a first replica, an address, the end of a drain."""
DRAIN_MS = Scaling().drain_ms
"""How long a replica may finish its requests where its spec does not say."""

KEEP_MS = 600_000
"""How often what drifts is written at most: it is learnt over hours."""

FINDING_MS = 5_000
"""How long after its start a server may look for where replicas listen."""

ROUTER_DOWN = "router.down"
"""Alarm: services cannot be reached under their URLs."""
FAILED = "replicas.failed"
"""Alarm: replicas ended for good by themselves; no replica takes their seats."""


class _Watched(Struct):
    """A service that scales, apart from what is written of it.

    Attributes:
        scaling: as its scaler knows it.
        scaler: decides.
        seen: replicas that were found ready; None = not looked at yet.
        due: when it is to be asked again, in ms.
        kept_at: when what was learnt was last written, in ms.
    """

    scaling: Scaling
    scaler: Scaler
    seen: set[str] | None = None
    due: int = 0
    kept_at: int = 0


class _View(Struct, frozen=True):
    """A service as it is found in one turn.

    Attributes:
        entry: the service.
        replicas: all that are remembered.
        ready: those that answer requests.
    """

    entry: Entry
    replicas: list[Replica]
    ready: set[str]

    def of(self, part: Part) -> list[str]:
        """Gangs of the replicas that do that."""
        return [each.gang for each in self.replicas if each.part is part]


class _Look(Struct, frozen=True):
    """Result of reconciling one service.

    Attributes:
        due: when it is to be looked at again, in ms; None = when something happens to it.
        route: what the router gets about it; None = nothing.
        lacks: whether it is not known yet where some replica listens.
    """

    due: int | None
    route: Service | None
    lacks: bool


class ServicesController:
    """A keeper; see `keepers.Keeper`.

    Args:
        door: where services are reached.
        loads: reports their load.
    """

    name = "services"

    def __init__(self, door: Door, loads: Loads) -> None:
        self._door, self._loads = door, loads
        self._watched: dict[str, _Watched] = {}
        self._decided: dict[str, int] = {}
        self._looks: dict[str, _Look] = {}
        self._begun = 0
        self._told: tuple[Service, ...] | None = None

    def note(self, event: Event) -> None:
        """Remember since when replicas are wanted, and what happened to which service."""
        match event:
            case GangSubmitted(gang=gang) if gang.kind is Kind.SERVICE:
                self._decided[gang.id] = event.at
            case GangUpdated(held=False) if event.gang in self._decided:
                self._decided[event.gang] = event.at
            case GangEnded():
                self._decided.pop(event.gang, None)
        if self._looks:
            self._looks.pop(_service_of(event), None)

    def forget(self) -> None:
        """Forget what was noted; load and what was learnt of it stay."""
        self._decided.clear()
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
        self._watched = {key: each for key, each in self._watched.items() if key in live}
        known = live - changed
        self._looks = {key: each for key, each in self._looks.items() if key in known}

    def _look_after(self, draft: Transaction, entry: Entry, heard: Heard) -> _Look:
        """Do for one service what is due."""
        view = _view(draft, entry, heard)
        self._stop_drained(draft, view, heard)
        broken = view.of(Part.BROKEN)
        settle(draft, entry.id, {FAILED: _failed(draft, broken)} if broken else {}, "replicas.")
        if entry.workload.scaling and not entry.workload.held:
            self._scale(draft, view, heard)
        stand_by(draft, draft.book.entries[entry.id])
        return _look(draft, entry)

    def _stop_drained(self, draft: Transaction, view: _View, heard: Heard) -> None:
        workload = view.entry.workload
        wait_ms = workload.scaling.drain_ms if workload.scaling else DRAIN_MS
        busy = {gang: _busy(view.entry, gang, heard) for gang in view.of(Part.DRAINING)}
        for gang in drained(view.replicas, busy, draft.now, wait_ms):
            cause = Cause(CauseKind.RELEASED, because=Cause(CauseKind.SCALED_DOWN))
            commands.withdraw(draft, draft.state.gangs.records[gang], cause)

    def _scale(self, draft: Transaction, view: _View, heard: Heard) -> None:
        entry = view.entry
        watched = self._watch(draft, entry)
        if draft.now < watched.due:
            return
        watched.due = _next(draft.now, TICK_MS if view.of(Part.ACTIVE) else HASTE_MS)
        self._learn(watched, view, draft.now)
        load = self._loads.look(entry, view.ready, heard, draft.now)
        if load.reading:
            watched.scaler.observe(load.reading, draft.now)
        elif load.wrong:
            watched.scaler.memory.doubt = load.wrong
        active = view.of(Part.ACTIVE)
        ready = len(view.ready.intersection(active))
        held = draft.book.replicas.held.get(entry.id, 0) > draft.now
        by_hand = entry.workload.replicas if held else None
        found = watched.scaler.desired(draft.now, ready, len(active) - ready, by_hand)
        _keep_learnt(draft, entry.id, watched)
        settle(draft, entry.id, _doubts(draft, entry.id, found, load), "metrics.")
        cause = Cause(CauseKind.LOAD, text=found.reason)
        set_replicas(draft, draft.book.entries[entry.id], found.replicas, cause)

    def _watch(self, draft: Transaction, entry: Entry) -> _Watched:
        scaling = entry.workload.scaling or Scaling()
        known = self._watched.get(entry.id)
        if known is None or known.scaling != scaling:
            memory = known.scaler.memory if known else _recalled(draft, entry.id)
            known = _Watched(
                scaling,
                Scaler(scaling, memory),
                known.seen if known else None,
                kept_at=known.kept_at if known else draft.now,
            )
            self._watched[entry.id] = known
        return known

    def _learn(self, watched: _Watched, view: _View, now: int) -> None:
        """How long replicas took to get ready; of those found ready at first it is unknown."""
        if watched.seen is not None:
            for gang in sorted(view.ready - watched.seen):
                if gang in self._decided:
                    watched.scaler.started(now - self._decided.pop(gang))
        watched.seen = (watched.seen or set()) | view.ready

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


def _recalled(draft: Transaction, service: str) -> Memory | None:
    """What an earlier server had learnt of a service."""
    known = draft.book.replicas.learnt.get(service)
    return recalled(_learnt(known), known.at) if known else None


def _learnt(event: ServiceLearnt) -> Learnt:
    known = {name: getattr(event, name) for name in Learnt.__struct_fields__}
    return Learnt(**known)


def _keep_learnt(draft: Transaction, service: str, watched: _Watched) -> None:
    """Write what was learnt: a start at once, figures that drift once in a while."""
    learnt, event = watched.scaler.learnt(), draft.book.replicas.learnt.get(service)
    known = _learnt(event) if event else Learnt()
    new_start = learnt.started_ms != known.started_ms
    due = draft.now >= watched.kept_at + KEEP_MS
    if not (new_start or due) or not learnt.differs(known):
        return
    watched.kept_at = draft.now
    draft.record(ServiceLearnt(draft.now, service, **structs.asdict(learnt)))


def _service_of(event: Event) -> str:
    """The workload that an event is about; empty = none."""
    gang: str | Gang = getattr(event, "gang", "")
    return gang.workload if isinstance(gang, Gang) else gang.rpartition("/")[0]


def _view(draft: Transaction, entry: Entry, heard: Heard) -> _View:
    replicas = replicas_of(draft, entry.id)
    records = draft.state.gangs.records
    running = {each.gang for each in replicas if records[each.gang].phase is Phase.RUNNING}
    if heard.fresh and entry.workload.name in heard.services:
        running &= heard.ready(entry.workload.name)
    return _View(entry, replicas, running)


def _busy(entry: Entry, gang: str, heard: Heard) -> bool | None:
    """Whether a replica that drains has requests; one without a port has none."""
    return heard.busy(entry.workload.name, gang) if entry.workload.run.port else False


def _doubts(draft: Transaction, service: str, found: Desired, load: Load) -> dict[str, str]:
    """Alarms about what is known of a service's load."""
    if found.alarm:
        # Without news, the alarm before stands: reasons contain times, which change all the time.
        why = load.wrong or load.lost
        words = f"held: {why}" if why else said(draft, service, found.alarm)
        return {found.alarm: words or found.reason}
    # Some replicas are silent or lie: they count as the mean of the others meanwhile.
    told = {LOST: load.lost, IMPLAUSIBLE: load.wrong}
    return {alarm: message for alarm, message in told.items() if message}


def _failed(draft: Transaction, broken: list[str]) -> str:
    last = draft.state.gangs.records[broken[-1]]
    said = last.message or f"exit code {last.exit_code}"
    count = "1 replica" if len(broken) == 1 else f"{len(broken)} replicas"
    return f"{count} ended for good: {said}"


def _look(draft: Transaction, entry: Entry) -> _Look:
    """How a service is left, and when it is to be looked at again."""
    replicas, lacks = replicas_of(draft, entry.id), _lacks(draft, entry)
    route = routed(draft, entry, replicas) if entry.workload.run.port else None
    asleep = not any(each.part is Part.ACTIVE for each in replicas)
    scales = entry.workload.scaling is not None
    if lacks or (scales and asleep) or any(each.part is Part.DRAINING for each in replicas):
        return _Look(_next(draft.now, HASTE_MS), route, lacks)
    return _Look(_next(draft.now, TICK_MS) if scales else None, route, lacks)


def _lacks(draft: Transaction, entry: Entry) -> bool:
    """Whether it is not known yet where some replica listens."""
    return any(
        record.phase is Phase.RUNNING and record.gang.id not in draft.endpoints
        for record in draft.records(entry.id)
    )


def _next(now: int, every_ms: int) -> int:
    """The same times for all services, so that they are looked at in the same turns."""
    return now - now % every_ms + every_ms
