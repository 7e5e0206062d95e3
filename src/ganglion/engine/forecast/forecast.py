"""What is expected: of the work that waits and runs, and of when gangs start."""

from ganglion.engine.forecast.backlog import Backlog
from ganglion.engine.forecast.start_estimates import StartEstimates
from ganglion.engine.store.store import Store


class Forecast:
    """Expectations, which every event about a gang keeps up to date.

    Invariant: the work that is counted is that of gangs that the state knows.

    Args:
        state: the present.

    Attributes:
        backlog: work that waits and runs.
        bands: when waiting gangs are expected to start.
    """

    def __init__(self, state: Store) -> None:
        self._state = state
        self.backlog = Backlog(state)
        self.bands = StartEstimates(state, state.gangs.estimates)

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        self.backlog.check()
