"""Files fit in the head and say what they are for."""

import ast
import re
from collections.abc import Iterator

from tools.archlint.source import Finding, Source

MOST_LINES = 400

LONGER_ALLOWED: dict[str, str] = {}
"""Path -> why this file is better in one piece."""

_SUPPRESSION = re.compile(r"#\s*(?:noqa(?::\s*[A-Z0-9, ]+)?|type:\s*ignore(?:\[[\w, -]+\])?)(.*)$")


def too_long(files: list[Source]) -> Iterator[Finding]:
    """No file is longer than `MOST_LINES` without a reason given above."""
    for source in files:
        lines = source.text.count("\n")
        if lines > MOST_LINES and source.path not in LONGER_ALLOWED:
            message = f"{lines} lines; most are {MOST_LINES}: split it by subject"
            yield Finding(source.path, 0, "length", message)


def undocumented(files: list[Source]) -> Iterator[Finding]:
    """Every public module, class and function has a docstring; empty packages need none."""
    for source in files:
        if source.text.strip() and not ast.get_docstring(source.tree):
            yield Finding(source.path, 1, "docstring", "the module has no docstring")
        for name, node in _public(source.tree):
            if not ast.get_docstring(node):
                yield Finding(source.path, node.lineno, "docstring", f"{name} has no docstring")


def unexplained(files: list[Source]) -> Iterator[Finding]:
    """A suppressed warning has its reason beside it, or in a comment on the line above."""
    for source in files:
        above = ""
        for number, line in enumerate(source.text.splitlines(), 1):
            found = _SUPPRESSION.search(line)
            if found and len(found[1].strip(" #-:")) < 4 and not above.strip().startswith("#"):
                yield Finding(source.path, number, "reason", "say why this warning is suppressed")
            above = line


_Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _public(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[str, _Documented]]:
    for node in tree.body:
        if isinstance(node, _Documented) and not node.name.startswith("_") and not _variant(node):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)


def _variant(node: _Documented) -> bool:
    """Overloads, setters and overrides are documented where they are introduced."""
    names = {
        part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")
        for part in node.decorator_list
    }
    return bool(names & {"overload", "setter", "override"})
