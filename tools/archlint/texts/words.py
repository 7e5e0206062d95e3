"""Words that have no place in any file of the project, and those that its prose does without."""

import ast
import re
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from tokenize import COMMENT, generate_tokens

from tools.archlint.source import ROOT, Finding, Source

# Put together from halves, so that this file may be checked too.
HOSTS = tuple(
    ".".join(halves)
    for halves in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("anaconda", "org"),
        ("crates", "io"),
        ("proxy.golang", "org"),
    )
)
"""Hosts of package registries: where packages come from is the user's choice."""

UNFINISHED = tuple(a + b for a, b in (("TO", "DO"), ("FIX", "ME"), ("X", "XX")))
"""Marks of unfinished work."""

_BANNED = re.compile(
    "|".join([*map(re.escape, HOSTS), rf"\b(?:{'|'.join(UNFINISHED)})\b"]), re.IGNORECASE
)
_CASED = frozenset(UNFINISHED)

VAGUE = (
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "so many",
    "so much",
    "(?:is|are|was|were|be|been|being|when|than) told",
    "foretold",
    "tells? of",
    "stands? for",
    "(?:go|goes|going|went) about",
    "look(?:s|ed|ing)? after",
    "(?:come|comes|came|coming) to count",
    "to the notice",
)
"""Patterns of words that hide who does something, or how many there are."""

_VAGUE = re.compile(rf"\b(?:{'|'.join(VAGUE)})\b".replace(" ", r"\s+"), re.IGNORECASE)

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)

HISTORY = ("CHANGELOG.md", "docs/benchmarks/results/")
"""Pages that say what was written at the time."""


def tracked(root: Path = ROOT) -> list[Path]:
    """Return the files of the checkout that belong to the project."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True
    )
    names = filter(None, listed.stdout.split("\0"))
    return [file for name in names if (file := root / name).is_file()]


def banned_words(files: list[Path], root: Path = ROOT) -> Iterator[Finding]:
    """No text file names a registry host or carries a mark of unfinished work."""
    for file in files:
        try:
            text = file.read_text("utf-8")
        except UnicodeDecodeError:  # pictures and the like
            continue
        for found in _BANNED.finditer(text):
            word = found[0]
            if word.upper() not in _CASED or word in _CASED:
                line = text.count("\n", 0, found.start()) + 1
                path = file.relative_to(root).as_posix()
                yield Finding(path, line, "words", f"{word!r} has no place here")


def plain_words(files: list[Source]) -> Iterator[Finding]:
    """Docstrings, comments and messages name the subject, the request and the number."""
    for source in files:
        # Few files hold such a word at all: only those are read token by token.
        if _VAGUE.search(source.text):
            yield from _vague(source, messages=True)


def plain_beside(files: list[Path], root: Path = ROOT) -> Iterator[Finding]:
    """So do docstrings and comments beside the package, in tests and tools."""
    for file in files:
        path = file.relative_to(root).as_posix()
        if file.suffix == ".py" and not path.startswith("src/"):
            text = file.read_text("utf-8")
            if _VAGUE.search(text):
                yield from _vague(Source(path, "", text), messages=False)


def plain_pages(files: list[Path], root: Path = ROOT) -> Iterator[Finding]:
    """Pages keep the same words; code in them, and what is history, is left as it is."""
    for file in files:
        path = file.relative_to(root).as_posix()
        if file.suffix == ".md" and not path.startswith(HISTORY):
            text = _CODE.sub(lambda found: "\n" * found[0].count("\n"), file.read_text("utf-8"))
            yield from _findings(path, 1, text)


def _vague(source: Source, *, messages: bool) -> Iterator[Finding]:
    for first, text in _prose(source, messages=messages):
        yield from _findings(source.path, first, text)


def _findings(path: str, first: int, text: str) -> Iterator[Finding]:
    for found in _VAGUE.finditer(text):
        line = first + text.count("\n", 0, found.start())
        word = " ".join(found[0].split())
        message = f"{word!r}: name the subject, the request or the number"
        yield Finding(path, line, "plain", message)


def _prose(source: Source, *, messages: bool) -> Iterator[tuple[int, str]]:
    """Docstrings, texts of several words and comments, each with its first line."""
    docstrings = (node.value for node in source.nodes if isinstance(node, ast.Expr))
    for text in source.nodes if messages else docstrings:
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and " " in text.value:
            yield text.lineno, text.value
    for token in generate_tokens(StringIO(source.text).readline):
        if token.type == COMMENT:
            yield token.start[0], token.string
