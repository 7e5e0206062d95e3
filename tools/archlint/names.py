"""What names refer to: aliases, re-exports and local copies are no way around a rule."""

import ast
from collections.abc import Iterable
from functools import cache

from tools.archlint.source import Modules, Source

BUILTINS = "builtins"


class Names:
    """Resolves names to what they were imported as.

    Args:
        files: every source that re-exports are followed through.
    """

    def __init__(self, files: Iterable[Source]) -> None:
        self._modules = Modules(files)
        self._bound = {name: _bound(each) for name, each in self._modules.by_name.items()}

    def dotted(self, source: Source, node: ast.AST) -> str:
        """The absolute dotted name of a name or attribute; empty = not an imported one.

        A bare name that the file does not bind is one of `builtins`.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        bound = self._bound.get(source.module) or _bound(source)
        root = bound.get(node.id, f"{BUILTINS}.{node.id}")
        return self.origin(".".join([root, *reversed(parts)])) if root else ""

    def origin(self, dotted: str) -> str:
        """Follow a dotted name through the modules of the project that re-export it."""
        for _ in range(len(self._bound)):
            further = self._step(dotted)
            if further == dotted:
                break
            dotted = further
        return dotted

    def _step(self, dotted: str) -> str:
        names = dotted.split(".")
        for cut in range(len(names) - 1, 0, -1):
            module = ".".join(names[:cut])
            if module in self._bound:
                found = self._bound[module].get(names[cut], "")
                return ".".join([found, *names[cut + 1 :]]) if found else dotted
        return dotted


@cache
def names_of(files: tuple[Source, ...]) -> Names:
    """Return the names of these files; rules share them."""
    return Names(files)


@cache
def _bound(source: Source) -> dict[str, str]:
    """Local name -> dotted origin; empty for what the file makes itself."""
    found: dict[str, str] = {}
    for node in source.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, "")
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, "")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.setdefault(node.name, "")
    for each in source.imports:
        # `import a.b` binds `a`; `import a.b as c` and `from a import b` bind what they name.
        whole = each.module != each.origin or each.name != each.origin.partition(".")[0]
        found[each.name] = each.origin if whole else each.name
    for node in source.tree.body:
        copied = _copied(node)
        if copied:
            found[copied[0]] = copied[1].replace(*_first(copied[1], found))
    return found


def _copied(node: ast.stmt) -> tuple[str, str] | None:
    """`now = time.time` at the top of a module: a name and what it is a copy of."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return None
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, ast.Name) or not isinstance(node.value, ast.Name | ast.Attribute):
        return None
    text = ast.unparse(node.value)
    return (target.id, text) if all(part.isidentifier() for part in text.split(".")) else None


def _first(dotted: str, found: dict[str, str]) -> tuple[str, str, int]:
    """Arguments of `replace` that put the origin of the first name in its place."""
    first = dotted.partition(".")[0]
    return first, found.get(first) or f"{BUILTINS}.{first}", 1
