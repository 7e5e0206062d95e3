"""Everything about one node."""

from collections.abc import Callable, Iterator, Mapping

from ganglion.api.use import NodeDetail, Occupant
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import NotFound
from ganglion.model.events import AlarmSet
from ganglion.model.fleet.booking import Booking
from ganglion.model.placement import Placement
from ganglion.server.views.cluster import booking_view, node_view, opens
from ganglion.specs.wording import meant


def node_detail(
    state: ClusterState,
    name: str,
    alarms: Mapping[tuple[str, str], AlarmSet],
    bookings: Mapping[str, Booking],
    now: int,
) -> NodeDetail:
    """Describe a node.

    Args:
        state: of the fleet.
        name: of the node.
        alarms: those that stand, by subject and alarm.
        bookings: maintenance windows and reservations, by name.
        now: the time in ms.

    Raises:
        NotFound: there is no such node.
    """
    if name not in state.fleet.nodes:
        hint = meant(name, [*state.fleet.nodes]) or "see: ganglion nodes"
        raise NotFound(f"there is no node {name}", hint)
    found = node_view(state, state.fleet.nodes[name], alarms)
    occupants = _on(state, name, lambda record: record.placement)
    awaiting = _on(state, name, lambda record: record.promise)
    booked = (each for each in bookings.values() if name in each.nodes and each.end > now)
    return NodeDetail(
        node=found,
        opens="" if found.state in ("ready", "lost") else f"ganglion {opens(state, name)}",
        occupants=tuple(occupants),
        awaiting=tuple(awaiting),
        bookings=tuple(booking_view(each, now) for each in booked),
    )


def _on(
    state: ClusterState, node: str, place_of: Callable[[GangRecord], Placement | None]
) -> Iterator[Occupant]:
    """Gangs that have pods on a node by one of their places."""
    for record in state.gangs.records.values():
        place = place_of(record)
        pods = [pod for pod in place.pods if pod.node == node] if place else []
        if pods:
            yield Occupant(
                gang=record.gang.id,
                user=record.gang.user,
                queue=record.gang.queue,
                phase=record.phase,
                since=record.placed_at,
                pods=len(pods),
                devices=tuple(sorted({device for pod in pods for device in pod.devices})),
                milli=pods[0].milli,
            )
