"""What is free when: a step function of time, as conservative backfilling needs it."""

from bisect import bisect_left, bisect_right


class Profile:
    """Free GPUs over time, from a moment on.

    Args:
        begin: first moment, in ms.
        free: free GPUs as long as nothing is taken.
    """

    def __init__(self, begin: int, free: int) -> None:
        self._times, self._free = [begin], [free]

    def book(self, earliest: int, length: int, size: int) -> int:
        """Take the first gap that is long and wide enough; returns when it begins."""
        at = self._gap(earliest, length, size)
        self.take(at, at + length, size)
        return at

    def take(self, begin: int, end: int, size: int) -> None:
        """Take `size` from `begin` to `end`."""
        first, last = self._cut(begin), self._cut(end)
        for step in range(first, last):
            self._free[step] -= size

    def _gap(self, earliest: int, length: int, size: int) -> int:
        times, free = self._times, self._free
        step = bisect_right(times, earliest) - 1
        at = earliest
        until = at + length
        while step < len(times) and times[step] < until:
            if free[step] < size:
                step += 1
                while free[step] < size:
                    step += 1
                at = times[step]
                until = at + length
            step += 1
        return at

    def _cut(self, at: int) -> int:
        """The step that begins at that time; made if there is none."""
        step = bisect_left(self._times, at)
        if step == len(self._times) or self._times[step] != at:
            self._times.insert(step, at)
            self._free.insert(step, self._free[step - 1])
        return step
