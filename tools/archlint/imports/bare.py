"""What is started by `python -S` sees the standard library and this project, nothing else.

A supervisor, and each process that serves a terminal, has to be up within milliseconds, hundreds
of times. Without `site` no package that was installed can be imported: an import of one, however
far away and in whichever function, fails when it is reached, on a machine with jobs.
"""

import ast
import sys
from collections.abc import Iterator

from tools.archlint.source import OURS, Finding, Import, Modules, Source

BARE = "-S"

BARE_ALLOWED: dict[tuple[str, str], str] = {
    ("ganglion.worlds.local.machine.host", "psutil"): "in functions for systems without /proc",
}
"""(module, what it imports) -> why it is right there."""


def imports_packages_without_site(files: list[Source]) -> Iterator[Finding]:
    """Everything that a program reaches which is started with `-S` is of the standard library."""
    modules = Modules(files)
    for start in sorted(started(files, modules)):
        for source in _reached(start, modules):
            for each in source.imports:
                allowed = (source.module, each.module) in BARE_ALLOWED
                if _is_foreign(each) and not allowed and not _is_for_types(source, each):
                    message = f"{start} runs under `python {BARE}` and reaches {each.module}"
                    yield Finding(source.path, each.line, "bare", message)


def started(files: list[Source], modules: Modules) -> set[str]:
    """Modules that a file names which starts programs with `-S`: as text or by `__file__`."""
    found = set[str]()
    for source in files:
        if not any(isinstance(n, ast.Constant) and n.value == BARE for n in source.nodes):
            continue
        by_file = {
            node.value.id
            for node in source.nodes
            if isinstance(node, ast.Attribute)
            and node.attr == "__file__"
            and isinstance(node.value, ast.Name)
        }
        texts = {str(node.value) for node in source.nodes if isinstance(node, ast.Constant)}
        found |= {modules.named(each) for each in source.imports if each.name in by_file}
        found |= {text for text in texts if "." in text and text in modules.by_name}
    return found


def _reached(start: str, modules: Modules) -> Iterator[Source]:
    """A module and all that it imports, directly or not, with the packages that they lie in."""
    seen, waiting = set[str](), [start]
    while waiting:
        name = waiting.pop()
        parts = name.split(".")
        for above in (".".join(parts[:end]) for end in range(1, len(parts) + 1)):
            if above in seen or above not in modules.by_name:
                continue
            seen.add(above)
            source = modules.by_name[above]
            yield source
            waiting += [
                modules.named(each) for each in source.imports if not _is_for_types(source, each)
            ]


def _is_foreign(each: Import) -> bool:
    top = each.module.partition(".")[0]
    return top not in OURS and top not in sys.stdlib_module_names


def _is_for_types(source: Source, each: Import) -> bool:
    """Whether an import is made by type checkers alone."""
    return any(
        isinstance(node, ast.If)
        and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        and any(line.lineno <= each.line <= (line.end_lineno or 0) for line in node.body)
        for node in source.nodes
    )
