"""The gangs that the clusters show."""

from collections.abc import Container

from ganglion.model.errors import InvariantBroken
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang


class KnownGangs:
    """Gangs as their objects describe them, by id, and which of them are to be looked at.

    Invariant: a gang that is not considered is there, or is to be looked at; one that waits to
    be made anew has no attempt.

    Attributes:
        founds: what is known of gangs.
        complaints: gang -> why it is not even considered.
        awaited: gangs without pods that are to be made anew -> since when, in ms.
        touched: gangs to be looked at in this turn.
    """

    def __init__(self) -> None:
        self.founds: dict[str, FoundGang] = {}
        self.complaints: dict[str, str] = {}
        self.awaited: dict[str, int] = {}
        self.touched: set[str] = set()

    def among(self, founds: dict[str, FoundGang]) -> "KnownGangs":
        """A part of them: what is found out about it is found out about these gangs."""
        part = KnownGangs()
        part.founds, part.complaints = founds, self.complaints
        part.awaited, part.touched = self.awaited, self.touched
        return part

    def check(self, placed: Container[str]) -> None:
        """Check the invariant. Raises InvariantBroken.

        Args:
            placed: gangs with an attempt.
        """
        for gang, why in self.complaints.items():
            if not why or not (gang in self.founds or gang in self.touched):
                raise InvariantBroken(f"gang {gang} is not considered, and is not there")
        for gang in self.awaited:
            if gang in placed:
                raise InvariantBroken(f"gang {gang} has an attempt and waits to be made anew")
