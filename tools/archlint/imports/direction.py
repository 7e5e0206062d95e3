"""Imports go down, from room to room and from module to module."""

from collections.abc import Iterator

from tools.archlint.imports.folders import FOLDERS
from tools.archlint.source import OURS, PACKAGE, Finding, Modules, Source

CORE = frozenset({"model", "pricing", "engine", "extensions"})
WORLDS = frozenset({"worlds", "worlds.kubernetes", "worlds.local", "worlds.simulated"})
BELOW_SERVER = CORE | WORLDS | {"api", "collector", "extras", "specs", "compat", "lifecycle"}
BELOW_SERVER |= {"audit", "helper", "identity"}
BELOW_SERVER |= {
    "ledger",
    "metering",
    "pricing",
    "repeats",
    "router",
    "seams",
    "tracing",
    "transport",
    "whatif",
}
OF_WORLDS = CORE | {"lifecycle", "seams", "specs", "worlds"}

MAY_IMPORT: dict[str, frozenset[str]] = {
    "model": frozenset(),
    "identity": frozenset(),
    "api": frozenset({"model"}),
    "engine": frozenset({"model", "pricing"}),
    "extensions": frozenset({"model", "engine"}),
    "extras": frozenset({"model"}),
    "seams": frozenset(),
    "collector": frozenset(),
    "checkpoint": frozenset(),
    "specs": frozenset({"model"}),
    "compat": frozenset({"model", "specs"}),
    "lifecycle": CORE,
    "pricing": frozenset({"model"}),
    "metering": frozenset({"model", "pricing"}),
    "ledger": CORE | {"metering", "pricing", "seams"},
    "audit": frozenset({"model", "ledger", "seams", "transport"}),
    "helper": frozenset({"transport"}),
    "repeats": frozenset(),
    "tracing": frozenset({"seams"}),
    "transport": frozenset({"identity", "model", "seams", "specs"}),
    "router": frozenset(
        {"identity", "model", "collector", "extras", "repeats", "seams", "transport"}
    ),
    "worlds": CORE | {"lifecycle", "seams", "specs"},
    "worlds.kubernetes": OF_WORLDS | {"transport"},
    "worlds.local": OF_WORLDS | {"helper", "transport"},
    "worlds.simulated": OF_WORLDS,
    "server": BELOW_SERVER,
    "client": frozenset({"model", "api", "seams", "specs", "tracing", "transport"}),
    "whatif": CORE | {"api", "lifecycle", "metering", "specs", "worlds", "worlds.simulated"},
    "scenarios": CORE | {"lifecycle", "specs"},
    "demo": frozenset({"model", "api", "client", "specs", "checkpoint"}),
    "cli": BELOW_SERVER | {"server", "client", "demo", "scenarios"},
    "benchmarks": BELOW_SERVER | {"client", "cli"},
    "conformance": CORE | {"specs", "scenarios", "cli"},
}
"""Room -> rooms it may import from; its own is always allowed. A room within a room is named
with both."""


MOST_ROOMS = 20
"""Folders and single modules that the engine may have."""


def room_of(module: str) -> str:
    """The innermost room that a module lies in; what is in none keeps its top name."""
    top, *names = module.split(".")
    if top != PACKAGE:
        return top
    inner = ".".join(names[:2])
    return inner if inner in MAY_IMPORT else ".".join(names[:1])


def wrong_way(files: list[Source]) -> Iterator[Finding]:
    """Every import inside the package follows `MAY_IMPORT`."""
    for source in files:
        room = room_of(source.module)
        if room in {"", "__main__"}:
            continue
        allowed = MAY_IMPORT.get(room)
        if allowed is None:
            yield Finding(source.path, 0, "direction", f"{room} is not a known room")
            continue
        for other, line in _rooms(source):
            if other not in allowed | {room}:
                message = f"{room} may not import {other}"
                yield Finding(source.path, line, "direction", message)


def wrong_folder(files: list[Source]) -> Iterator[Finding]:
    """Folders of one package import one another as `FOLDERS` says."""
    for source in files:
        package, own = _folder(source.module)
        for each in source.imports if own else ():
            whole, other = _folder(each.origin)
            if whole != package or other in {"", own}:
                continue
            known = FOLDERS[package].get(own)
            if known is None or other not in known.split():
                message = f"{package}.{own} may not import {package}.{other}"
                yield Finding(source.path, each.line, "direction", message)


def many_rooms(files: list[Source]) -> Iterator[Finding]:
    """The engine has few enough folders and single modules to be drawn on one screen."""
    rooms = {_folder(source.module) for source in files}
    found = sorted(room for package, room in rooms if package == "engine" and room)
    if len(found) > MOST_ROOMS:
        message = f"{len(found)} rooms, more than {MOST_ROOMS}: {', '.join(found)}"
        yield Finding("src/ganglion/engine", 0, "rooms", message)


def _folder(module: str) -> tuple[str, str]:
    """The package of `FOLDERS` that a module lies in, and its folder there; empty = none."""
    name = module.removeprefix(f"{PACKAGE}.")
    for package in FOLDERS:
        if name.startswith(f"{package}."):
            return package, name[len(package) + 1 :].split(".")[0]
    return "", ""


def _rooms(source: Source) -> Iterator[tuple[str, int]]:
    for each in source.imports:
        # `from ganglion import __version__` reaches the package itself, not a room.
        names = each.origin.split(".")
        if names[0] in OURS and len(names) > 1 and not names[1].startswith("__"):
            yield room_of(each.origin), each.line


def circles(files: list[Source]) -> Iterator[Finding]:
    """No module imports itself through others, not even for its types."""
    modules = Modules(files)
    graph = {
        source.module: {name for name, _ in modules.imported(source) if name != source.module}
        for source in files
    }
    for circle in _components(graph):
        path = modules.by_name[circle[0]].path
        yield Finding(path, 0, "circle", f"these import one another: {', '.join(circle)}")


def _components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach one another, by Kosaraju's two passes."""
    order: list[str] = []
    _visit(graph, sorted(graph), order)
    back: dict[str, set[str]] = {name: set() for name in graph}
    for name, others in graph.items():
        for other in others:
            back[other].add(name)
    seen: set[str] = set()
    groups = []
    for name in reversed(order):
        group: list[str] = []
        _visit(back, [name], group, seen)
        if len(group) > 1:
            groups.append(sorted(group))
    return sorted(groups)


def _visit(
    graph: dict[str, set[str]],
    starts: list[str],
    finished: list[str],
    seen: set[str] | None = None,
) -> None:
    """Append what is reached from `starts`, each after all that it reaches."""
    seen = set() if seen is None else seen
    for start in starts:
        stack = [(start, iter(sorted(graph[start])))] if start not in seen else []
        seen.add(start)
        while stack:
            name, others = stack[-1]
            for other in others:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, iter(sorted(graph[other]))))
                    break
            else:
                stack.pop()
                finished.append(name)
