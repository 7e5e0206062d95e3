"""Bookings: time on nodes that is spoken for in advance."""

from msgspec import Struct


class Booking(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Nodes that are kept for some queues and users, or for none, from one time to another.

    A gang may start on a booked node only if it ends before the booking begins, by its time
    limit, or if the booking is for it. What runs when a booking is made runs on, unless the
    booking clears its nodes.

    Attributes:
        name: unique.
        nodes: names of the nodes.
        begin, end: times in ms, by the clock of the scheduler.
        queues: queues whose gangs may use the nodes meanwhile; empty = none (maintenance).
        users: users who may use them meanwhile; empty = any of the queues.
        reason: for people.
        clears: gangs that it is not for are moved off the nodes, each after a checkpoint, and are
            stopped when it begins. Floors of workloads hold; a booking for no queue takes the
            nodes away at its begin all the same.
        ahead_ms: by how much the wall clock was ahead of that clock when `begin` and `end` were
            reckoned.
    """

    name: str
    nodes: tuple[str, ...]
    begin: int
    end: int
    queues: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    reason: str = ""
    clears: bool = False
    ahead_ms: int = 0

    @property
    def begins_at(self) -> int:
        """When it begins by the wall clock, in ms."""
        return self.begin + self.ahead_ms

    @property
    def ends_at(self) -> int:
        """When it ends by the wall clock, in ms."""
        return self.end + self.ahead_ms
