"""Place and time that are kept for a gang."""

from collections.abc import Iterable

from msgspec import Struct

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.timeline.bookings import BOOKED
from ganglion.model.placement import Placement
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang

FOREVER = 1 << 60
"""End of what is kept without one, in ms."""


class Reservation(Struct, frozen=True):
    """Place and time that are kept for a gang.

    Attributes:
        record: the gang's record.
        placement: where it will start.
        start_ms: the latest time at which it does.
        end_ms: when it will have ended, counted from `start_ms`.
        drains: whether `start_ms` is a guess; gangs without time limits do not start there.
    """

    record: GangRecord
    placement: Placement
    start_ms: int
    end_ms: int
    drains: bool = False

    def keeps_off(self, gang: Gang, ends: int) -> bool:
        """Whether a gang that starts now and ends by then may be in the way."""
        return self.start_ms < ends or (self.drains and not gang.time_limit_ms)

    @property
    def priority(self) -> int:
        """Priority of the gang; a higher one is not held up by a lower one's reservation."""
        return self.record.gang.priority


def seniority(record: GangRecord) -> tuple[int, int, str]:
    """Of the highest priority, the gang that waits for longest goes first."""
    return (-record.gang.priority, record.gang.submitted, record.gang.id)


def passed_by(gang: Gang, held: Iterable[Reservation]) -> str:
    """Id of the first gang that a gang goes ahead of if it starts now; empty = of none.

    That one was submitted earlier, is of no lower priority, and is among those that hold places.
    """
    older = (
        each.record
        for each in held
        if each.record.gang.submitted < gang.submitted and each.priority >= gang.priority
    )
    first = min(older, key=seniority, default=None)
    return first.gang.id if first else ""


def overtakes(held: Reservation, ends: int) -> Reason:
    """Why a gang that may run until then may not start where a place is reserved."""
    gang = held.record.gang
    return Reason(
        Token.ORDER,
        f"it may run longer than until {gang.id} starts, whose place it would take",
        evidence={"reserved_from_ms": held.start_ms, "ends_by_ms": ends},
    )


def is_about_room(reason: Reason) -> bool:
    """Whether a gang waits for a place."""
    rooms = (Token.CAPACITY, Token.TOPOLOGY, Token.DRAINING, Token.ORDER)
    return reason.token in rooms or BOOKED in reason.evidence
