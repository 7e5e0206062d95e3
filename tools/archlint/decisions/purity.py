"""What decides is a pure function: no clock, chance, files, network, threads, logging, floats."""

import ast
from collections.abc import Iterator

from tools.archlint.names import BUILTINS, Names, names_of
from tools.archlint.source import PACKAGE, Finding, Import, Modules, Source

PURE_ROOMS = (
    "model",
    "engine",
    "identity",
    "lifecycle",
    "metering",
    "pricing",
    "worlds.causes",
    "worlds.kubernetes.attempts",
    "worlds.kubernetes.cluster_view",
    "worlds.kubernetes.controller",
    "worlds.kubernetes.controller_state",
    "worlds.kubernetes.feasibility",
    "worlds.kubernetes.feasibility_plugin",
    "worlds.kubernetes.gpu_discovery",
    "worlds.kubernetes.gpu_resources",
    "worlds.kubernetes.instance",
    "worlds.kubernetes.markers",
    "worlds.kubernetes.names",
    "worlds.kubernetes.node_discovery",
    "worlds.kubernetes.pod_groups",
    "worlds.kubernetes.pod_index",
    "worlds.kubernetes.pod_rules",
    "worlds.kubernetes.reasons",
    "worlds.kubernetes.requests",
    "worlds.kubernetes.selectors",
    "worlds.kubernetes.types",
    "worlds.kubernetes.workload_discovery",
    "worlds.kubernetes.workload_kinds",
    "worlds.kubernetes.write_rules.budgets",
    "worlds.kubernetes.write_rules.devices",
    "worlds.kubernetes.write_rules.series",
)
"""Rooms and modules that decide, and those whose values they decide about."""

PURE = frozenset(
    {
        "__future__",
        "abc",
        "bisect",
        "collections",
        "collections.abc",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "enum",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "http",
        "itertools",
        "math",
        "msgspec",
        "msgspec.structs",
        "numpy",
        "numpy.typing",
        "operator",
        "posixpath",
        "re",
        "types",
        "typing",
    }
)
"""What they may import beside one another."""

IMPORTS_ALLOWED: dict[tuple[str, str], str] = {
    (
        "ganglion.engine.plugins.builtin",
        "importlib",
    ): "loads the engine's own scores when one is named",
    ("ganglion.identity.tokens", "zlib"): "computes a checksum of a given text",
    ("ganglion.lifecycle.schedules", "cronsim"): "computes dates from a given date",
    ("ganglion.lifecycle.schedules", "zoneinfo"): "reads the time zones of the system, as data",
    ("ganglion.lifecycle.workspaces.rule", "zoneinfo"): "the same",
    ("ganglion.pricing.zones", "zoneinfo"): "the same",
    ("ganglion.lifecycle.metrics.page", "prometheus_client.parser"): "parses a given text",
    ("ganglion.lifecycle.metrics.page", "prometheus_client.samples"): "its values",
    (
        "ganglion.worlds.kubernetes.workload_discovery.annotations",
        "ganglion.specs.grammar.times.deadlines",
    ): "parses a text",
    (
        "ganglion.worlds.kubernetes.workload_discovery.annotations",
        "ganglion.specs.grammar.times.durations",
    ): "the same",
    (
        "ganglion.worlds.kubernetes.attempts.readiness",
        "ganglion.specs.grammar.times.durations",
    ): "the same",
    (
        "ganglion.worlds.kubernetes.workload_discovery.annotations",
        "ganglion.specs.grammar.times.instants",
    ): "the same",
}
"""(module, import) -> why it is right there."""

IMPURE = frozenset(
    {
        *(
            f"{BUILTINS}.{name}"
            for name in (
                "__builtins__",
                "__import__",
                "breakpoint",
                "compile",
                "eval",
                "exec",
                "globals",
                "hash",
                "id",
                "input",
                "locals",
                "open",
                "print",
            )
        ),
        "datetime.date.today",
        "datetime.datetime.now",
        "datetime.datetime.today",
        "datetime.datetime.utcnow",
        "numpy.fromfile",
        "numpy.load",
        "numpy.loadtxt",
        "numpy.memmap",
        "numpy.random",
        "numpy.save",
        "numpy.savetxt",
        "numpy.savez",
    }
)
"""What reaches outside, or answers differently from one process to the next."""

