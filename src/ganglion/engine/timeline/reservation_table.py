"""Which gangs hold reservations, and which have to respect them."""

from collections.abc import Iterable, Iterator

from ganglion.engine.timeline.reservation import Reservation
from ganglion.engine.timeline.standby import StandbyPlaces
from ganglion.model.workload import Gang


class Reservations:
    """All reservations by gang, in the order in which they were first made.

    Args:
        kept: places kept for gangs that sleep, which bind like reservations that never end.

    Attributes:
        version: grows with every change.
    """

    def __init__(self, kept: StandbyPlaces) -> None:
        self._held: dict[str, Reservation] = {}
        self._kept = kept
        self.version = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, gang: str) -> bool:
        return gang in self._held

    def __iter__(self) -> Iterator[Reservation]:
        return iter(self._held.values())

    def get(self, gang: str) -> Reservation | None:
        """The reservation of a gang."""
        return self._held.get(gang)

    def copy(self) -> dict[str, Reservation]:
        """All of them by gang."""
        return dict(self._held)

    def put(self, made: Reservation) -> bool:
        """Make or move a reservation; False when that changes nothing."""
        gang = made.record.gang.id
        if self._held.get(gang) == made:
            return False
        self._held[gang] = made
        self.version += 1
        return True

    def drop(self, gang: str) -> bool:
        """A gang holds none any more; whether it did."""
        self.version += 1
        return self._held.pop(gang, None) is not None

    def by_priority(self) -> list[Reservation]:
        """All of them, the highest priority first."""
        return sorted(self._held.values(), key=lambda each: -each.priority)

    def below(self, priority: int) -> Reservation | None:
        """The one of the lowest priority below a given one, the latest made among equals."""
        last = min(reversed(self._held.values()), key=lambda each: each.priority, default=None)
        return last if last and last.priority < priority else None

    def binding(self, gang: Gang) -> list[Reservation]:
        """Those that a gang must respect, kept places included."""
        return [*self.ahead(gang), *self._kept.binding(gang)]

    def ahead(self, gang: Gang) -> list[Reservation]:
        """Those that a gang must respect: all but its own and those of lower priority."""
        return [
            each
            for each in self._held.values()
            if each.record.gang.id != gang.id and each.priority >= gang.priority
        ]

    def apart_from(self, *gangs: str) -> "Apart":
        """As if these gangs held no reservation, within a `with` block."""
        return Apart(self, gangs)

    def swap(self, held: dict[str, Reservation]) -> dict[str, Reservation]:
        """Hold these instead; returns those held before."""
        self.version += 1
        before, self._held = self._held, held
        return before


class Apart:
    """Leaves some reservations out, and puts them back where they were.

    Args:
        held: all reservations.
        gangs: whose are left out.
    """

    def __init__(self, held: Reservations, gangs: tuple[str, ...]) -> None:
        self._held, self._gangs = held, gangs
        self._before: dict[str, Reservation] = {}

    def __enter__(self) -> None:
        others: Iterable[Reservation] = self._held
        named = ((each.record.gang.id, each) for each in others)
        rest = {name: each for name, each in named if name not in self._gangs}
        self._before = self._held.swap(rest)

    def __exit__(self, *_: object) -> None:
        self._held.swap(self._before)
