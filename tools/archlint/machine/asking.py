"""In the local world one module asks the kernel and the file system what is there now.

What is asked for may vanish between two calls. `ganglion.worlds.local.machine.host` tells "gone"
and "not told" apart, and `ganglion.worlds.local.machine.nvml` does so for GPUs. A look past them
brings back verdicts that a job failed because a process ended while it was listed.
"""

import ast
from collections.abc import Iterator

from tools.archlint.source import Finding, Source

ROOM = "ganglion.worlds.local."
READERS = {"ganglion.worlds.local.machine.host", "ganglion.worlds.local.machine.nvml"}

METHODS = frozenset(
    {
        "access",
        "exists",
        "glob",
        "is_dir",
        "is_file",
        "is_symlink",
        "iterdir",
        "listdir",
        "lstat",
        "rglob",
        "scandir",
        "stat",
        "walk",
    }
)
"""Calls that look at the file system; `host.stat` and its like are the way to make them."""
LIBRARIES = {"psutil", "pynvml"}
TREES = ("/proc", "/sys")

ASKING_ALLOWED: dict[tuple[str, str], str] = {
    ("ganglion.worlds.local.machine.discover", "/sys/fs/cgroup"): "a path that is handed to host",
    ("ganglion.worlds.local.machine.gpus", "/sys"): "a path that is handed to host",
}
"""(module, what) -> why it is right there."""


def asks_past_the_seam(files: list[Source]) -> Iterator[Finding]:
    """Find looks at processes, GPUs and files that do not go through the one reader."""
    for source in files:
        if source.module.startswith(ROOM) and source.module not in READERS:
            for line, what in _asked(source):
                if (source.module, what) not in ASKING_ALLOWED:
                    said = f"{what}: ask ganglion.worlds.local.machine.host or .nvml"
                    yield Finding(source.path, line, "asking", said)


def _asked(source: Source) -> Iterator[tuple[int, str]]:
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, n.name) for n in node.names if n.name in LIBRARIES)
        elif isinstance(node, ast.ImportFrom) and node.module in LIBRARIES:
            yield node.lineno, str(node.module)
        elif isinstance(node, ast.Call):
            yield from _called(node)
        elif isinstance(node, ast.Constant) and _in_tree(node.value):
            yield node.lineno, str(node.value)


def _in_tree(value: object) -> bool:
    return isinstance(value, str) and (
        value in TREES or value.startswith(tuple(f"{tree}/" for tree in TREES))
    )


def _called(node: ast.Call) -> Iterator[tuple[int, str]]:
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr in METHODS:
        on = called.value
        if not (isinstance(on, ast.Name) and on.id == "host"):
            yield node.lineno, called.attr
