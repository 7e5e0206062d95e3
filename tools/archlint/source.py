"""Source files as the rules see them, and what a rule finds."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
"""Top of the checkout."""

PACKAGE = "ganglion"


class Finding(NamedTuple):
    """One breach of a rule.

    Attributes:
        path: file relative to the checkout.
        line: 1-based; 0 = the whole file.
        rule: short name of the rule.
        message: what is wrong and, where it helps, what to do.
    """

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


class Source(NamedTuple):
    """One Python file.

    Attributes:
        path: relative to the checkout, with forward slashes.
        module: dotted name, as `ganglion.engine.cycle`; packages without `__init__`.
        text: its content.
        tree: the same, parsed.
    """

    path: str
    module: str
    text: str
    tree: ast.Module

    @property
    def part(self) -> str:
        """The room of the house it lies in, as `engine`; empty for the package itself."""
        return self.module.partition(".")[2].partition(".")[0]


def parse(path: str, text: str) -> Source:
    """Return the source of a file at `path` (relative to the checkout, under `src/`)."""
    names = list(Path(path).with_suffix("").parts[1:])
    if names[-1] == "__init__":
        names.pop()
    return Source(path, ".".join(names), text, ast.parse(text, path))


@cache
def sources(root: Path = ROOT) -> list[Source]:
    """Return every Python file of the package, sorted by path."""
    files = sorted((root / "src" / PACKAGE).rglob("*.py"))
    return [parse(file.relative_to(root).as_posix(), file.read_text("utf-8")) for file in files]


def imports(source: Source) -> Iterator[tuple[str, int]]:
    """Yield each imported module (absolute, as written in `from X import`) and its line."""
    package = source.module.split(".")
    if not source.path.endswith("__init__.py"):
        package = package[:-1]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            above = package[: len(package) - node.level + 1]
            yield ".".join([*above, *filter(None, [node.module])]), node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            yield from ((f"{PACKAGE}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno
