"""A class name means one thing in the product."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tools.archlint.files.classes_left import TWICE
from tools.archlint.source import PACKAGE, Finding, Source

_NO_CLASS = frozenset({"TypeVar", "TypeVarTuple", "ParamSpec"})
"""Calls that take the name they are assigned to, and make no class."""


def named_twice(files: list[Source], allowed: Mapping[str, str] = TWICE) -> Iterator[Finding]:
    """No two public classes of the product have one name, but those with a reason.

    A class that inherits from another of its name is the same thing in another form.
    """
    places: dict[str, list[tuple[Source, int]]] = defaultdict(list)
    for source in files:
        if source.module.partition(".")[0] == PACKAGE:
            for name, line in _classes(source):
                places[name].append((source, line))
    twice = {
        name: found
        for name, found in places.items()
        if len({source.module for source, _ in found}) > 1
    }
    for name, found in twice.items():
        if name not in allowed:
            where = ", ".join(source.module for source, _ in found)
            source, line = found[-1]
            yield Finding(source.path, line, "class name", f"{name} means two things: {where}")
    for name in allowed.keys() - twice.keys() if len(places) > 1 else ():
        path = "tools/archlint/files/classes_left.py"
        yield Finding(path, 0, "class name", f"{name} means one thing: delete its row")


def _classes(source: Source) -> Iterator[tuple[str, int]]:
    """Public classes at any depth, and what is assigned under the name that makes it a class."""
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            if not node.name.startswith("_") and node.name not in _last_names(node.bases):
                yield node.name, node.lineno
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Name) and _makes(node.value, target.id):
                    yield target.id, node.lineno


def _makes(call: ast.Call, name: str) -> bool:
    """Whether a call makes a public class of that name, as `Enum("Kind", ...)` does."""
    given = call.args[0] if call.args else None
    is_named = isinstance(given, ast.Constant) and given.value == name
    return is_named and name[0].isupper() and not _last_names([call.func]) & _NO_CLASS


def _last_names(nodes: list[ast.expr]) -> set[str]:
    """The last name of each expression: `Reason` of `reasons.Reason`."""
    return {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Name)
    }
