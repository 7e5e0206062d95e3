"""Bytes of a file that a person wrote into text, or a plain refusal."""

import sys
from pathlib import Path

from ganglion.model.errors import FileError

MAX_BYTES = 1 << 20
STDIN = "-"


def read(source: str | Path) -> tuple[bytes, str]:
    """Read a file, or the standard input for `-`.

    Returns:
        The bytes and the name to use in messages.

    Raises:
        FileError: it cannot be read, or is larger than 1 MiB.
    """
    if str(source) == STDIN:
        return sys.stdin.buffer.read(MAX_BYTES + 1), "standard input"
    path = Path(source)
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1), str(source)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def decode(raw: str | bytes, name: str = "") -> str:
    """Check that `raw` is text of a bearable size and return it.

    Raises:
        FileError: empty, binary, not UTF-8, or larger than 1 MiB.
    """
    what = name or "the text"
    if len(raw) > MAX_BYTES:
        raise FileError(
            f"{what} is larger than 1 MiB", "a workload or cluster file is a few kilobytes of text"
        )
    text = _text(raw, what)
    if not text.strip():
        raise FileError(f"{what} is empty", "write at least one line, as `run: python train.py`")
    return text


def _text(raw: str | bytes, what: str) -> str:
    try:
        data = raw.encode() if isinstance(raw, str) else raw
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise FileError(f"{what} is UTF-16 text", "save it as UTF-8")
        if b"\0" in data:
            raise FileError(f"{what} is a binary file, not text", "give a YAML or JSON file")
        return data.decode("utf-8-sig")
    except UnicodeError:
        raise FileError(f"{what} is not UTF-8 text", "save it as UTF-8") from None


def _unreadable(path: Path, error: Exception) -> FileError:
    if isinstance(error, FileNotFoundError):
        return FileError(f"there is no file {path}", f"the working directory is {Path.cwd()}")
    if isinstance(error, IsADirectoryError):
        return FileError(f"{path} is a directory", "name one file in it")
    if isinstance(error, PermissionError):
        return FileError(f"{path} may not be read by you", f"see `ls -l {path}`")
    return FileError(f"{path!s} cannot be read: {getattr(error, 'strerror', '') or error}")
