"""Nodes and racks that are to be empty for maintenance.

A drain is a cordon, so that nothing new starts, and a booking that clears its nodes, so that
what runs there leaves after a checkpoint and is stopped at the deadline.
"""

from collections.abc import Iterator

from ganglion.api.nodes import DrainView, LeaverView
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.upkeep.drain import leavers, leaves_at
from ganglion.model.causes import CordonKind
from ganglion.model.errors import Conflict, FieldError, NotFound
from ganglion.model.events import BookingRemoved, BookingSet, NodeCordoned
from ganglion.model.fleet.booking import Booking
from ganglion.model.plan import Phase
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.model.workload import Kind
from ganglion.server.state.transaction import Transaction
from ganglion.specs.grammar.places import parse_level
from ganglion.specs.wording import meant

PREFIX = "drain-"
"""Of the names of bookings that are drains."""
CORDONED = "draining: "
"""Beginning of the reasons with which their nodes are cordoned, for people."""
OPEN_MS = 10 * 365 * 86_400_000
"""A drain lasts until it is taken back."""


def drain(draft: Transaction, what: str, by: int, reason: str) -> DrainView:
    """Empty a node or domain by a time.

    Args:
        draft: the open turn.
        what: name of a node, `LEVEL=NAME`, or the name of one domain.
        by: in ms; a time that has passed stops everything at once.
        reason: for people.

    Raises:
        NotFound: there is no such node or domain.
        FieldError: the name is that of several domains, or the level is none.
        Conflict: some of the nodes drain with others, or it is a node of a cluster.
    """
    check_here(draft, what)
    booking = _planned(draft.state, what, by, reason, draft.now)
    draft.apply(BookingSet(draft.now, booking))
    for node in booking.nodes:
        draft.apply(NodeCordoned(draft.now, node, f"{CORDONED}{reason}", CordonKind.DRAIN))
    return found(draft.state, booking.name, draft.now)


def preview(state: ClusterState, what: str, by: int, reason: str, now: int) -> DrainView:
    """What a drain would be, and what would have to leave; nothing changes.

    Raises:
        NotFound, FieldError, Conflict: see `drain`.
    """
    return _view(state, _planned(state, what, by, reason, now), now)


def _planned(state: ClusterState, what: str, by: int, reason: str, now: int) -> Booking:
    nodes, name = nodes_of(state, what), f"{PREFIX}{what}"
    for other in drains(state):
        both = sorted(set(other.nodes) & set(nodes))
        if other.name != name and both:
            shown = other.name.removeprefix(PREFIX)
            raise Conflict(
                f"{both[0]} drains already, with {shown}", f"first: ganglion undrain {shown}"
            )
    begin = max(by, now)
    return Booking(name, nodes, begin, begin + OPEN_MS, reason=reason, clears=True)


def undrain(draft: Transaction, what: str) -> tuple[str, ...]:
    """Let the nodes of a drain take work again; returns their names.

    Raises:
        NotFound: nothing of that name drains.
    """
    name = f"{PREFIX}{what}"
    booking = next((each for each in drains(draft.state) if each.name == name), None)
    if booking is None:
        _refuse(draft.state, what)
    assert booking
    draft.apply(BookingRemoved(draft.now, name))
    for node in booking.nodes:
        known = draft.state.fleet.nodes.get(node)
        if known and known.cordon is CordonKind.DRAIN:
            draft.apply(NodeCordoned(draft.now, node, ""))
    return booking.nodes


def _refuse(state: ClusterState, what: str) -> None:
    for other in drains(state):
        if what in other.nodes:
            shown = other.name.removeprefix(PREFIX)
            raise NotFound(f"{what} drains with {shown}", f"use: ganglion undrain {shown}")
    names = [each.name.removeprefix(PREFIX) for each in drains(state)]
    hint = meant(what, names) or (f"there are: {', '.join(names)}" if names else "nothing drains")
    raise NotFound(f"{what} does not drain", hint)


