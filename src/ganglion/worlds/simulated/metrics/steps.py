"""Step functions over time, kept as exact averages in a bounded number of buckets."""

FIRST_WIDTH_MS = 1_000


class Steps:
    """A value that jumps now and then, remembered as its integral per bucket of time.

    When the run grows longer than all buckets together, neighbours are merged and buckets
    become twice as wide. Integrals stay exact integers, so the averages do not depend on how
    often that happened, and memory does not depend on the length of the run.

    Args:
        start: time at which it begins, in ms; the value is 0 until set.
        buckets: most buckets; even.

    Attributes:
        value: the present value.
        total: integral so far in value x ms.
        width: width of a bucket in ms.
    """

    __slots__ = ("_bins", "_buckets", "_since", "_start", "total", "value", "width")

    def __init__(self, start: int, buckets: int = 512) -> None:
        self.value = self.total = 0
        self.width = FIRST_WIDTH_MS
        self._start = self._since = start
        self._buckets = buckets
        self._bins: list[int] = [0]

    def set(self, at: int, value: int) -> None:
        """The value from `at` (ms) on; times never go back."""
        if at != self._since:
            self._spread(at)
        self.value = value

    def add(self, at: int, change: int) -> None:
        """Change the value from `at` (ms) on."""
        if at != self._since:
            self._spread(at)
        self.value += change

    def means(self, until: int) -> list[float]:
        """Average per bucket from the start to `until` (ms); the last bucket may be partial."""
        self._spread(until)
        return [
            bin_ / span for bin_, span in zip(self._bins, self.spans(until), strict=False) if span
        ]

    def spans(self, until: int) -> list[int]:
        """Width of each bucket in ms, the last one cut at `until`."""
        length, width = until - self._start, self.width
        return [min(width, length - i * width) for i in range(-(-length // width))]

    def bins(self, until: int) -> list[int]:
        """Integral per bucket in value x ms."""
        self._spread(until)
        return self._bins[: len(self.spans(until))]

    def mean(self, until: int) -> float:
        """Average from the start to `until` (ms); 0 for an empty span."""
        self._spread(until)
        length = until - self._start
        return self.total / length if length > 0 else 0.0

    def _spread(self, at: int) -> None:
        if at <= self._since:
            return
        while at - self._start > self.width * self._buckets:
            self._merge()
        self.total += self.value * (at - self._since)
        first = (self._since - self._start) // self.width
        last = (at - self._start - 1) // self.width
        bins = self._bins
        if last >= len(bins):
            bins.extend([0] * (last + 1 - len(bins)))
        if self.value:
            self._fill(first, last, at)
        self._since = at

    def _fill(self, first: int, last: int, at: int) -> None:
        bins, width, value = self._bins, self.width, self.value
        if first == last:
            bins[first] += value * (at - self._since)
            return
        bins[first] += value * (self._start + (first + 1) * width - self._since)
        for place in range(first + 1, last):
            bins[place] += value * width
        bins[last] += value * (at - self._start - last * width)

    def _merge(self) -> None:
        bins = self._bins
        if len(bins) % 2:
            bins.append(0)
        self._bins = [bins[i] + bins[i + 1] for i in range(0, len(bins), 2)]
        self.width *= 2
