"""Imports go one way through the house."""

from collections.abc import Iterator

from tools.archlint.source import PACKAGE, Finding, Source, imports

CORE = frozenset({"model", "engine", "extensions"})
BELOW_SERVER = CORE | {
    "collector",
    "files",
    "compat",
    "worlds",
    "lifecycle",
    "ledger",
    "router",
    "transport",
}

MAY_IMPORT: dict[str, frozenset[str]] = {
    "model": frozenset(),
    "engine": frozenset({"model"}),
    "extensions": frozenset({"model", "engine"}),
    "collector": frozenset(),
    "checkpoint": frozenset(),
    "files": frozenset({"model", "compat"}),
    "compat": frozenset({"model", "files"}),
    "lifecycle": CORE,
    "ledger": CORE,
    "transport": frozenset({"model"}),
    "router": frozenset({"model", "collector", "transport"}),
    "worlds": CORE | {"lifecycle", "files"},
    "server": BELOW_SERVER,
    "client": frozenset({"model", "files", "transport"}),
    "bench": BELOW_SERVER,
    "scenarios": CORE | {"files"},
    "demo": frozenset({"model", "client", "files", "checkpoint"}),
    "cli": BELOW_SERVER | {"server", "client", "bench", "demo", "scenarios"},
}
"""Room -> rooms it may import from; its own is always allowed."""


def wrong_way(files: list[Source]) -> Iterator[Finding]:
    """Every import inside the package follows `MAY_IMPORT`."""
    for source in files:
        if source.part in {"", "__main__"}:
            continue
        allowed = MAY_IMPORT.get(source.part)
        if allowed is None:
            yield Finding(source.path, 0, "direction", f"{source.part} is no room of the house")
            continue
        for room, line in _rooms(source):
            if room not in allowed | {source.part}:
                message = f"{source.part} may not import {PACKAGE}.{room}"
                yield Finding(source.path, line, "direction", message)


def _rooms(source: Source) -> Iterator[tuple[str, int]]:
    for name, line in imports(source):
        names = name.split(".")
        # `from ganglion import __version__` reaches the package itself, not a room.
        if names[0] == PACKAGE and len(names) > 1 and not names[1].startswith("__"):
            yield names[1], line
