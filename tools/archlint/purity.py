"""The engine is a pure function: no clock, chance, files, network, threads or floats."""

import ast
from collections.abc import Iterator

from tools.archlint.source import PACKAGE, Finding, Source, imports

PURE = frozenset(
    {
        "__future__",
        "abc",
        "bisect",
        "collections",
        "collections.abc",
        "copy",
        "dataclasses",
        "enum",
        "functools",
        "heapq",
        "itertools",
        "math",
        "msgspec",
        "msgspec.structs",
        "numpy",
        "numpy.typing",
        "operator",
        "types",
        "typing",
    }
)
"""What the engine may import beside `ganglion.model` and itself."""

IMPORTS_ALLOWED: dict[tuple[str, str], str] = {
    ("ganglion.engine.builtin", "importlib"): "loads the engine's own scores when one is named",
}
"""(module, import) -> why it is right there."""

IMPURE_CALLS = frozenset(
    {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "hash", "id"}
)
"""Builtins that reach outside, or whose answer differs from one process to the next."""

CALLS_ALLOWED: dict[tuple[str, str], str] = {
    ("ganglion.engine.fork", "id()"): "copies each object once; no decision sees the number",
}
"""(module, call) -> why it is right there."""

IMPURE_ATTRIBUTES = frozenset(
    {"now", "utcnow", "today", "random", "load", "save", "loadtxt", "savetxt", "fromfile", "tofile"}
)
"""Attributes of numpy, datetime and the like through which the same is reached."""

FLOATS_ALLOWED: dict[tuple[str, str], str] = {}
"""(module, function) -> why floating point is right there."""


def impure_imports(files: list[Source]) -> Iterator[Finding]:
    """The engine imports nothing but the model, itself and pure modules."""
    for source in _engine(files):
        for name, line in imports(source):
            own = name.startswith((f"{PACKAGE}.model", f"{PACKAGE}.engine"))
            if not (own or name in PURE or (source.module, name) in IMPORTS_ALLOWED):
                yield Finding(
                    source.path, line, "pure-imports", f"the engine may not import {name}"
                )


def impure_calls(files: list[Source]) -> Iterator[Finding]:
    """The engine calls nothing that reads or changes the world outside."""
    for source in _engine(files):
        for node in ast.walk(source.tree):
            name = _impure(node)
            if name and (source.module, name) not in CALLS_ALLOWED:
                line = getattr(node, "lineno", 0)
                yield Finding(source.path, line, "pure-calls", f"{name} has no place in the engine")


def floats(files: list[Source]) -> Iterator[Finding]:
    """The engine counts in integers, so that equal input gives equal output everywhere."""
    for source in _engine(files):
        for function, node in _by_function(source.tree):
            if (source.module, function) in FLOATS_ALLOWED or not _inexact(node):
                continue
            line = getattr(node, "lineno", 0)
            yield Finding(source.path, line, "integers", "floating point; use integers and //")


def _engine(files: list[Source]) -> list[Source]:
    return [source for source in files if source.part == "engine"]


def _impure(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"{node.func.id}()" if node.func.id in IMPURE_CALLS else ""
    # `self.now` and `state.now` are data; `np.random` and `datetime.now()` are not.
    if isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES:
        root = node.value
        if isinstance(root, ast.Name) and root.id in {"np", "numpy", "datetime", "date"}:
            return f"{root.id}.{node.attr}"
    return ""


def _inexact(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float | complex)
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.Div)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "float"
    return isinstance(node, ast.Attribute) and node.attr in {"float64", "float32", "true_divide"}


def _by_function(tree: ast.AST, name: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield every node with the name of the function around it."""
    for child in ast.iter_child_nodes(tree):
        inner = child.name if isinstance(child, ast.FunctionDef) else name
        yield inner, child
        yield from _by_function(child, inner)
