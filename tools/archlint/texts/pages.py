"""Documentation names files and commands that exist."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from tools.archlint.source import ROOT, Finding

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"^(?:\$ | {4})?ganglion ([a-z][a-z-]*)", re.MULTILINE)


def dead_links(files: list[Path], root: Path = ROOT) -> Iterator[Finding]:
    """Every relative link of a Markdown file leads to a file or folder."""
    for file, number, line in _lines(files):
        for target in _LINK.findall(line):
            path = target.partition("#")[0]
            if path and ":" not in path and not (file.parent / path).exists():
                yield Finding(_name(file, root), number, "links", f"{target} does not exist")


def unknown_commands(
    files: list[Path], known: Collection[str], root: Path = ROOT
) -> Iterator[Finding]:
    """Every command line of a Markdown file calls a command that exists."""
    for file, number, line in _lines(files):
        for name in _COMMAND.findall(line):
            if name not in known:
                message = f"there is no command `ganglion {name}`"
                yield Finding(_name(file, root), number, "commands", message)


def _lines(files: list[Path]) -> Iterator[tuple[Path, int, str]]:
    for file in files:
        if file.suffix == ".md":
            for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
                yield file, number, line


def _name(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix()
