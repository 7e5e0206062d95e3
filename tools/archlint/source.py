"""Source files as the rules see them, and what a rule finds."""

import ast
import gc
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
"""Top of the checkout."""

PACKAGE = "ganglion"
BESIDE = ("benchmarks", "conformance")
"""Packages beside the product: they use it, and are not installed with it."""
OURS = frozenset({PACKAGE, *BESIDE})


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


class Import(NamedTuple):
    """One imported name.

    Attributes:
        origin: what is imported, absolute: `numpy.random` for `from numpy import random`.
        module: the module that is named: `numpy` there.
        name: the local name of `origin`; for `import a.b` it is `a`.
        line: 1-based.
    """

    origin: str
    module: str
    name: str
    line: int


def walk(tree: ast.AST) -> list[ast.AST]:
    """Every node of a tree, outer ones first, as `ast.walk` yields them, but contexts.

    Contexts (`ast.Load` and its like) are a third of all nodes, and no rule asks for them by node.
    """
    found = [tree]
    for node in found:
        found += children(node)
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in order, but contexts."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and name != "ctx":
            found.append(value)
    return found


class Source:
    """One Python file.

    Attributes:
        path: relative to the checkout, with forward slashes.
        module: dotted name, as `ganglion.engine.cycle`; packages without `__init__`.
        text: its content.
        tree: the same, parsed.
        nodes: every node of the tree but contexts, outer ones first.
    """

    def __init__(self, path: str, module: str, text: str) -> None:
        self.path, self.module, self.text = path, module, text
        self.tree = ast.parse(text, path)
        self.nodes = tuple(walk(self.tree))

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        is_package = self.path.endswith("__init__.py")
        return self.module if is_package else self.module.rpartition(".")[0]

    @property
    def part(self) -> str:
        """The package it lies in, as `engine`; empty for the package itself.

        What lies beside the product goes by its own name.
        """
        top, _, below = self.module.partition(".")
        return below.partition(".")[0] if top == PACKAGE else top

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import of the file, at any depth and under any condition."""
        return tuple(self._imports())

    def _imports(self) -> Iterator[Import]:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    yield Import(alias.name, alias.name, name, node.lineno)
            elif isinstance(node, ast.ImportFrom):
                module = self._module(node)
                for alias in node.names:
                    name = alias.asname or alias.name
                    yield Import(f"{module}.{alias.name}", module, name, node.lineno)

    def _module(self, node: ast.ImportFrom) -> str:
        """The absolute name of the module that `from … import` names."""
        if not node.level:
            return node.module or ""
        parts = self.package.split(".")
        above = parts[: len(parts) - node.level + 1]
        return ".".join([*above, *filter(None, [node.module])])


def parse(path: str, text: str) -> Source:
    """Return the source of a file at `path` (relative to the checkout)."""
    names = list(Path(path.removeprefix("src/")).with_suffix("").parts)
    if names[-1] == "__init__":
        names.pop()
    return Source(path, ".".join(names), text)


@cache
def sources(root: Path = ROOT) -> list[Source]:
    """Return every Python file of the package and of those beside it, sorted by path."""
    tops = (root / "src" / PACKAGE, *(root / name for name in BESIDE))
    files = [file for top in tops for file in sorted(top.rglob("*.py"))]
    # Nothing of a tree is garbage yet: to look for some takes longer than to parse.
    gc.disable()
    try:
        return [parse(file.relative_to(root).as_posix(), file.read_text("utf-8")) for file in files]
    finally:
        gc.enable()


class Modules:
    """The modules of the project, by name.

    Args:
        files: all sources that imports are resolved in.
    """

    def __init__(self, files: Iterable[Source]) -> None:
        self.by_name = {source.module: source for source in files}

    def imported(self, source: Source) -> Iterator[tuple[str, int]]:
        """Yield the modules of the project that a file imports, with the line."""
        for each in source.imports:
            name = self.named(each)
            if name:
                yield name, each.line

    def named(self, imported: Import) -> str:
        """The module of the project that an import names; empty = none."""
        names = (imported.origin, imported.module)
        return next((name for name in names if name in self.by_name), "")
