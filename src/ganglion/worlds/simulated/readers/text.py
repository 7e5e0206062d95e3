"""Opening trace files: gzipped or not, and errors that name file, line and column."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from ganglion.model.errors import FieldError, FileError

GZIP = b"\x1f\x8b"


def open_text(path: Path) -> TextIO:
    """Open a UTF-8 text file, through gzip when it starts like one.

    Raises:
        FileError: it cannot be opened.
    """
    try:
        with path.open("rb") as raw:
            magic = raw.read(2)
        if magic == GZIP:
            return io.TextIOWrapper(gzip.GzipFile(path), encoding="utf-8", newline="")
        return path.open(encoding="utf-8", newline="")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a file with their 1-based numbers, without line ends.

    Raises:
        FileError: it cannot be read, or is no UTF-8 text.
    """
    try:
        with open_text(path) as handle:
            for number, line in enumerate(handle, start=1):
                yield number, line.rstrip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"cannot read {path}: {error}", "is the file complete?") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text", "give a CSV or SWF file") from error


class CsvTable:
    """A CSV file with a heading, row by row.

    Args:
        path: the file.

    Raises:
        FileError: it is unreadable, empty, or has two columns of one name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = self._parse()
        _, self.columns = next(self._rows, (0, []))
        if not self.columns:
            raise FileError(f"{path} is empty", "the first line names the columns")
        if len(set(self.columns)) < len(self.columns):
            raise FileError(f"{path} has two columns of one name: {', '.join(self.columns)}")

    def _parse(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader((line for _, line in lines(self.path)), strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, [cell.strip() for cell in row]
        except csv.Error as error:
            raise FileError(f"{self.path}:{reader.line_num}: {error}") from error

    def __iter__(self) -> Iterator["Row"]:
        for line, cells in self._rows:
            if len(cells) != len(self.columns):
                raise FieldError(
                    f"{len(cells)} columns instead of {len(self.columns)}",
                    file=str(self.path),
                    line=line,
                )
            yield Row(self.path, line, cells)

    def find(self, names: Sequence[str], what: str) -> int:
        """Place of the first column that has one of `names`.

        Raises:
            FileError: there is none; the message says `what` is missing.
        """
        place = self.maybe(names)
        if place is None:
            known = " or ".join(names)
            raise FileError(f"{self.path} has no column for {what}", f"name it {known}")
        return place

    def maybe(self, names: Sequence[str]) -> int | None:
        """As `find`, but None when there is no such column."""
        return next((self.columns.index(name) for name in names if name in self.columns), None)


class Row:
    """One row of a table.

    Attributes:
        line: its 1-based line.
        cells: its values, stripped.
    """

    __slots__ = ("cells", "line", "path")

    def __init__(self, path: Path, line: int, cells: list[str]) -> None:
        self.path, self.line, self.cells = path, line, cells

    def text(self, place: int | None) -> str:
        """The value there; empty when the table has no such column."""
        return "" if place is None else self.cells[place]

    def number(self, place: int, column: str, *, least: int = 0) -> int:
        """The whole number there (a fraction is cut off).

        Raises:
            FieldError: it is no number, or below `least`.
        """
        return as_number(self.cells[place], column, str(self.path), self.line, least=least)

    def thousandths(self, place: int, column: str) -> int:
        """A decimal number of at least 0 in thousandths, as seconds in milliseconds."""
        return thousandths(self.cells[place], column, str(self.path), self.line)


def as_number(text: str, column: str, file: str, line: int, *, least: int = 0) -> int:
    """A whole number of at least `least`, any fraction cut off.

    Raises:
        FieldError: it is none.
    """
    try:
        value = int(text) if text.lstrip("-").isdigit() else int(float(text))
    except (ValueError, OverflowError):
        raise FieldError(f"{text!r} is not a number", key=column, file=file, line=line) from None
    if value < least:
        raise FieldError(f"{text} is less than {least}", key=column, file=file, line=line)
    return value


def thousandths(text: str, column: str, file: str, line: int) -> int:
    """A decimal number of at least 0 in thousandths, rounded.

    Raises:
        FieldError: it is none.
    """
    try:
        value = int(text) * 1000 if text.isdigit() else round(float(text) * 1000)
    except (ValueError, OverflowError):
        raise FieldError(f"{text!r} is not a number", key=column, file=file, line=line) from None
    if value < 0:
        raise FieldError(f"{text} is negative", key=column, file=file, line=line)
    return value
