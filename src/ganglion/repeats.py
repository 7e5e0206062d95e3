"""Log lines that repeat are written once and counted: a flood of one error fills no disk."""

import copy
import logging
from collections import OrderedDict
from typing import Any

INTERVAL_S = 60.0
"""A line that comes again within this time is counted; then one line says how often it came."""
MOST_KEYS = 1_000
"""Different lines that are remembered."""
PASSING = frozenset({"timestamp", "request"})
"""Keys of a structured line that differ although it is the same."""


class _Seen:
    def __init__(self, record: logging.LogRecord) -> None:
        self.since, self.last, self.count = record.created, record, 0


class Repeats(logging.Handler):
    """Passes lines on to another handler, those that repeat with `repeated`, their number.

    The number is written with the first line of any kind after the interval, or at the end.

    Args:
        inner: writes.
        interval_s: see `INTERVAL_S`.
    """

    def __init__(self, inner: logging.Handler, interval_s: float = INTERVAL_S) -> None:
        super().__init__()
        self._inner, self._interval_s = inner, interval_s
        self._seen: OrderedDict[object, _Seen] = OrderedDict()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it."""
        self._sweep(record.created - self._interval_s)
        key = _key(record)
        seen = self._seen.get(key)
        if seen:
            seen.count, seen.last = seen.count + 1, record
            return
        if len(self._seen) >= MOST_KEYS:
            self._tell(*self._seen.popitem(last=False))
        self._seen[key] = _Seen(record)
        self._inner.handle(record)

    def close(self) -> None:
        """Write what was only counted, and end."""
        self._sweep(float("inf"))
        self._inner.close()
        super().close()

    def _sweep(self, before: float) -> None:
        while self._seen:
            key, seen = next(iter(self._seen.items()))
            if seen.since > before:
                return
            del self._seen[key]
            self._tell(key, seen)

    def _tell(self, _key: object, seen: _Seen) -> None:
        if seen.count:
            self._inner.handle(_counted(seen.last, seen.count))


def _key(record: logging.LogRecord) -> object:
    """What makes a line the same as another one."""
    said: Any = record.msg
    if isinstance(said, dict):
        text = repr([(key, value) for key, value in said.items() if key not in PASSING])
    else:
        text = record.getMessage()
    error = record.exc_info[0] if record.exc_info else None
    return record.name, record.levelno, text, error


def _counted(record: logging.LogRecord, count: int) -> logging.LogRecord:
    made = copy.copy(record)
    said: Any = record.msg
    if isinstance(said, dict):
        made.msg = {**said, "repeated": count}
    else:
        made.msg, made.args = f"{record.getMessage()} (repeated: {count})", ()
    return made
