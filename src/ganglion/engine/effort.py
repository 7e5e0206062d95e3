"""How much one cycle looks at before it decides the rest in the next one.

Work is counted, not timed: the same events give the same plan on every machine. A cycle that
is out of work leaves the gangs it has not looked at in their lanes, marked as postponed, and
asks to be called again. A sweep is a number of cycles in which every gang is searched for in
full once: what was cut goes first, and what failed already in the sweep is only given what is
free, so that no gang is cut for ever.
"""

from msgspec.structs import replace

from ganglion.model.reasons import Reason, Token

PER_CYCLE = 20_000
"""Work of one cycle, in nodes priced: about 0.7 s of one core at 2.5 GHz in bursts of unequal
gangs. Deciding about less takes as long as before; the default is not reached by day."""

UNBOUNDED = 1 << 60
"""Work that no search uses up."""

LOOK = 8
"""A search for a place with tentative changes costs as much as so many nodes priced."""

GANG = 12
"""The same for a search that finds no place, with the diagnosis of why."""

NODES_PER_WORK = 64
"""So many nodes make such a search dearer by one."""

POSTPONED = "postponed"
"""Key in the evidence of gangs that were not searched for in full in the last cycle."""


class Effort:
    """What is left of a cycle's work.

    Args:
        most: work of the cycle.
        missed_moves: see there, in the sweep so far.

    Attributes:
        used: work counted so far.
        missed_moves: gangs of the sweep for which no moves make room.
    """

    def __init__(self, most: int, missed_moves: int = 0) -> None:
        self.used, self.missed_moves = 0, missed_moves
        self._most, self._again = most, most // 2

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is begun in this cycle."""
        return self.used >= self._most

    @property
    def may_repeat(self) -> bool:
        """Whether what was searched in this sweep may be looked at again: half of the work."""
        return self._again > 0

    def spend(self, work: int) -> None:
        """Count work."""
        self.used += work

    def repeated(self, work: int) -> None:
        """So much of it was for a gang that was searched for in this sweep."""
        self._again -= work


def in_vain(nodes: int) -> int:
    """Work of a search that found no place in a fleet of that many nodes; starts count nothing."""
    return GANG + nodes // NODES_PER_WORK


def postponed(reason: Reason | None) -> Reason:
    """The reason of a gang that the cycle did not get to: the one it had, marked as old."""
    if reason is None:
        return Reason(
            Token.ORDER,
            "its turn in the search for places is in the next cycle",
            evidence={POSTPONED: 1},
        )
    if POSTPONED in reason.evidence:
        return reason
    return replace(reason, evidence=reason.evidence | {POSTPONED: 1})
