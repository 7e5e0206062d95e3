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
        for found in _BANNED.finditer(text):
            word = found[0]
            if word.upper() not in _CASED or word in _CASED:
                line = text.count("\n", 0, found.start()) + 1
                path = file.relative_to(root).as_posix()
                yield Finding(path, line, "words", f"{word!r} has no place here")