IMPURE_ATTRIBUTES = frozenset(
    {"__builtins__", "__globals__", "__hash__", "__import__", "__subclasses__", "tofile"}
)
"""Attributes through which the same is reached from any object."""

NAMES_ALLOWED: dict[tuple[str, str], str] = {
    ("ganglion.engine.state.fork", f"{BUILTINS}.id"): (
        "copies each object once; no decision sees the number"
    ),
}
"""(module, dotted name) -> why it is right there."""

MEMOS = frozenset({"functools.cache", "functools.lru_cache"})

MEMOS_ALLOWED: dict[tuple[str, str], str] = {
    ("ganglion.engine.runtimes.estimates", "_keys_of"): "worked out for every gang, of few kinds",
    ("ganglion.lifecycle.workspaces.rule", "_zone"): "opening a time zone reads a file",
    ("ganglion.worlds.kubernetes.gpu_discovery.numbers", "amount"): "the same few quantities",
    (
        "ganglion.worlds.kubernetes.gpu_discovery.products",
        "read",
    ): "the same few names on every node",
    ("ganglion.worlds.kubernetes.gpu_discovery.products", "_by_instance"): "the same",
    ("ganglion.worlds.kubernetes.gpu_resources", "is_gpu_resource"): "asked for every container",
    ("ganglion.worlds.kubernetes.feasibility.rule", "_own_rule"): "few templates make most pods",
    ("ganglion.worlds.kubernetes.requests", "_ask_of"): "few templates make most pods",
    ("ganglion.worlds.kubernetes.requests", "_amount"): "the same few quantities in every pod",
}
"""(module, function) -> why a bounded memo of immutable values is worth it there."""

READ_ONLY = frozenset({"Mapping", "Sequence", "Set", "Collection", "Iterable"})
"""Types under which mypy allows no change of a list, dictionary or set."""

MUTABLE_DISPLAYS = (ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Set, ast.SetComp)
MUTABLE_TYPES = frozenset(
    {
        *(f"{BUILTINS}.{name}" for name in ("bytearray", "dict", "iter", "list", "set")),
        *(
            f"collections.{name}"
            for name in ("ChainMap", "Counter", "OrderedDict", "defaultdict", "deque")
        ),
        "itertools.count",
        "itertools.cycle",
    }
)

FLOATS_ALLOWED: dict[tuple[str, str], str] = {}
"""(module, function) -> why floating point is right there."""


def is_pure(module: str) -> bool:
    """Whether a module of the project has to be pure."""
    room = module.removeprefix(f"{PACKAGE}.")
    return any(room == each or room.startswith(f"{each}.") for each in PURE_ROOMS)


def impure_imports(files: list[Source]) -> Iterator[Finding]:
    """Pure rooms import one another and pure modules only, through whatever name."""
    names, modules = names_of(tuple(files)), Modules(files)
    for source in filter(_decides, files):
        found = {(each.line, _imported(names, modules, each)): None for each in source.imports}
        for line, module in found:
            if not _may_import(source, module):
                message = f"what decides may not import {module}"
                yield Finding(source.path, line, "pure-imports", message)


def _imported(names: Names, modules: Modules, each: Import) -> str:
    """The module that an import reaches, followed through those that re-export it."""
    origin = names.origin(each.origin)
    if origin in IMPURE:
        return origin
    if origin != each.origin and not _is_ours(origin):
        return origin if origin in PURE else origin.rpartition(".")[0] or origin
    return modules.named(each) or each.module


def _is_ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")


def _may_import(source: Source, module: str) -> bool:
    if (source.module, module) in IMPORTS_ALLOWED:
        return True
    if _is_ours(module):
        return is_pure(module)
    return module in PURE