def drains(state: ClusterState) -> list[Booking]:
    """Every drain, the first deadline first."""
    return [each for each in state.timeline.bookings.all() if is_drain(each)]


def shut_again(state: ClusterState, now: int) -> Iterator[NodeCordoned]:
    """Cordons of nodes that drain and have come back without theirs."""
    for booking in drains(state):
        for node in booking.nodes:
            if node in state.fleet.nodes and not state.fleet.nodes[node].cordoned:
                yield NodeCordoned(now, node, f"{CORDONED}{booking.reason}", CordonKind.DRAIN)


def check_open(state: ClusterState, node: str) -> None:
    """Whether a node may be opened by itself. Raises Conflict while it drains."""
    for booking in drains(state):
        if node in booking.nodes:
            what = booking.name.removeprefix(PREFIX)
            raise Conflict(f"{node} drains", f"use: ganglion undrain {what}")


def check_here(draft: Transaction, node: str) -> None:
    """Whether a node is one of the server, as far as its name says. Raises Conflict."""
    cluster, sign, name = node.partition(CLUSTER_SIGN)
    if sign and cluster in draft.book.clusters.of:
        hint = f"there: kubectl cordon {name}, or kubectl drain {name}"
        raise Conflict(f"{node} is of cluster {cluster}, where nodes are closed and opened", hint)


def is_drain(booking: Booking) -> bool:
    """Whether a booking is a drain."""
    return booking.clears and booking.name.startswith(PREFIX)


def found(state: ClusterState, name: str, now: int) -> DrainView:
    """A drain by the name of its booking, which exists."""
    return _view(state, next(each for each in drains(state) if each.name == name), now)


def _view(state: ClusterState, booking: Booking, now: int) -> DrainView:
    return DrainView(
        booking.name.removeprefix(PREFIX),
        booking.nodes,
        booking.begin,
        booking.reason,
        tuple(_leaver(each, booking, now) for each in leavers(state, booking)),
    )


def leaving(state: ClusterState, gang: str, now: int) -> Iterator[tuple[Booking, LeaverView]]:
    """Bookings that a gang has to leave the nodes of, and how it does."""
    for booking in state.timeline.bookings.clearing(now):
        for record in leavers(state, booking):
            if record.gang.id == gang:
                yield booking, _leaver(record, booking, now)


def _leaver(record: GangRecord, booking: Booking, now: int) -> LeaverView:
    at, contract = leaves_at(record, booking, now), record.gang.checkpoint
    if record.phase is Phase.STOPPING:
        how = "is leaving"
    elif record.gang.kind is Kind.SERVICE:
        how = "moves to another place, one replica after the other"
    elif contract is None:
        how = "has no checkpoints: it may end by itself until then, and is stopped then"
    elif contract.interval_ms:
        how = "leaves after a checkpoint"
    else:
        how = "saves and leaves once there is another place for it"
    return LeaverView(record.gang.id, at, how)


def nodes_of(state: ClusterState, what: str) -> tuple[str, ...]:
    """The nodes that a person means.

    Raises:
        NotFound, FieldError: see `drain`.
    """
    if what in state.fleet.nodes:
        return (what,)
    level, equals, name = what.partition("=")
    wanted = parse_level(level) if equals else None
    domains: dict[tuple[str, str], list[str]] = {}
    for node in state.fleet.nodes.values():
        for at, domain in node.domains.items():
            if domain == (name if equals else what) and wanted in (None, at):
                domains.setdefault((str(at), domain), []).append(node.name)
    if not domains:
        there = [
            *state.fleet.nodes,
            *(d for node in state.fleet.nodes.values() for d in node.domains.values()),
        ]
        hint = meant(what, [*dict.fromkeys(there)]) or "see: ganglion nodes -o wide"
        raise NotFound(f"there is no node or domain {what}", hint)
    if len(domains) > 1:
        listed = " or ".join(f"{at}={domain}" for at, domain in domains)
        raise FieldError(f"{what} is the name of several domains", key="what", hint=f"say {listed}")
    return tuple(next(iter(domains.values())))
