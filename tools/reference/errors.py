"""The page of every error code: those of exceptions, and those of refusals without one."""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from itertools import groupby
from pathlib import Path

from ganglion.model.errors import GanglionError
from ganglion.server.rest.problems import status_of

SOURCE = Path(__file__).resolve().parents[2] / "src"
CODE = re.compile(r"[a-z]+(?:[._][a-z]+)*")
MAKERS = frozenset({"problem", "RouterResponse", "refusal"})
"""Functions that take the status and the code of a refusal."""

REFUSALS: Mapping[str, tuple[tuple[int, ...], str]] = {
    "auth": ((401, 403), "The token is missing or wrong, or the user may not call."),
    "environment.busy": ((503,), "There are as many connections as are allowed."),
    "http": ((), "Any other refusal of HTTP; the status says which."),
    "http.host": ((421,), "The request names a host that the server does not have."),
    "http.late": ((408,), "The rest of the request did not come in time."),
    "http.malformed": ((400,), "What was sent is no HTTP request."),
    "http.method": ((405,), "The path takes other methods; `Allow` names them."),
    "http.not_found": ((404,), "There is no such path."),
    "http.csrf": ((403,), "A request with a session's cookie may be one of a foreign page."),
    "http.origin": ((403,), "A web page of another origin asks."),
    "input.size": ((413,), "The body is larger than a request may be."),
    "input.syntax": ((400, 422), "The body is not JSON."),
    "input.usage": ((), "The command line is wrong; no request was sent."),
    "router.access": ((403,), "The service is for its owner and those whom `access` names."),
    "router.answers": ((400,), "The server sent answers about callers that cannot be read."),
    "router.body": ((400, 408), "The body cannot be read, or did not come in time."),
    "router.broken": ((502,), "A replica ended the connection without an answer."),
    "router.busy": ((503,), "Every replica was busy for as long as a request may wait."),
    "router.failed": ((500,), "The router failed: a defect."),
    "router.full": ((429,), "As many requests wait for the service as may."),
    "router.host": ((421,), "The router does not have the host that the request names."),
    "router.origin": ((403,), "A web page of another origin may not use the service."),
    "router.silent": ((504,), "A replica sent nothing for as long as it may be silent."),
    "router.size": ((413,), "The body is larger than the service takes."),
    "router.table": ((400,), "The server sent a table of services that cannot be read."),
    "router.ticket": ((403,), "The ticket of an address was used already, or is too old."),
    "router.undecided": ((503,), "No server says whether the caller's role lets it in."),
    "router.unknown": ((404,), "No service is at that address."),
    "router.unserved": ((503,), "The service has no replica that is ready."),
    "router.websocket": ((502,), "A WebSocket to a replica could not be opened."),
}
"""Code of a refusal without an exception class -> its HTTP statuses, what it means."""

INTRODUCTION = """\
# Errors by code

Generated from the program (`python -m tools.reference`).

Every error has a stable, dotted code, a sentence that names what is wrong, and mostly a hint. A
request that is refused gets them as a problem of RFC 9457 ([the rules](../api.md#ground-rules)); a
command prints the sentence and the hint, and with `-o json` the code. Look at the code in programs,
never at the sentence. *Exit* is the exit status of a command that ends with the error.
"""
TITLES = {
    "access": "What no role allows",
    "checkpoint": "Checkpoints of the ledger",
    "demo": "The demo",
    "environment": "The machine or a cluster refuses",
    "ganglion": "Defects",
    "http": "HTTP",
    "auth": "Who may call",
    "input": "What was sent is wrong",
    "plugin": "Plugins",
    "router": "The router",
    "state": "Not in the present state",
}


def parsed(likely: re.Pattern[str]) -> Iterator[tuple[Path, ast.Module]]:
    """The files of the source, and their trees, in which a pattern is found.

    To look for text takes a hundredth of the time that parsing does.
    """
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        if likely.search(text):
            yield path, ast.parse(text)


def classes() -> dict[str, type[GanglionError]]:
    """Code -> the class of the tree that has it."""
    found: dict[str, type[GanglionError]] = {}
    for path, tree in parsed(re.compile(r"\bcode = ")):
        names = [n.name for n in tree.body if isinstance(n, ast.ClassDef) and _has_code(n)]
        if names:
            module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            known = importlib.import_module(module)
            for each in (getattr(known, name) for name in names):
                if issubclass(each, GanglionError):
                    found[each.code] = each
    return found


def refused() -> set[str]:
    """Codes that the source gives to refusals without a class."""
    found = set[str]()
    for _, tree in parsed(re.compile(rf"\b(?:{'|'.join(sorted(MAKERS))})\(|\bHTTPStatus\.")):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS:
                found.update(_codes(node.args[1:2]))
            elif isinstance(node, ast.Tuple) and len(node.elts) == 4 and _is_status(node.elts[0]):
                found.update(_codes(node.elts[1:2]))
    return found


def _has_code(node: ast.ClassDef) -> bool:
    return any(
        isinstance(each, ast.Assign) and getattr(each.targets[0], "id", "") == "code"
        for each in node.body
    )


def _is_status(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "HTTPStatus"


def _codes(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        for each in (node.body, node.orelse) if isinstance(node, ast.IfExp) else (node,):
            if isinstance(each, ast.Constant) and CODE.fullmatch(str(each.value)):
                yield str(each.value)


def page() -> str:
    """Return the whole page."""
    rows = {code: _row(code, cls) for code, cls in classes().items()}
    for code, (statuses, meaning) in REFUSALS.items():
        exits = "2" if code.startswith("input.") else "1"
        rows[code] = code, ", ".join(map(str, statuses)) or "none", exits, meaning
    parts = [INTRODUCTION]
    for family, codes in groupby(sorted(rows), key=lambda code: code.partition(".")[0]):
        parts.append(f"## {TITLES[family]}\n")
        parts.append("| Code | HTTP status | Exit | Meaning |\n|---|---|---|---|")
        parts += [f"| `{c}` | {s} | {x} | {m} |" for c, s, x, m in (rows[code] for code in codes)]
        parts.append("")
    return "\n".join(parts)


def _row(code: str, cls: type[GanglionError]) -> tuple[str, str, str, str]:
    status = HTTPStatus(status_of(cls.__new__(cls)))
    meaning = (cls.__doc__ or "").splitlines()[0].replace("|", "\\|")
    return code, str(status.value), str(cls.exit_code), meaning
