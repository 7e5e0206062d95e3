"""Where gangs ran in a period, and whether each place fulfilled what had to hold.

A stay is one gang on one node from one time to another, with the labels that the node had then. A
gang holds its place from the decision until its end; pods that it gives up, until they have left.
A node that gets other labels meanwhile begins another stay.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ganglion.audit.export import ExportedEvent as Row
from ganglion.audit.records import DecisionContext, RecordOwner, entry_of, identified, listed
from ganglion.ledger.codec import UNREADABLE, decoded
from ganglion.model import events as ev
from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement
from ganglion.model.workload import Constraints

Must = Mapping[str, frozenset[str]]
"""Label, or level of the topology -> values of which a node has to have one."""


class Stay(Struct, frozen=True):
    """One gang on one node.

    Attributes:
        seq: number of the event that placed it there; 0 = one before the trail begins.
        gang, attempt: of which it is.
        queue, user: whose the gang is; empty = the trail does not say.
        node: its name.
        devices: indexes of the devices that its pods use, ascending.
        begin: when it was decided, or when the node got these labels, in ms.
        end: when it was over, or the node got other labels; 0 = it lasts.
        labels: of the node then, with its domains by level.
        constraints: which nodes the gang may use, as it was submitted.
        broken: what had to hold and did not; empty = nothing.
        image: that the workload asks for, as it was recorded; empty = none was. A world without
            containers runs none.
        policy: version of the policy in force; None = unknown.
        software: version of the server that decided; empty = unknown.
        cluster: whose scheduler decided, in which case `queue` is `CLUSTER:QUEUE`; empty = the
            server itself.
        owner: kind and name of what made the gang's pods; empty = none, or it was not recorded.
        model: that its programs load, with its digest; empty = none, or it was not recorded.
        ran: what kubelets said that the containers of the attempt ran, there or on another of its
            nodes, each as `PODSET/CONTAINER: NAME@DIGEST`; empty = nothing.
        held: what the node had of what the pods load, when the attempt was placed there, by which
            it was preferred to nodes that were equal otherwise; empty = nothing.
    """

    seq: int
    gang: str
    attempt: int
    queue: str
    user: str
    node: str
    devices: tuple[int, ...]
    begin: int
    end: int
    labels: Mapping[str, str]
    constraints: Constraints
    broken: tuple[str, ...]
    image: str
    policy: int | None
    software: str
    cluster: str = ""
    owner: str = ""
    model: str = ""
    ran: str = ""
    held: str = ""


class PlacementsFound(Struct):
    """What a trail says about a period.

    Attributes:
        stays: in the order of their beginning.
        unread: numbers of events that cannot be read, so that stays may be missing.
    """

    stays: list[Stay]
    unread: list[int]

    @property
    def broken(self) -> list[Stay]:
        """Those that broke something."""
        return [each for each in self.stays if each.broken]


def must_of(written: Iterable[str]) -> dict[str, frozenset[str]]:
    """Read `KEY=VALUE` or `KEY=VALUE,VALUE`.

    Raises:
        FieldError: it is written otherwise, or a key occurs twice.
    """
    found = dict[str, frozenset[str]]()
    for each in written:
        key, _, values = each.partition("=")
        allowed = frozenset(filter(None, values.split(",")))
        if not key or not allowed or key in found:
            raise FieldError(f"{each} is no KEY=VALUE of its own", key="--must", hint="region=eu")
        found[key] = allowed
    return found


def labels_of(node: Node | None) -> dict[str, str]:
    """The labels of a node, and its domains by level, which count before labels of their names."""
    if node is None:
        return {}
    return node.labels | {str(level): name for level, name in node.domains.items()}


def placements(
    rows: Iterable[Row], context: DecisionContext, queue: str, must: Must, since: int, until: int
) -> PlacementsFound:
    """All stays of a queue, or of queues below it, that overlap a period.

    Args:
        rows: the trail, from as early as there is one.
        context: what was in force before the first; changed.
        queue: its name; empty = all of them.
        must: what has to hold.
        since: begin of the period in ms.
        until: its end in ms; 0 = none.
    """
    walk = _Walk(context, must)
    for row in rows:
        walk.take(row)
    found = [
        each
        for each in walk.all()
        if (not each.end or each.end > since)
        and (not until or each.begin < until)
        and (not queue or context.is_below(each.queue, queue))
    ]
    return PlacementsFound(
        sorted(found, key=lambda each: (each.begin, each.seq, each.node)), walk.unread
    )


class _Walk:
    """The stays that last, and those that are over."""

    def __init__(self, context: DecisionContext, must: Must) -> None:
        self._context, self._must = context, must
        self._over = list[Stay]()
        self._lasting = dict[str, dict[str, Stay]]()
        self._leaving = dict[str, set[str]]()
        self.unread = list[int]()
        self._clusters = {name: _Walk(own, must) for name, own in context.clusters.items()}
        for event in context.running:
            self._put(0, event)

    def all(self) -> Iterator[Stay]:
        """Every stay."""
        yield from self._over
        for stays in self._lasting.values():
            yield from stays.values()
        for cluster, walk in self._clusters.items():
            for stay in walk.all():
                queue = stay.queue and f"{cluster}:{stay.queue}"
                yield replace(stay, queue=queue, cluster=cluster)

    def take(self, row: Row) -> None:
        """Go on by one event."""
        try:
            event = decoded(entry_of(row).body)
        except UNREADABLE:
            self.unread.append(row.seq)
            return
        if isinstance(event, ev.DeliveredEvent):
            made = _Walk(self._context.of(event.cluster), self._must)
            self._clusters.setdefault(event.cluster, made).happened(row.seq, event.event)
        else:
            self.happened(row.seq, event)

    def happened(self, seq: int, event: ev.Event | ev.Delivered) -> None:
        """Take in what an event says."""
        match event:
            case ev.GangPlaced(gang=gang):
                if not self._is_said_again(event):
                    self._close(gang, event.at)
                    self._put(seq, event)
            case ev.GangResized():
                self._put(seq, event)
            case ev.PodsLeft(gang=gang):
                self._close(gang, event.at, self._leaving.pop(gang, set()))
            case ev.GangEnded(gang=gang):
                self._close(gang, event.at)
            case ev.NodeAdded(node=node):
                self._described(seq, event.at, node)
        self._context.take(event)
        if isinstance(event, ev.ImagesReported):
            stays, owner = self._lasting.get(event.gang, {}), self._context.gangs.get(event.gang)
            ran = listed(owner.ran) if owner else ""
            stays.update({node: replace(stay, ran=ran) for node, stay in stays.items()})

    def _is_said_again(self, event: ev.GangPlaced) -> bool:
        """Whether a scheduler that has started says where a gang has been since before."""
        known = {node: stay.devices for node, stay in self._lasting.get(event.gang, {}).items()}
        return bool(known) and known == _nodes(event.placement)

    def _put(self, seq: int, event: ev.GangPlaced | ev.GangResized) -> None:
        """A gang has a place; nodes of an earlier one stay until its pods have left."""
        known = self._lasting.setdefault(event.gang, {})
        owner = self._context.gangs.get(event.gang) or RecordOwner()
        nodes = _nodes(event.placement)
        same = not seq or isinstance(event, ev.GangResized)  # the attempt goes on
        ran = listed(owner.ran) if same else ""
        self._leaving[event.gang] = known.keys() - nodes.keys()
        for node, held in nodes.items():
            if node in known:
                self._over.append(replace(known[node], end=event.at))
            described = self._context.nodes.get(node)
            known[node] = Stay(
                seq,
                event.gang,
                event.attempt,
                owner.queue,
                owner.user,
                node,
                held,
                event.at,
                0,
                labels_of(described),
                owner.constraints,
                self._broken(described, owner.constraints),
                owner.image,
                self._context.policy,
                self._context.software,
                owner=owner.made_by,
                model=identified(owner.model),
                ran=ran,
                held="; ".join(str(each) for each in event.placement.held if each.node == node)
                or (known[node].held if same and node in known else ""),
            )

    def _close(self, gang: str, at: int, nodes: set[str] | None = None) -> None:
        """Stays of a gang are over, on all nodes or on some."""
        known = self._lasting.get(gang, {})
        for node in sorted(known.keys() if nodes is None else nodes & known.keys()):
            self._over.append(replace(known.pop(node), end=at))
        if not known:
            self._lasting.pop(gang, None)
            self._leaving.pop(gang, None)

    def _described(self, seq: int, at: int, node: Node) -> None:
        """What runs on a node that got other labels stays under these."""
        labels = labels_of(node)
        if labels == labels_of(self._context.nodes.get(node.name)):
            return
        for stays in self._lasting.values():
            if (stay := stays.get(node.name)) is not None:
                self._over.append(replace(stay, end=at))
                broken = self._broken(node, stay.constraints)
                stays[node.name] = replace(stay, seq=seq, begin=at, labels=labels, broken=broken)

    def _broken(self, node: Node | None, own: Constraints) -> tuple[str, ...]:
        """What does not hold: of what must, and of the gang's own constraints."""
        labels, domains = (node.labels, node.domains) if node else ({}, {})
        shown = labels_of(node)
        wrong = [key for key, allowed in self._must.items() if shown.get(key) not in allowed]
        wrong += [key for key, allowed in own.labels.items() if labels.get(key) not in allowed]
        wrong += [key for key, others in own.avoid.items() if labels.get(key) in others]
        if own.residency and domains.get(Level.REGION) not in own.residency:
            wrong.append(Level.REGION)
        return tuple(f"{key}={shown.get(key, '(none)')}" for key in dict.fromkeys(wrong))


def _nodes(placement: Placement) -> dict[str, tuple[int, ...]]:
    """The nodes of a placement, each with the devices that pods hold there, ascending."""
    found = dict[str, set[int]]()
    for pod in placement.pods:
        found.setdefault(pod.node, set()).update(pod.devices)
    return {node: tuple(sorted(held)) for node, held in found.items()}
