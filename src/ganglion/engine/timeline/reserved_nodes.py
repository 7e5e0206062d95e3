"""What is free on the nodes of a reservation when it begins."""

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.timeline.free_at import Room, by_node, devices_of, fits_into
from ganglion.engine.timeline.profile import ProfileInput
from ganglion.engine.timeline.reservation import Reservation
from ganglion.engine.timeline.reservation_table import Reservations
from ganglion.engine.timeline.standby import StandbyPlaces
from ganglion.model.placement import PodPlacement


class Rooms:
    """Room beside reserved places, worked out once for each reservation and node.

    Args:
        ground: the fleet, and who is where until when.
        held: all reservations.
        kept: places kept for gangs that sleep.
    """

    def __init__(self, ground: ProfileInput, held: Reservations, kept: StandbyPlaces) -> None:
        self._ground, self._held, self._kept = ground, held, kept
        self._known: dict[tuple[str, str], tuple[tuple[int, int, int, int], Room]] = {}

    def forget(self) -> None:
        """Work everything out anew."""
        self._known = {}

    def flavors_left_out(self, held: Reservation) -> tuple[str, ...]:
        """Where quotas decide about flavors, a reservation stays with those it has."""
        state = self._ground.state
        if not state.queues.shares.is_governed(held.record.gang.queue):
            return ()
        tree = state.fleet.tree
        ranks = [tree.index[pod.node] for pod in held.placement.pods if pod.node in tree.index]
        kept = {tree.flavors[rank] for rank in ranks}
        return tuple(each for each in state.fleet.totals.flavors() if kept and each not in kept)

    def is_open(self, held: Reservation, now: int) -> bool:
        """Whether the fleet has the nodes of a reservation, and no booking closes them then."""
        at = max(held.start_ms, now)
        tree = self._ground.state.fleet.tree
        nodes = by_node(held.placement)
        if any(node not in tree.index for node in nodes):
            return False
        closed = self._ground.bookings.closed(held.record.gang, at, tree)
        return not any(tree.index[node] in closed for node in nodes)

    def is_sound(self, held: Reservation, now: int) -> bool:
        """Whether a reservation can still be kept."""
        return self.is_open(held, now) and all(
            self._room(held, node, now).holds(devices_of(pods))
            for node, pods in by_node(held.placement).items()
        )

    def leaves_room(
        self,
        held: Reservation,
        record: GangRecord,
        pods: dict[str, list[PodPlacement]],
        now: int,
    ) -> bool:
        """Whether a gang that starts now on these pods is not in the way of a reservation."""
        for node, own in by_node(held.placement).items():
            if node in pods:
                room = self._room(held, node, now).copy()
                if not fits_into(room, record, pods[node], devices_of(own)):
                    return False
        return True

    def _room(self, held: Reservation, node: str, now: int) -> Room:
        """What is free of a node when a reservation begins, its own place taken."""
        key = (held.record.gang.id, node)
        freed, joined = self._ground.state.progress.freed, self._ground.occupants.version
        version = (joined, freed, self._held.version, now)
        known = self._known.get(key)
        if known is None or known[0] != version:
            at = max(held.start_ms, now)
            others = [
                each
                for each in self._held
                if each is held
                or (each.start_ms <= at < each.end_ms and each.priority >= held.priority)
            ]
            others += self._kept.binding(held.record.gang)
            known = self._known[key] = (version, self._ground.room(node, at, now, others))
        return known[1]
