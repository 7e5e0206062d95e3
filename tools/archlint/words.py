"""Words that have no place in any file of the project."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.archlint.source import ROOT, Finding

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
        for number, line in enumerate(text.splitlines(), 1):
            yield from _in_line(file.relative_to(root).as_posix(), number, line)


def _in_line(path: str, number: int, line: str) -> Iterator[Finding]:
    for found in _BANNED.finditer(line):
        word = found[0]
        if word.upper() in _CASED and word not in _CASED:
            continue
        yield Finding(path, number, "words", f"{word!r} has no place here")
