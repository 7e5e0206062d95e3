"""How computed waits compared with true ones, and the bounds that follow from that.

For waits of like length the latest ratios of the true wait to the computed one are kept; a
percentile of them times a computed wait is a bound that holds for that percentage of waits, as
long as they come from the same distribution (split conformal prediction: Papadopoulos et al.,
ECML 2002; Lei et al., JASA 2018). Windows let it follow when habits change.
"""

from ganglion.engine.runtimes.history import RunTimeHistory

LEAST_MS = 600_000
"""Shortest computed wait, in ms; below it, the next arrival matters more than what runs."""

ONE = 1000
"""Ratios are in thousandths."""

PRIOR = (100, 250, 400, 600, 800, 1000, 1000, 1300, 1600, 2000, 3000)
"""Ratios assumed before any is seen; they leave the window as true ones come."""

LATE = (3, 2)
"""A wait that passes its bound counts as this multiple of the bound, as a fraction."""

APART = 8
"""Of waits predicted within this part of their length, one is learnt from: they share errors."""


class Ratios:
    """Ratios of true waits to computed ones, by the length of the computed wait.

    Attributes:
        windows: the latest ratios, by kind of length.
        latest: when a wait that counts was last predicted, in ms, by kind of length.
    """

    def __init__(self) -> None:
        self.windows: dict[int, RunTimeHistory] = {}
        self.latest: dict[int, int] = {}

    def bounds(self, wait_ms: int) -> tuple[int, int]:
        """Waits, in ms, that 50 and 90 % of such waits do not exceed."""
        window = self._window(wait_ms)
        return wait_ms * window.quantile(50) // ONE, wait_ms * window.quantile(90) // ONE

    def teaches(self, wait_ms: int, now: int) -> bool:
        """Whether a wait that is predicted now counts; at most one of those that overlap does."""
        kind = _kind(wait_ms)
        latest = self.latest.get(kind)
        if latest is not None and now < latest + wait_ms // APART:
            return False
        self.latest[kind] = now
        return True

    def learn(self, wait_ms: int, true_ms: int, late: bool = False) -> None:
        """A wait is over, or `late`: it has passed its bound."""
        more, over = LATE if late else (1, 1)
        self._window(wait_ms).add(true_ms * ONE * more // over // wait_ms)

    def _window(self, wait_ms: int) -> RunTimeHistory:
        kind = _kind(wait_ms)
        found = self.windows.get(kind)
        if found is None:
            found = self.windows[kind] = RunTimeHistory()
            for ratio in PRIOR:
                found.add(ratio)
        return found


def _kind(wait_ms: int) -> int:
    """Lengths within a factor of four are alike."""
    return max((wait_ms // LEAST_MS).bit_length() - 1, 0) // 2
