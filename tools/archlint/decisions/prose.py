"""Decisions follow from causes, never from the words of one.

A cause is a value (`ganglion.model.causes`). Its sentence is for people: nothing that decides
compares it, takes it apart or looks something up by it, under whatever name it goes on.
"""

import ast
from collections.abc import Iterator, Mapping

from tools.archlint.source import Finding, Source, walk

PARTS = frozenset(
    {
        "model",
        "api",
        "engine",
        "lifecycle",
        "metering",
        "pricing",
        "worlds",
        "server",
        "scenarios",
        "conformance",
    }
)
FIELDS = frozenset({"cause", "held_for"})
"""Names that causes go by."""
MADE = "ganglion.model.causes.sentence"
TEXT = frozenset({"str", "repr", "format"})
LOOKS = frozenset(
    {
        *("startswith", "endswith", "find", "rfind", "index", "rindex", "count", "partition"),
        *("rpartition", "split", "rsplit", "removeprefix", "removesuffix", "isalpha", "__eq__"),
        *("__contains__", "__hash__", "casefold", "lower", "upper", "strip", "splitlines"),
    }
)
"""Methods that take a text apart."""
SEARCHES = frozenset({"match", "fullmatch", "search", "findall", "finditer", "split", "sub", "get"})
"""Methods that take one apart that they are given."""

MADE_OF = (ast.JoinedStr, ast.FormattedValue, ast.IfExp, ast.BoolOp, ast.BinOp)
"""Expressions that are made of others."""

PROSE_ALLOWED: Mapping[tuple[str, str], str] = {
    ("ganglion.model.events.fleet", "DeviceHealth"): "what a driver said; it causes no decision",
    (
        "ganglion.model.events.gangs",
        "GangEnded",
    ): "a code of the list `failures.causes.CAUSES`",
    ("ganglion.api.policies", "PolicyVersion"): "the edge: users read the sentence",
    ("ganglion.api.policies", "PolicyView"): "the edge: users read the sentence",
    ("ganglion.api.workloads", "Scaling"): "the edge: users read the sentence",
}
"""(module, class) with such a field that is text -> why it is right there."""

READERS = frozenset({"ganglion.model.causes.cause", "ganglion.model.causes.former"})
"""Modules that make sentences, and that read those of earlier versions."""


def prose_decides(files: list[Source]) -> Iterator[Finding]:
    """Find causes that are text, and looks at the words of causes."""
    for source in files:
        if source.part in PARTS and source.module not in READERS:
            yield from _text_fields(source)
            yield from _looks(source)


def _text_fields(source: Source) -> Iterator[Finding]:
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef) or (source.module, node.name) in PROSE_ALLOWED:
            continue
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                kinds = {n.id for n in ast.walk(each.annotation) if isinstance(n, ast.Name)}
                if each.target.id in FIELDS and "str" in kinds:
                    said = f"{node.name}.{each.target.id} is text: make it a Cause"
                    yield Finding(source.path, each.lineno, "prose", said)


def _looks(source: Source) -> Iterator[Finding]:
    makers = {each.name for each in source.imports if each.origin == MADE} | TEXT
    scopes = [n for n in source.nodes if isinstance(n, ast.FunctionDef | ast.Lambda | ast.Module)]
    seen = set[int]()
    for scope in scopes:
        words = _Words(makers)
        inside = walk(scope)
        while words.learn(inside):
            pass
        for node in inside:
            if words.looks(node) and node.lineno not in seen:  # type: ignore[attr-defined]  # statements and expressions have one
                seen.add(node.lineno)  # type: ignore[attr-defined]  # as above
                said = "it decides by the words of a cause: look at its kind and fields"
                yield Finding(source.path, node.lineno, "prose", said)  # type: ignore[attr-defined]  # as above


class _Words:
    """What holds the words of a cause within one function.

    Args:
        makers: names of functions that make words of a value.
    """

    def __init__(self, makers: set[str]) -> None:
        self._makers, self._names = makers, set[str]()

    def learn(self, nodes: list[ast.AST]) -> bool:
        """Follow one more step of assignments; False = there was none."""
        before = len(self._names)
        for node in nodes:
            if isinstance(node, ast.Assign) and self.holds(node.value):
                self._names.update(n.id for n in node.targets if isinstance(n, ast.Name))
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value:
                held = {node.target.id} if isinstance(node.target, ast.Name) else set()
                self._names.update(held if self.holds(node.value) else ())
        return len(self._names) > before

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression is the words of a cause, or made of them."""
        if isinstance(node, ast.Name):
            return node.id in self._names
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, MADE_OF):
            parts = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
            said = isinstance(node, ast.FormattedValue) and _is_cause(node.value)
            return said or any(map(self.holds, parts))
        if isinstance(node, ast.Attribute):
            return node.attr == "text" and _is_cause(node.value)
        inside = ast.Subscript | ast.NamedExpr | ast.Starred | ast.Await
        return isinstance(node, inside) and self.holds(node.value)

    def _called(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Name) and node.func.id in self._makers:
            texts = node.func.id in TEXT
            return not texts or any(_is_cause(each) or self.holds(each) for each in node.args)
        if isinstance(node.func, ast.Attribute):
            whole = node.func.attr in {"__str__", "__repr__", "__format__"}
            return self.holds(node.func.value) or (whole and _is_cause(node.func.value))
        return False

    def looks(self, node: ast.AST) -> bool:
        """Whether something here depends on what the words are."""
        if isinstance(node, ast.Compare):
            return any(map(self.holds, (node.left, *node.comparators)))
        if isinstance(node, ast.Match):
            return self.holds(node.subject)
        if isinstance(node, ast.Subscript):
            return self.holds(node.slice)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on = node.func.value
            taken = node.func.attr in LOOKS and (self.holds(on) or _is_cause(on))
            return taken or (node.func.attr in SEARCHES and any(map(self.holds, node.args)))
        return False


def _is_cause(node: ast.expr) -> bool:
    named = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return named in FIELDS
