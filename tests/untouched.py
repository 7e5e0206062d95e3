"""What the tests of one process share, and each has to leave as it found it.

A log that a test leaves quiet, or a variable that it leaves set, fails tests that run later in the
same process, and only where chance puts them there.
"""

import gc
import locale
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

OWN = "PYTEST_CURRENT_TEST"
"""Variable that pytest sets and removes."""
SIGNALS = tuple(
    getattr(signal, f"SIG{name}")
    for name in ("ALRM", "CHLD", "HUP", "INT", "PIPE", "QUIT", "TERM", "USR1", "USR2", "WINCH")
)


class Shared(NamedTuple):
    """What tests share, at one moment; to look costs some 20 microseconds."""

    environment: dict[str, str]
    folder: str
    umask: int
    import_path: list[str]
    signals: tuple[Any, ...]
    locale: str
    zone: tuple[str, str]
    collector: tuple[Any, ...]
    root_logger: tuple[Any, ...]
    loggers: tuple[Any, ...]
    structlog: tuple[Any, ...]


def shared() -> Shared:
    """What tests share, as it is now."""
    environment = dict(os.environ)
    environment.pop(OWN, None)
    root = logging.getLogger()
    return Shared(
        environment,
        os.getcwd(),  # noqa: PTH109 - a Path costs more than all else here
        _umask(),
        sys.path.copy(),
        tuple(map(signal.getsignal, SIGNALS)),
        locale.setlocale(locale.LC_ALL),
        time.tzname,
        (gc.isenabled(), *gc.get_threshold()),
        (root.level, *root.handlers),
        (root.manager.disable, logging.raiseExceptions),
        _structlog(),
    )


def _structlog() -> tuple[Any, ...]:
    """How structlog is configured; empty = it is not loaded."""
    if "structlog" not in sys.modules:
        return ()
    found = sys.modules["structlog"].get_config()
    return (*found.pop("processors"), *found.values())


def _umask() -> int:
    """The umask: who sets the one that there is already disturbs no other thread."""
    found = os.umask(_umask_of[0])
    if found != _umask_of[0]:
        os.umask(found)
        _umask_of[0] = found
    return found


_umask_of = [0o022]


def changes(before: Shared, after: Shared) -> list[str]:
    """What is not as it was, in words."""
    return [
        f"{name}: {_difference(one, other)}"
        for name, one, other in zip(Shared._fields, before, after, strict=True)
        if one != other and not (name == "structlog" and one == ())
    ]


def _difference(before: Any, after: Any) -> str:
    if isinstance(before, dict):
        keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        return ", ".join(f"{key} {before.get(key)!r} -> {after.get(key)!r}" for key in keys)
    return f"{before!r} -> {after!r}"


@contextmanager
def untouched(by: str) -> Iterator[None]:
    """Raise AssertionError at the end when something is not as it was at the beginning.

    Args:
        by: what has to leave it so.
    """
    before = shared()
    yield
    found = changes(before, shared())
    assert not found, f"{by} leaves changed what tests share: {'; '.join(found)}"
