"""What the events of a trail say: who did what, for which queue, under which policy.

An event names a gang; whose that is, and what was in force, was said by events before it.
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.audit.export import ExportedEvent as Row
from ganglion.ledger.codec import UNREADABLE, decoded, shown
from ganglion.ledger.records import Entry
from ganglion.model import events as ev
from ganglion.model.causes import Cause
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement
from ganglion.model.workload import Constraints, Gang, ResolvedModel

GLASS = frozenset({"glass_broken", "glass_mended"})
"""Kinds of events about broken glass itself."""
SCHEDULER = "scheduler"
"""Actor of what the engine decided."""


class AuditRecord(Struct, frozen=True):
    """One event, with what was in force.

    Attributes:
        seq: its number.
        at: its time in ms.
        kind: its type.
        actor: the user who asked for it; `scheduler` for a decision; empty = it does not say.
        queue: that it is about; empty = none, or unknown.
        workload: that it is about; empty = none.
        request: id of the request that it comes from; empty = of none.
        policy: version of the policy in force; 0 = the built-in one; None = unknown.
        software: version of the server that wrote it; empty = unknown.
        rule: by which it was decided: the grant by broken glass that allowed it, else the kind of
            its cause; empty = it names none.
        image: that the gang's workload asks for; empty = none, or it was not recorded.
        model: that its programs load, with its digest; empty = none, or it was not recorded.
        ran: what kubelets said by then that containers of the gang's attempt run, each as
            `PODSET/CONTAINER: NAME@DIGEST`; empty = nothing.
        checksum: of the event in the chain, in hexadecimal.
        event: as clients read it.
        problem: why it cannot be read, in which case `event` is empty.
        cluster: whose scheduler delivered it; `at`, `kind` and the others are of the event of the
            cluster then, and `queue` is `CLUSTER:QUEUE`. Empty = it is of the server's own world.
        owner: kind and name of what made the gang's pods; empty = none, or unknown.
        token: id of the personal token with which the actor asked for it; empty = none.
        agent: the program that did so on behalf of the actor, as it calls itself; empty = it does
            not say.
        nodes: that it is about: of the event itself, else those of the gang's attempt, as far as
            what was read says where that is; of a cluster as `CLUSTER:NODE`.
    """

    seq: int
    at: int
    kind: str
    actor: str
    queue: str
    workload: str
    request: str
    policy: int | None
    software: str
    rule: str
    image: str
    checksum: str
    event: dict[str, Any]
    problem: str = ""
    cluster: str = ""
    owner: str = ""
    model: str = ""
    token: str = ""
    agent: str = ""
    ran: str = ""
    nodes: tuple[str, ...] = ()


class RecordOwner(Struct, frozen=True):
    """What a trail says of a gang where it is submitted.

    Attributes:
        queue: to which it is charged.
        user: who submitted it.
        image: that its workload asks for; empty = none, or it was not recorded.
        model: that its programs load; None = none, or it was not recorded.
        constraints: which nodes it may use.
        made_by: kind and name of what made its pods; empty = none, or it was not recorded.
        ran: what containers of its attempt run, as kubelets said.
    """

    queue: str = ""
    user: str = ""
    image: str = ""
    constraints: Constraints = Constraints()
    made_by: str = ""
    model: ResolvedModel | None = None
    ran: tuple[ev.ReportedImage, ...] = ()


class DecisionContext(Struct):
    """What was in force after the events so far.

    Attributes:
        gangs: those that have not ended for good, by id.
        nodes: as they were last described, by name.
        parents: queue -> the queue above it.
        policy: version; 0 = the built-in one; None = unknown.
        running: what held places where the trail begins.
        software: version of the server; empty = unknown.
        clusters: the same of every cluster that delivers, by name.
        places: nodes of the present attempt of each gang that has one.
    """

    gangs: dict[str, RecordOwner] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    policy: int | None = None
    running: tuple[ev.GangPlaced, ...] = ()
    software: str = ""
    clusters: "dict[str, DecisionContext]" = field(default_factory=dict)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.running:
            self.places[each.gang] = _of_pods(each.placement)

    def take(self, event: ev.Event | ev.Delivered) -> None:
        """Go on by one event."""
        self._place(event)
        match event:
            case ev.DeliveredEvent():
                self.of(event.cluster).take(event.event)
            case ev.GangSubmitted(gang=gang, image=image, owner=owner):
                self.gangs[gang.id] = RecordOwner(
                    gang.queue, gang.user, image, gang.constraints, owner, gang.model
                )
            case ev.ServerStarted(version=version):
                self.software = version
            case ev.SchedulerStarted(version=version):
                self.software, self.policy = version, 0  # until it says which it has read
            case ev.GangUpdated(gang=name, queue=str(queue)) if name in self.gangs:
                self.gangs[name] = replace(self.gangs[name], queue=queue)
            case ev.ImagesReported(gang=name, images=images) if name in self.gangs:
                known = self.gangs[name]
                self.gangs[name] = replace(known, ran=tuple(dict.fromkeys((*known.ran, *images))))
            case ev.GangPlaced(gang=name) if name in self.gangs and self.gangs[name].ran:
                self.gangs[name] = replace(self.gangs[name], ran=())  # of another attempt
            case ev.GangEnded(gang=name, requeue=False):
                self.gangs.pop(name, None)
            case ev.NodeAdded(node=node):
                self.nodes[node.name] = node
            case ev.QueueSet(queue=queue):
                self.parents[queue.name] = queue.parent
            case ev.PolicySet(version=version):
                self.policy = version

    def _place(self, event: ev.Event | ev.Delivered) -> None:
        if isinstance(event, ev.GangPlaced | ev.GangResized):
            self.places[event.gang] = _of_pods(event.placement)
        elif isinstance(event, ev.GangEnded):
            self.places.pop(event.gang, None)

    def of(self, cluster: str) -> "DecisionContext":
        """What was in force in a cluster."""
        return self.clusters.setdefault(cluster, DecisionContext())

    def is_below(self, queue: str, top: str) -> bool:
        """Whether a queue is `top`, or lies below it; `CLUSTER:` is above all of a cluster."""
        cluster, colon, own = queue.rpartition(":")
        if colon:
            same = top.startswith(f"{cluster}:")
            below = top.removeprefix(f"{cluster}:")
            return same and (not below or self.of(cluster).is_below(own, below))
        known = set[str]()
        while queue and queue not in known:
            if queue == top:
                return True
            known.add(queue)
            queue = self.parents.get(queue, "")
        return False


class WantedRecords(Struct, frozen=True):
    """Which records to show.

    Attributes:
        since, until: at or after, and before this time in ms; `until` 0 = no end.
        actors, kinds: one of these; empty = any.
        queue: that queue, or one below it; empty = any.
        workload: its id or its name, or the id of a gang of it; empty = any.
        glass: whether only what broken glass allowed, and its breaking and mending.
        node: what is about that node, or about an attempt that has or had it; empty = any.
    """

    since: int = 0
    until: int = 0
    actors: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    queue: str = ""
    workload: str = ""
    glass: bool = False
    node: str = ""

    def takes(self, record: AuditRecord, context: DecisionContext) -> bool:
        """Whether a record is one of them."""
        if record.at < self.since or (self.until and record.at >= self.until):
            return False
        if self.actors and record.actor not in self.actors:
            return False
        if self.kinds and record.kind not in self.kinds:
            return False
        if self.queue and not context.is_below(record.queue, self.queue):
            return False
        if self.glass and not (record.event.get("glass") or record.kind in GLASS):
            return False
        is_there = not self.node or self.node in record.nodes
        return is_there and (not self.workload or self._names(record))

    def _names(self, record: AuditRecord) -> bool:
        gang = _gang_of(record.event)
        names = (record.workload, record.workload.rpartition("-")[0], gang)
        return self.workload in filter(None, names)


ALL = WantedRecords()


def records(
    rows: Iterable[Row], context: DecisionContext, wanted: WantedRecords = ALL
) -> Iterator[AuditRecord]:
    """Read events one after the other.

    Args:
        rows: of a trail, in order.
        context: what was in force before the first; changed.
        wanted: those to return; all of them change the context.
    """
    cycle, number = 0, 0
    for row in rows:
        cycle, number = row.cycle, number + 1 if row.cycle == cycle else 0
        found = record_of(row, context, is_decision=number >= row.incoming)
        if wanted.takes(found, context):
            yield found


def record_of(row: Row, context: DecisionContext, *, is_decision: bool) -> AuditRecord:
    """Read one event, and take it in."""
    entry = entry_of(row)
    try:
        event = decoded(entry.body)
        said: dict[str, Any] = msgspec.json.decode(shown(entry))
    except UNREADABLE as error:
        problem = f"cannot be read: {error}"
        known = ("", "", "", "", context.policy, context.software, "", "")
        return AuditRecord(row.seq, row.at, row.kind, *known, row.checksum, {}, problem)
    if isinstance(event, ev.DeliveredEvent):
        inner = context.of(event.cluster)
        found = _read(row, event.event, said["event"], inner, is_decision=event.decision)
        queue = found.queue and f"{event.cluster}:{found.queue}"
        told = {"cluster": event.cluster, "scheduler": event.scheduler, "number": event.number}
        nodes = tuple(f"{event.cluster}:{each}" for each in found.nodes)
        said = found.event | told
        return replace(found, queue=queue, cluster=event.cluster, event=said, nodes=nodes)
    return _read(row, event, said, context, is_decision=is_decision)


def _read(
    row: Row,
    event: ev.Event | ev.Delivered,
    said: dict[str, Any],
    context: DecisionContext,
    *,
    is_decision: bool,
) -> AuditRecord:
    """What one event says, with what is in force where it happened."""
    gang = _gang_of(said)
    owner = context.gangs.get(gang)  # before the event that ends it is taken in
    nodes = dict.fromkeys((*context.places.get(gang, ()), *_named_nodes(event)))
    context.take(event)
    owner = context.gangs.get(gang, owner) or RecordOwner()
    return AuditRecord(
        row.seq,
        event.at,
        str(event.__struct_config__.tag),
        SCHEDULER if is_decision else _actor(event),
        _queue(event) or owner.queue,
        gang.rpartition("/")[0] or str(said.get("workload", "")),
        event.request,
        context.policy,
        context.software,
        _rule(event),
        owner.image,
        row.checksum,
        said,
        owner=owner.made_by,
        model=identified(owner.model),
        token=event.by_token,
        agent=event.agent,
        ran=listed(owner.ran),
        nodes=tuple(nodes),
    )


def _named_nodes(event: ev.Event | ev.Delivered) -> tuple[str, ...]:
    """The nodes that an event itself is about."""
    match event:
        case ev.NodeAdded(node=node):
            return (node.name,)
        case ev.NodeLost(name=name) | ev.NodeCordoned(name=name) | ev.DeviceHealth(node=name):
            return (name,)
        case ev.BookingSet(booking=booking):
            return booking.nodes
        case ev.GangPlaced(placement=placement) | ev.GangResized(placement=placement):
            return _of_pods(placement)
    return ()


def _of_pods(placement: Placement) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pod.node for pod in placement.pods))


def identified(model: ResolvedModel | None) -> str:
    """A model by its version and digest; empty = none."""
    return "" if model is None else f"{model.uri} {model.digest}".strip()


def listed(images: tuple[ev.ReportedImage, ...]) -> str:
    """What containers run, in one line; empty = nothing was reported."""
    return ", ".join(map(str, images))


def entry_of(row: Row) -> Entry:
    """The event as it lies in the ledger."""
    body = b64decode(row.raw) if row.raw else row.body.encode()
    return Entry(row.seq, row.at, row.cycle, row.kind, body)


def _gang_of(said: dict[str, Any]) -> str:
    gang = said.get("gang", "")
    return str(gang["id"] if isinstance(gang, dict) else gang)


def _actor(event: ev.Event | ev.Delivered) -> str:
    """The user who asked for it; of an older event the one that it names, or its cause."""
    if event.actor:
        return event.actor
    if isinstance(event, ev.GangSubmitted):
        return event.gang.user
    if isinstance(
        event,
        ev.RoleGranted
        | ev.RoleRevoked
        | ev.GlassMended
        | ev.TokenCreated
        | ev.TokenRevoked
        | ev.SignedOut
        | ev.HoldPlaced
        | ev.HoldReleased
        | ev.UserAdded
        | ev.UserGrouped
        | ev.PasswordChanged
        | ev.UserDisabled
        | ev.UserEnabled
        | ev.UserRemoved
        | ev.UserErased,
    ):
        return event.by
    user = getattr(event, "user", "")
    cause = getattr(event, "cause", None)
    while not user and isinstance(cause, Cause):
        user, cause = cause.user, cause.because
    return str(user)


def _rule(event: ev.Event | ev.Delivered) -> str:
    """The grant that allowed it; of a decision why it was made; of a denial what is missing."""
    if event.glass or event.grant:
        return event.glass or event.grant
    cause = getattr(event, "cause", None)
    return str(cause.kind) if isinstance(cause, Cause) else str(getattr(event, "rule", ""))


def _queue(event: ev.Event | ev.Delivered) -> str:
    if isinstance(event, ev.QueueSet):
        return event.queue.name
    if isinstance(event, ev.QueueRemoved):
        return event.name
    if isinstance(event, ev.BudgetSet):
        return event.budget.queue
    if isinstance(event, ev.BudgetRemoved | ev.BudgetRequested | ev.BudgetRaised | ev.BudgetDenied):
        return event.queue
    gang = getattr(event, "gang", None)
    return gang.queue if isinstance(gang, Gang) else ""
