"""What one cycle leaves to the next."""

from ganglion.engine.state.effort import Effort
from ganglion.model.errors import InvariantBroken


class Agenda:
    """What cycles remember of what they have tried, so that they go on rather than repeat it.

    Invariant: what was found out is no later than the last change of the state.

    Attributes:
        again_at: when to look again although nothing happened, in ms; None = need not.
        effort: counts the work of a cycle, and remembers what a sweep of cycles has looked at.
        over: queues that used more than they deserve when gangs were last looked at.
        unhelped: elastic gang -> the `freed` counter when it could not grow.
        growth_cut: whether the last cycle was out of work before all had their turn to grow.
        unemptied: node -> (`freed` counter, empty nodes) when its gangs found no other place.
        vetoes: how often a Permit plugin has forbidden a start.
    """

    def __init__(self) -> None:
        self.again_at: int | None = None
        self.effort = Effort()
        self.over: frozenset[str] = frozenset()
        self.unhelped: dict[str, int] = {}
        self.growth_cut = False
        self.unemptied: dict[str, tuple[int, int]] = {}
        self.vetoes = 0

    def check(self, freed: int) -> None:
        """Check the invariant. Raises InvariantBroken.

        Args:
            freed: the counter of changes as it stands.
        """
        seen = (*self.unhelped.values(), *(each for each, _ in self.unemptied.values()))
        if any(each > freed for each in seen):
            raise InvariantBroken("something was found out after the last change")