def impure_names(files: list[Source]) -> Iterator[Finding]:
    """Pure rooms do not even name what reads or changes the world outside."""
    names = names_of(tuple(files))
    for source in filter(_decides, files):
        for node in source.nodes:
            name = _impure(names, source, node)
            if name and (source.module, name) not in NAMES_ALLOWED:
                line = getattr(node, "lineno", 0)
                message = f"{name} has no place where decisions are made"
                yield Finding(source.path, line, "pure-names", message)


def _impure(names: Names, source: Source, node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES:
        return node.attr
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        dotted = names.dotted(source, node)
        return dotted if dotted in IMPURE else ""
    # getattr(datetime, "now") is the same name, spelt as a string.
    if isinstance(node, ast.Call) and names.dotted(source, node.func) == f"{BUILTINS}.getattr":
        return _spelt(names, source, node)
    return ""


def _spelt(names: Names, source: Source, call: ast.Call) -> str:
    attribute = call.args[1] if len(call.args) > 1 else None
    if not isinstance(attribute, ast.Constant) or not isinstance(attribute.value, str):
        return ""
    dotted = f"{names.dotted(source, call.args[0])}.{attribute.value}"
    return dotted if dotted in IMPURE or attribute.value in IMPURE_ATTRIBUTES else ""


def hidden_state(files: list[Source]) -> Iterator[Finding]:
    """Pure rooms keep nothing between calls but what their caller holds."""
    names = names_of(tuple(files))
    for source in filter(_decides, files):
        for node, what in _states(names, source):
            line = getattr(node, "lineno", 0)
            yield Finding(source.path, line, "hidden-state", what)


def _states(names: Names, source: Source) -> Iterator[tuple[ast.AST, str]]:
    for node in source.nodes:
        if isinstance(node, ast.Global):
            yield node, "a global that functions set; keep it in an object of the caller"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            defaults = filter(None, (*node.args.defaults, *node.args.kw_defaults))
            yield from (
                (each, "a default that calls share; make it in the function")
                for each in defaults
                if _is_mutable(names, source, each)
            )
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _memos(names, source, node)
        if isinstance(node, ast.Module | ast.ClassDef):
            yield from _bindings(names, source, node)


def _memos(
    names: Names, source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[tuple[ast.AST, str]]:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if names.dotted(source, called) in MEMOS and (source.module, node.name) not in (
            MEMOS_ALLOWED
        ):
            yield node, f"{node.name} keeps its answers for ever; say in MEMOS_ALLOWED why"


def _bindings(
    names: Names, source: Source, scope: ast.Module | ast.ClassDef
) -> Iterator[tuple[ast.AST, str]]:
    for node in scope.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            continue
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        if _is_copied(names, source, scope, node.value) or _is_read_only(annotation):
            continue
        if _is_mutable(names, source, node.value):
            yield node, "a value that any caller can change; annotate it as Mapping or Sequence"


def _is_copied(
    names: Names, source: Source, scope: ast.Module | ast.ClassDef, value: ast.expr
) -> bool:
    """Whether it is the empty default of a field, which msgspec makes anew for each object."""
    if not isinstance(scope, ast.ClassDef) or ast.unparse(value) not in {"[]", "{}"}:
        return False
    return any(names.dotted(source, base) == "msgspec.Struct" for base in scope.bases)


def _is_mutable(names: Names, source: Source, value: ast.AST) -> bool:
    if isinstance(value, ast.Call):
        return names.dotted(source, value.func) in MUTABLE_TYPES
    return isinstance(value, MUTABLE_DISPLAYS)


def _is_read_only(annotation: ast.expr | None) -> bool:
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return isinstance(outer, ast.Name) and outer.id in READ_ONLY


def floats(files: list[Source]) -> Iterator[Finding]:
    """The engine counts in integers, so that equal input gives equal output everywhere."""
    for source in (each for each in files if each.module.split(".")[1:2] == ["engine"]):
        for function, node in _by_function(source.tree):
            if (source.module, function) in FLOATS_ALLOWED or not _inexact(node):
                continue
            line = getattr(node, "lineno", 0)
            yield Finding(source.path, line, "integers", "floating point; use integers and //")


def _decides(source: Source) -> bool:
    return is_pure(source.module)


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
