"""What decides does not walk through a set: its order differs from one process to the next.

The rule knows sets by how they are made, by annotations, and by what functions and attributes of
the pure rooms are annotated to give. Consumers that give the same answer for any order are free
to take one.
"""

import ast
from collections.abc import Iterator

from tools.archlint.decisions.purity import is_pure
from tools.archlint.source import Finding, Source, children

SET_TYPES = frozenset({"AbstractSet", "MutableSet", "Set", "frozenset", "set"})
"""Names of set types, in annotations and where sets are made; dictionaries keep their order."""

SET_METHODS = frozenset({"copy", "difference", "intersection", "symmetric_difference", "union"})
SET_OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)

ANY_ORDER = frozenset({"all", "any", "frozenset", "len", "max", "min", "set", "sorted", "sum"})
"""Builtins whose answer does not depend on the order in which they are given things."""

IN_ORDER = frozenset(
    {"dict", "enumerate", "filter", "iter", "list", "map", "reversed", "tuple", "zip"}
)
"""Builtins that hand the order of what they are given on."""

TOTAL = "no two of them have the same key"
KUBERNETES = "ganglion.worlds.kubernetes"

ORDER_ALLOWED: dict[tuple[str, str], str] = {
    (f"{KUBERNETES}.node_discovery.catalog", "_sorted"): TOTAL,
    (f"{KUBERNETES}.feasibility.clauses", "clause_of"): TOTAL,
    (f"{KUBERNETES}.pod_rules.levels", "levels_of"): TOTAL,
    (f"{KUBERNETES}.selectors", "in_order"): TOTAL,
    (f"{KUBERNETES}.feasibility.taints", "tolerations_of"): TOTAL,
    (f"{KUBERNETES}.pod_index.mounted", "_full"): "counts are looked up by name",
    (f"{KUBERNETES}.workload_discovery.grouping", "_changed"): "adds to a set",
    (f"{KUBERNETES}.workload_discovery.grouping", "_move"): "the index is only looked up in",
}
"""(module, function) -> why the order makes no difference there."""

Known = frozenset[str]


def set_order(files: list[Source]) -> Iterator[Finding]:
    """Pure rooms sort a set before they walk through it."""
    pure = [source for source in files if is_pure(source.module)]
    shared = _given_by_all(pure)
    for source in pure:
        for function, scope, names in _scopes(source.tree, shared):
            if (source.module, function) in ORDER_ALLOWED:
                continue
            for node in _own(scope):
                walked = _walked(node, names, shared)
                if walked is not None:
                    text = ast.unparse(walked)
                    message = f"{text} is a set and has no order; sort it"
                    yield Finding(source.path, getattr(node, "lineno", 0), "set-order", message)


def _given_by_all(files: list[Source]) -> Known:
    """Names of functions, properties and attributes that are sets wherever they are defined."""
    sets, others = set[str](), set[str]()
    for source in files:
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef) and node.returns:
                (sets if _is_set_type(node.returns) else others).add(node.name)
            elif isinstance(node, ast.AnnAssign):
                name = _name_of(node.target)
                (sets if _is_set_type(node.annotation) else others).add(name)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                made = _is_made_set(node.value)
                (sets if made else others).add(node.targets[0].attr)
    return frozenset(sets - others)


