"""When what runs is expected to end, in buckets of time, so that it can be read quickly."""

from collections.abc import Iterator, Set

from ganglion.model.resources import Usage

GRAIN_MS = 60_000
"""Width of a bucket."""

Charged = tuple[tuple[str, Usage], ...]


class Load:
    """What running gangs use by flavor and by the bucket in which they should end."""

    def __init__(self) -> None:
        self._gangs: dict[str, tuple[int, Charged]] = {}
        self._buckets: dict[str, dict[int, Usage]] = {}

    def add(self, gang: str, end: int, charged: Charged) -> None:
        """A gang starts that should end then (ms)."""
        self.remove(gang)
        self._gangs[gang] = (end // GRAIN_MS, charged)
        self._count(end // GRAIN_MS, charged, 1)

    def remove(self, gang: str) -> None:
        """A gang runs no more; does nothing for one that did not."""
        known = self._gangs.pop(gang, None)
        if known:
            self._count(*known, -1)

    def running(self, flavors: Set[str], now: int) -> Iterator[tuple[int, Usage]]:
        """(time left in ms, use) of all that runs on the flavors, bucket by bucket.

        What is overdue may run half as long again as it is late.
        """
        for flavor in sorted(flavors & self._buckets.keys()):
            for bucket, usage in self._buckets[flavor].items():
                left = (bucket + 1) * GRAIN_MS - now
                yield (left if left > 0 else GRAIN_MS - left // 2, usage)

    def _count(self, bucket: int, charged: Charged, sign: int) -> None:
        for flavor, usage in charged:
            buckets = self._buckets.setdefault(flavor, {})
            total = buckets.get(bucket, Usage()).plus(usage, sign)
            if total == Usage():
                buckets.pop(bucket, None)
            else:
                buckets[bucket] = total
