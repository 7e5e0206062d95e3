"""What happens to nodes, their devices, and the bookings of them."""

from ganglion.model.causes import CordonKind
from ganglion.model.events.base import EventBase
from ganglion.model.fleet.booking import Booking
from ganglion.model.fleet.node import Node
from ganglion.model.resources import PodRequest


class NodeAdded(EventBase, frozen=True, tag="node_added"):
    """A node joined, or its description changed."""

    node: Node


class NodeLost(EventBase, frozen=True, tag="node_lost"):
    """A node is gone; its capacity leaves at once, its pods end as their worlds report."""

    name: str


class NodeCordoned(EventBase, frozen=True, tag="node_cordoned"):
    """New pods may no longer start there; an empty reason lifts that. `by`: see `cordon_of`."""

    name: str
    reason: str
    by: CordonKind | None = None


class DeviceHealth(EventBase, frozen=True, tag="device_health"):
    """A device may, or may no longer, be given to new pods; `cause` says what is wrong with it."""

    node: str
    device: int
    healthy: bool
    cause: str = ""


class BookingSet(EventBase, frozen=True, tag="booking_set"):
    """A maintenance window or advance reservation was made or changed."""

    booking: Booking


class BookingRemoved(EventBase, frozen=True, tag="booking_removed"):
    """A booking was taken back."""

    name: str


class TypicalPods(EventBase, frozen=True, tag="typical_pods"):
    """The workload that fragmentation is measured against: (request, how many of them).

    `learnt` when the engine counted it from submissions, else it holds until the next such event.
    """

    pods: tuple[tuple[PodRequest, int], ...]
    learnt: bool = False