def _scopes(
    tree: ast.AST, shared: Known, name: str = "", outer: Known = frozenset()
) -> Iterator[tuple[str, ast.AST, Known]]:
    """Yield every function (and the module) with the local names that are sets in it."""
    names = outer | _local_sets(tree, outer, shared)
    yield name, tree, names
    for child in _functions(tree):
        yield from _scopes(child, shared, child.name, names)


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The outermost functions within a tree, methods included."""
    for child in children(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        else:
            yield from _functions(child)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Every node of a scope that is in no function within it."""
    for child in children(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _own(child)


def _local_sets(scope: ast.AST, outer: Known, shared: Known) -> Known:
    sets, others = set(outer), set[str]()
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        for arg in (*scope.args.args, *scope.args.kwonlyargs, *scope.args.posonlyargs):
            is_set = arg.annotation is not None and _is_set_type(arg.annotation)
            (sets if is_set else others).add(arg.arg)
    for node in _own(scope):
        if isinstance(node, ast.AnnAssign):
            (sets if _is_set_type(node.annotation) else others).add(_name_of(node.target))
        elif isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                is_set = _is_set(value, frozenset(sets), shared)
                (sets if is_set else others).add(_name_of(target))
    return frozenset(sets - others - {""})


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with what each is given; `a, b = x, y` gives two."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _name_of(target: ast.AST) -> str:
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def _is_set_type(annotation: ast.AST) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return _name_of(outer) in SET_TYPES


def _is_made_set(value: ast.AST) -> bool:
    if isinstance(value, ast.Set | ast.SetComp):
        return True
    # Both set(...) and set[str](...).
    return isinstance(value, ast.Call) and _is_set_type(value.func)


def _is_set(value: ast.AST, names: Known, shared: Known) -> bool:
    match value:
        case ast.Name():
            return value.id in names
        case ast.Attribute():
            return value.attr in shared
        case ast.NamedExpr() | ast.Starred():
            return _is_set(value.value, names, shared)
        case ast.IfExp():
            return any(_is_set(each, names, shared) for each in (value.body, value.orelse))
        case ast.BinOp(op=op) if isinstance(op, SET_OPERATORS):
            sides = (value.left, value.right)
            return any(_is_set_or_keys(side, names, shared) for side in sides)
        case _:
            called = isinstance(value, ast.Call) and _gives_set(value, names, shared)
            return called or _is_made_set(value)


def _is_set_or_keys(value: ast.AST, names: Known, shared: Known) -> bool:
    """Keys of dictionaries become a set where they are joined or compared."""
    is_keys = (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "keys"
    )
    return is_keys or _is_set(value, names, shared)


def _gives_set(call: ast.Call, names: Known, shared: Known) -> bool:
    if isinstance(call.func, ast.Attribute):
        if call.func.attr in SET_METHODS and _is_set(call.func.value, names, shared):
            return True
        return call.func.attr in shared
    return isinstance(call.func, ast.Name) and call.func.id in shared


def _walked(node: ast.AST, names: Known, shared: Known) -> ast.AST | None:
    """The set that a node walks through in its order; None = it walks through none."""
    for each in _taken_in_order(node):
        if _is_set(each, names, shared):
            return each
    return None


def _taken_in_order(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.For):
        yield node.iter
    elif isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp):
        if not getattr(node, "any_order", False):
            yield from (each.iter for each in node.generators)
    elif isinstance(node, ast.List | ast.Tuple):
        yield from (each for each in node.elts if isinstance(each, ast.Starred))
    elif isinstance(node, ast.Call):
        yield from _given_in_order(node)


def _given_in_order(call: ast.Call) -> Iterator[ast.AST]:
    func = call.func
    name = func.id if isinstance(func, ast.Name) else ""
    if name in ANY_ORDER and not _breaks_ties(call):
        for each in call.args:
            _free(each)
    elif name in ANY_ORDER | IN_ORDER and not getattr(call, "any_order", False):
        yield from call.args
    elif isinstance(func, ast.Attribute) and func.attr == "pop" and not call.args:
        yield func.value
    elif isinstance(func, ast.Attribute) and func.attr in {"extend", "fromkeys", "join"}:
        yield from call.args
    yield from (each for each in call.args if isinstance(each, ast.Starred))


def _breaks_ties(call: ast.Call) -> bool:
    """Whether equals are distinguished by their order: by `min`, `max` and `sorted` with a key."""
    return any(each.arg == "key" for each in call.keywords)


def _free(argument: ast.AST) -> None:
    """Mark what feeds a consumer that takes any order; nodes are seen from the outside in."""
    if isinstance(argument, ast.GeneratorExp | ast.ListComp | ast.Call):
        argument.any_order = True  # type: ignore[union-attr]  # a note for the visit of the node
