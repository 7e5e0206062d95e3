"""How a table fits a width: what is cut, folded and left out, in which order.

1. Texts that may be cut (`least`) are, from the right, each to its least width, between words.
2. Identifiers wider than `FOLD` get a line of their own, and their column gets narrower.
3. Columns are left out from the right, those that say how a row fares (`stays`) last.
4. Where only identifiers are left, they are folded to the width.

So no identifier is cut, and no line is wider than allowed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Generic, TypeVar

T = TypeVar("T")

GAP = 2
"""Blanks between columns."""
FOLD = 28
"""Widest identifier that gets no line of its own."""
CUT = "…"

COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
CODES = {"bold": "1", "dim": "2"} | {name: str(30 + n) for n, name in enumerate(COLOURS)}
"""Words of a style -> parameters of an ANSI escape sequence."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column.

    Attributes:
        name: heading, in capitals; never changes between versions.
        value: text of one row's cell.
        right: whether it holds numbers.
        wide: whether it is left out of the ordinary table.
        least: width to which its texts may be cut, between words; 0 = they are never cut.
        style: Rich style of a cell, of the words of `CODES`.
        key: whether it holds the identifier that folds; without any, the first column does.
        stays: whether it is left out only after those that do not.
    """

    name: str
    value: Callable[[T], str]
    right: bool = False
    wide: bool = False
    least: int = 0
    style: Callable[[T], str] | None = None
    key: bool = False
    stays: bool = False


@dataclass(frozen=True, slots=True)
class TableLayout(Generic[T]):
    """Columns that fit, with their widths.

    Attributes:
        columns: those that are shown.
        numbers: of these among all columns.
        widths: of each; cells of the identifier may be wider and fold.
        key: which of them is the identifier.
        room: most width of a line.
    """

    columns: tuple[Column[T], ...]
    numbers: tuple[int, ...]
    widths: tuple[int, ...]
    key: int
    room: int

    def head(self, *, colour: bool = False) -> str:
        """Return the line of headings."""
        pairs = zip(self.columns, self.widths, strict=True)
        names = [_cut(each.name, width) for each, width in pairs]
        return self._line(names, ["bold"] * len(names), colour=colour)

    def rows(
        self, rows: Sequence[T], cells: Sequence[Sequence[str]], *, colour: bool = False
    ) -> Iterator[str]:
        """Yield the lines of rows, of which `cells` has the texts of all columns."""
        for row, texts in zip(rows, cells, strict=True):
            styles = [each.style(row) if colour and each.style else "" for each in self.columns]
            yield from self._folded([texts[n] for n in self.numbers], styles, colour=colour)

    def beside(self, other: "TableLayout[T] | None") -> "TableLayout[T]":
        """Return it at least as wide as another one, so that the rows of both are aligned."""
        if other is None or self.numbers != other.numbers:
            return self
        return replace(self, widths=tuple(map(max, self.widths, other.widths)))

    def _folded(self, cells: list[str], styles: list[str], *, colour: bool) -> Iterator[str]:
        key, width = self.key, self.widths[self.key]
        if width_of(cells[key]) > width:
            until = key + 1
            before = sum(self.widths[:key]) + GAP * key
            first, *others = _pieces(cells[key], self.room - before)
            yield self._line([*cells[:key], first], styles[:until], colour=colour)
            for piece in others:
                yield " " * before + _styled(piece, styles[key], colour=colour)
            cells[:until] = [""] * until
            if not any(cells):
                return
        yield self._line(cells, styles, colour=colour)

    def _line(self, cells: list[str], styles: list[str], *, colour: bool) -> str:
        parts = []
        for n, (cell, style) in enumerate(zip(cells, styles, strict=True)):
            column, width = self.columns[n], self.widths[n]
            text = cell if n == self.key else _cut(cell, width)
            blanks = " " * max(0, width - width_of(text))
            shown = _styled(text, style, colour=colour)
            parts.append(blanks + shown if column.right else shown + blanks)
        return (" " * GAP).join(parts).rstrip()


def texts_of(columns: Sequence[Column[T]], rows: Sequence[T]) -> list[list[str]]:
    """Return the texts of all cells, row by row."""
    return [[clean(each.value(row)) for each in columns] for row in rows]


def layout(
    columns: Sequence[Column[T]], cells: Sequence[Sequence[str]], room: int
) -> TableLayout[T]:
    """Fit columns to a width.

    Args:
        columns: all that may be shown, at least one.
        cells: their texts, row by row.
        room: most width of a line.
    """
    widths = [max(1, width_of(each.name)) for each in columns]
    for n in range(len(columns)):
        widths[n] = max(widths[n], max((width_of(row[n]) for row in cells), default=0))
    key = next((n for n, each in enumerate(columns) if each.key), 0)
    least = [_least(each, width) for each, width in zip(columns, widths, strict=True)]
    shown = list(range(len(columns)))
    if _total(least) > room:
        lines = [width for row in cells if (width := width_of(row[key])) <= FOLD]
        widths[key] = least[key] = max([width_of(columns[key].name), *lines])
    while len(shown) > 1 and _total([least[n] for n in shown]) > room:
        shown.remove(_spared(columns, shown, key))
    fitted = _shrunk([widths[n] for n in shown], [least[n] for n in shown], shown.index(key), room)
    return TableLayout(
        tuple(columns[n] for n in shown), tuple(shown), tuple(fitted), shown.index(key), room
    )


def _least(column: Column[T], width: int) -> int:
    """Width that a column can do with."""
    return min(width, max(column.least, width_of(column.name))) if column.least else width


def _spared(columns: Sequence[Column[T]], shown: list[int], key: int) -> int:
    """The column that is left out next."""
    others = [n for n in shown if n != key]
    return max(others, key=lambda n: (not columns[n].stays, n))


def _shrunk(widths: list[int], least: list[int], key: int, room: int) -> list[int]:
    """Take from texts, from the right, what is too much, then from the identifier."""
    excess = _total(widths) - room
    for n in reversed(range(len(widths))):
        cut = max(0, min(excess, widths[n] - least[n]))
        widths[n] -= cut
        excess -= cut
    widths[key] -= max(0, min(excess, widths[key] - 1))
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def width_of(text: str) -> int:
    """Return the columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def clean(text: str) -> str:
    """Return a text in one line, without what a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " for each in text)


def _cut(text: str, width: int) -> str:
    """Cut a text between words."""
    if width_of(text) <= width:
        return text
    while " " in text:
        text = text.rpartition(" ")[0].rstrip()
        if width_of(text) + 1 + len(CUT) <= width and text:
            return f"{text} {CUT}"
    return CUT


def _pieces(text: str, width: int) -> list[str]:
    """Cut an identifier into lines; nothing of it is lost."""
    pieces, piece = [], ""
    for each in text:
        if piece and width_of(piece + each) > width:
            pieces.append(piece)
            piece = ""
        piece += each
    return [*pieces, piece]


def _styled(text: str, style: str, *, colour: bool) -> str:
    code = _code(style) if colour and text else ""
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


@cache
def _code(style: str) -> str:
    return ";".join(CODES[word] for word in style.split())
