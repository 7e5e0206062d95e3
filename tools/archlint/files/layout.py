"""Folders hold few modules of one subject; a file that exists for one other joins it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.archlint.source import PACKAGE, ROOT, Finding, Modules, Source

MOST_MODULES = 12
FEWEST_LINES = 40

BELOW = "its importer lies above what it is a rule of: there others may not reach it"
PURE = "it decides, and is pure; its only importer acts"
PART = "one of several of a kind, each in a file of its own"
FULL = "its importer is as long as a file may be"

FRAGMENTS_ALLOWED: dict[str, str] = {
    "client.calls.again": PART,
    "client.calls.secrets": PART,
    "lifecycle.failures.blame": PURE,
    "lifecycle.resuming": PURE,
    "lifecycle.workspaces.returning": PURE,
    "server.routes.workspaces": PART,
    "specs.grammar.times.cron": BELOW,
    "worlds.kubernetes.cluster_view.quarantine": FULL,
    "worlds.kubernetes.controller_state.evictions": PART,
    "worlds.kubernetes.submit.trouble": BELOW,
    "worlds.kubernetes.types.lease": PART,
    "worlds.local.attempts.listening": BELOW,
    "worlds.simulated.metrics.typical": PART,
}
"""Module below the package -> why it is a file of its own."""


def crowded(files: list[Source]) -> Iterator[Finding]:
    """No folder of the project holds more modules than a subject has."""
    yield from _crowded(source.path for source in files)


def crowded_beside(files: list[Path], root: Path = ROOT) -> Iterator[Finding]:
    """Nor does one of the tools, or of the tests, whose helpers do not count."""
    paths = (file.relative_to(root).as_posix() for file in files if file.suffix == ".py")
    yield from _crowded(
        path
        for path in paths
        if path.startswith("tools/") or (path.startswith("tests/") and "/test_" in path)
    )


def _crowded(paths: Iterable[str]) -> Iterator[Finding]:
    modules: dict[str, int] = defaultdict(int)
    for path in paths:
        folder, _, name = path.rpartition("/")
        modules[folder] += name != "__init__.py"
    for folder, count in modules.items():
        if count > MOST_MODULES:
            message = f"{count} modules; most are {MOST_MODULES}: a folder is one subject"
            yield Finding(folder, 0, "folder", message)


def fragments(
    files: list[Source], allowed: Mapping[str, str] = FRAGMENTS_ALLOWED
) -> Iterator[Finding]:
    """No file of the product is short and has a single importer, but those with a reason.

    What no other imports is loaded by its name, as commands are.
    """
    modules = Modules(files)
    importers: dict[str, set[str]] = defaultdict(set)
    for source in files:
        for name, _ in modules.imported(source):
            importers[name].add(source.module)
    short = set()
    for source in files:
        top, _, name = source.module.partition(".")
        if top != PACKAGE or source.path.endswith("__init__.py"):
            continue
        if source.text.count("\n") < FEWEST_LINES and len(importers[source.module]) == 1:
            short.add(name)
            if name not in allowed:
                other = min(importers[source.module])
                message = f"only {other} imports these few lines: join them, or say why not"
                yield Finding(source.path, 0, "fragment", message)
    for name in sorted(allowed.keys() - short):
        message = f"{name} needs no reason: delete its row"
        yield Finding("tools/archlint/files/layout.py", 0, "fragment", message)
