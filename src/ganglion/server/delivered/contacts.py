"""When schedulers of clusters asked without a record, which no ledger keeps."""

from ganglion.lifecycle.clusters import ClusterBook


class SchedulerContacts:
    """Remembers the last time of each cluster. Safe from any thread.

    Args:
        begun: since when requests are taken, in ms.
    """

    def __init__(self, begun: int = 0) -> None:
        self._begun = begun
        self._asked: dict[tuple[str, str], int] = {}

    def note(self, cluster: str, scheduler: str, at: int) -> None:
        """A scheduler of a cluster asked at a time in ms."""
        self._asked = {k: each for k, each in self._asked.items() if k[0] != cluster} | {
            (cluster, scheduler): at
        }

    def silent_since(self, cluster: str, book: ClusterBook, now: int) -> int:
        """Since when nothing was heard of the scheduler of a cluster; 0 = it is not silent."""
        asked = self._asked.get((cluster, book.scheduler), 0)
        return book.silent_since(asked, self._begun, now)
