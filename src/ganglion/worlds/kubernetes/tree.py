"""The queues and the policy of a cluster, as its own objects say."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ganglion.model.queue import Queue
from ganglion.worlds.kubernetes.brain.brain import News
from ganglion.worlds.kubernetes.brain.orders import Changed
from ganglion.worlds.kubernetes.config.read import IN_FORCE, Configuration, configuration
from ganglion.worlds.kubernetes.objects.meta import Anything

DEFAULT_QUEUE = "default"
"""Exists as long as no `Queue` does, so that a cluster without any can be used at once."""


class QueueTree:
    """Keeps the objects, and reads them anew when one has changed.

    Args:
        in_force: name of the policy that decides.

    Attributes:
        latest: what they said last.
    """

    def __init__(self, in_force: str = IN_FORCE) -> None:
        self._in_force = in_force
        self._queues: dict[str, Anything] = {}
        self._policies: dict[str, Anything] = {}
        self._is_stale = True
        self.latest: Configuration | None = None

    def sift(self, news: Iterable[News]) -> list[News]:
        """Take out what is about queues and policies; returns the rest.

        Where there are several clusters, the objects of all of them make up one tree.
        """
        return list(self._others(news))

    def changed(self, flavors: Sequence[str]) -> Configuration | None:
        """What the objects say now, if it is something else than last time."""
        if not self._is_stale:
            return None
        self._is_stale = False
        found = configuration(
            self._queues.values(), self._policies.values(), flavors, self._in_force
        )
        if not self._queues and not found.queues:
            found = replace(found, queues=(Queue(DEFAULT_QUEUE),))
        self.latest = found
        return found

    def _others(self, news: Iterable[News]) -> Iterator[News]:
        for each in news:
            if not isinstance(each, Changed) or each.kind not in ("queue", "policy"):
                yield each
                continue
            table = self._queues if each.kind == "queue" else self._policies
            before = table.pop(each.uid, None)
            if each.item is not None:
                table[each.uid] = each.item
            self._is_stale |= before is None or each.item is None or before.spec != each.item.spec
