"""A factor that is learnt so that a bound holds as often as it should."""

ONE = 1_000_000
"""Factors are in millionths."""

STEP = 50_000
"""How much a factor grows, in millionths of itself, over as many misses as holds outweigh."""

MOST = 30 * ONE
"""The largest factor: a bound wider than that says nothing."""


class Factor:
    """What a computed wait is multiplied by, so that `percent` % of true waits stay below.

    A miss makes it larger, a hold a little smaller, in such a ratio that it comes to rest
    where the bound holds for `percent` % (adaptive conformal inference: Gibbs and Candes,
    NeurIPS 2021; Angelopoulos et al., 2023, call the plain form quantile tracking). It needs no
    assumption about how waits are distributed, and follows when habits change.

    Args:
        percent: how often the bound should hold.
        millionths: where to start.
    """

    __slots__ = ("_percent", "millionths", "seen")

    def __init__(self, percent: int, millionths: int) -> None:
        self._percent, self.millionths, self.seen = percent, millionths, 0

    def learn(self, held: bool) -> None:
        """One more bound held, or did not."""
        self.seen += 1
        share = self._percent - 100 if held else self._percent
        self.millionths += self.millionths * share * STEP // (100 * ONE)
        self.millionths = min(max(self.millionths, ONE // 1000), MOST)

    def times(self, wait_ms: int) -> int:
        """The bound for a computed wait."""
        return wait_ms * self.millionths // ONE
