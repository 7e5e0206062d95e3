"""Lines of a log that were not read before, out of what a kubelet sends piece by piece."""

from ganglion.api.asked.questions import mark_of


class Rotated(Exception):
    """The lines that were read before are not where they were."""


class NewLines:
    """Skips lines that are known, and keeps those behind them.

    Args:
        limit: most bytes that are kept.
        skip: lines that are known.
        mark: `mark_of` the last of them; empty = it is not checked.
        after: lines of this time and before are left out too; empty = none are.

    Attributes:
        more: whether lines were left that came behind what is kept.
    """

    def __init__(self, limit: int, skip: int = 0, mark: str = "", after: str = "") -> None:
        self._limit, self._skip, self._mark = limit, skip, mark
        self._after = after.encode()
        self._rest = b""
        self._kept = list[bytes]()
        self._size = 0
        self.more = False

    def take(self, piece: bytes) -> bool:
        """Look at the next bytes of the log; returns whether no more are wanted.

        Raises:
            Rotated: the last line that is known is another one.
        """
        data = self._rest + piece
        if self._skip:
            data = self._skipped(data)
            if self._skip:
                self._rest = data
                return False
        *lines, self._rest = data.split(b"\n")
        for line in lines:
            self._keep(line)
            if self.more:
                return True
        # One line may be longer than all that is kept of a log: its begin is kept then.
        self._rest = self._rest[: self._limit]
        self.more = not self._is_known(self._rest) and self._size + len(self._rest) >= self._limit
        return self.more

    def _is_known(self, line: bytes) -> bool:
        return bool(self._after) and line.partition(b" ")[0] <= self._after

    def _skipped(self, data: bytes) -> bytes:
        """What is left of bytes without the lines that are known."""
        count = data.count(b"\n")
        if count < self._skip:
            self._skip -= count
            return data[data.rfind(b"\n") + 1 :]
        parts = data.split(b"\n", self._skip)
        if self._mark and mark_of(parts[-2]) != self._mark:
            raise Rotated
        self._skip = 0
        return parts[-1]

    def _keep(self, line: bytes, end: bytes = b"\n") -> None:
        if self._is_known(line):
            return
        if self._size + len(line) + 1 > self._limit:
            self.more = True
            if self._kept:
                return
            line = line[: self._limit - 1]  # one that is longer than all that is kept of a log
        self._kept.append(line + end)
        self._size += len(line) + 1

    def text(self, *, over: bool) -> bytes:
        """What is kept.

        Args:
            over: whether nothing more is written, so that a last line without its end is whole.

        Raises:
            Rotated: the log had fewer lines than are known.
        """
        if self._skip:
            raise Rotated
        if self._rest and self.more and not self._kept:  # a line of more than the limit
            self._keep(self._rest)
        elif self._rest and over and not self.more:
            self._keep(self._rest, b"")
        return b"".join(self._kept)
