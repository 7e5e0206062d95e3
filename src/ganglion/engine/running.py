"""What runs and may be stopped, by queue."""

from collections.abc import Callable, Iterable

from ganglion.engine import price
from ganglion.engine.holdings import Holdings
from ganglion.engine.record import GangRecord


class Running:
    """Gangs that run and may be stopped, by queue, as they were when it was made."""

    def __init__(self, state: Holdings) -> None:
        self.by_queue: dict[str, list[GangRecord]] = {}
        for record in state.settled():
            if record.gang.preemptible:
                self.by_queue.setdefault(record.gang.queue, []).append(record)
        self._milli: dict[str, dict[int, int]] = {}
        self._ripe: dict[tuple[str, ...], int | None] = {}

    def milli(self, queue: str, priority: int) -> int:
        """Thousandths of GPUs of the gangs of a queue up to a priority."""
        by_priority = self._milli.get(queue)
        if by_priority is None:
            by_priority = self._milli[queue] = {}
            for record in self.by_queue.get(queue, ()):
                mine = record.gang.priority
                pods = record.placement.pods if record.placement else ()
                by_priority[mine] = by_priority.get(mine, 0) + price.gpu_milli(pods)
        return sum(milli for each, milli in by_priority.items() if each <= priority)

    def first_ripe(
        self, queues: tuple[str, ...], first: Callable[[Iterable[GangRecord]], int | None]
    ) -> int | None:
        """What `first` says of the gangs of some queues; in one cycle every asker says the same."""
        if queues not in self._ripe:
            self._ripe[queues] = first(e for queue in queues for e in self.by_queue[queue])
        return self._ripe[queues]
