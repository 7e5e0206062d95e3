"""Delivering an outbox: the records of one scheduler after the other, each in order."""

from collections.abc import Callable, Sequence

from ganglion.model.errors import GanglionError
from ganglion.model.events import DeliveryRecord, RecordsLost
from ganglion.server.cluster.outbox.folder import OutboxFolder

Post = Callable[[str, Sequence[DeliveryRecord]], int]
"""Sends records of a scheduler; returns the number of its last one in the ledger. Raises
GanglionError where they did not arrive."""


class Sender:
    """Sends what is in a folder, and removes what has arrived. For one thread.

    The receiver says how far it is: it is asked before the first records of a scheduler are sent,
    and believed ever after.

    Args:
        folder: the outbox.
        post: sends.
        freed: called with the bytes of what was removed.

    Attributes:
        positions: number of the last record of each scheduler that has arrived.
        delivered: records that have arrived, since the start.
        missing: gaps in the records of its own scheduler that were delivered.
    """

    def __init__(
        self, folder: OutboxFolder, post: Post, freed: Callable[[int], None] = lambda _bytes: None
    ) -> None:
        self._folder, self._post, self._freed = folder, post, freed
        self.positions: dict[str, int] = {}
        self.delivered = self.missing = 0

    def step(self) -> bool:
        """Send one batch; returns whether there may be more to send.

        Raises:
            GanglionError: the receiver cannot be reached, or refuses.
            OSError: the disk refuses.
        """
        scheduler = self._folder.left[0] if self._folder.left else self._folder.own
        position = self.positions.get(scheduler)
        if position is None:
            self.positions[scheduler] = self._post(scheduler, ())
            return True
        batch = self._folder.batch(scheduler, position)
        if batch:
            self._sent(scheduler, position, self._post(scheduler, batch))
            if scheduler == self._folder.own:
                self.missing += sum(map(_has_gap, batch))
            return True
        if scheduler == self._folder.own:
            return False
        self._freed(self._folder.forget(scheduler))
        return True

    def _sent(self, scheduler: str, before: int, after: int) -> None:
        if after == before:
            raise GanglionError(
                f"the server takes no record of {scheduler} after {before}",
                "see its log; is it older than this scheduler?",
            )
        self.delivered += max(after - before, 0)
        self.positions[scheduler] = after
        self._freed(self._folder.trim(scheduler, after))


def _has_gap(record: DeliveryRecord) -> bool:
    return any(isinstance(each, RecordsLost) for each in record.facts)
