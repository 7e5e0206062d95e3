"""Lists: a table for people, JSON, YAML or CSV for programs, from the same rows."""

import csv
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ganglion.cli.output import pager, screen
from ganglion.cli.output.layout import GAP, Column, TableLayout, layout, texts_of
from ganglion.cli.output.screen import UNBOUNDED, is_coloured, note, out_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

T = TypeVar("T")

__all__ = ["Column", "T", "print_data", "print_list", "print_pages", "print_table", "table_of"]


@dataclass(frozen=True, slots=True)
class TextTable(Generic[T]):
    """A table without boxes, which reads the same on paper, screen and pipe.

    Attributes:
        columns: what to show.
        rows: of what.
        whole: whether it is as wide as its cells, however narrow the terminal.
    """

    columns: Sequence[Column[T]]
    rows: Sequence[T]
    whole: bool = False

    def lines(self, room: int, *, colour: bool) -> Iterator[str]:
        """Yield its lines, fitted to a width."""
        cells = texts_of(self.columns, self.rows)
        fitted = layout(self.columns, cells, UNBOUNDED if self.whole else room)
        yield fitted.head(colour=colour)
        yield from fitted.rows(self.rows, cells, colour=colour)

    def __rich_console__(self, _: "Console", options: "ConsoleOptions") -> "RenderResult":
        """Draw it on a screen that stays up to date."""
        from rich.text import Text

        for line in self.lines(options.max_width, colour=is_coloured()):
            yield Text.from_ansi(line, no_wrap=True, overflow="crop")


def table_of(
    columns: Sequence[Column[T]], rows: Sequence[T], *, whole: bool = False
) -> TextTable[T]:
    """Return a table; where it is too wide, `ganglion.cli.output.layout` says what gives way."""
    return TextTable(columns, rows, whole)


def room() -> int:
    """Return the width of the terminal; a pipe has no limit."""
    return shutil.get_terminal_size().columns if screen.is_tty() else UNBOUNDED


def print_list(
    items: Sequence[T], columns: Sequence[Column[T]], form: str, *, empty: str = ""
) -> None:
    """Print rows in the form asked for.

    Args:
        items: the rows.
        columns: what to show of them.
        form: `table`, `wide`, `json`, `yaml` or `csv`.
        empty: printed on stderr in place of an empty table.
    """
    print_pages([items], columns, form, empty=empty)


def print_pages(
    pages: Iterable[Sequence[T]], columns: Sequence[Column[T]], form: str, *, empty: str = ""
) -> None:
    """Print rows that come in pages, each as soon as it is there; arguments as of `print_list`."""
    if form == "csv":
        _print_csv(pages, columns)
    elif form in ("json", "yaml"):
        print_data([row for page in pages for row in page], form)
    else:
        shown = [c for c in columns if form == "wide" or not c.wide]
        lines = _lines(pages, shown, UNBOUNDED if form == "wide" else room())
        first = next(lines, None)
        if first is not None:
            pager.write(_all(first, lines))
        elif empty:
            note(empty)


def _lines(pages: Iterable[Sequence[T]], columns: Sequence[Column[T]], width: int) -> Iterator[str]:
    """Yield the lines of all pages.

    Where the width is not limited, columns only grow from page to page; else headings are
    repeated where the columns of a page differ from those before.
    """
    colour = is_coloured()
    last: TableLayout[T] | None = None
    for page in pages:
        if not page:
            continue
        cells = texts_of(columns, page)
        fitted = layout(columns, cells, width)
        if width == UNBOUNDED:
            fitted = fitted.beside(last)
        if last is None or (width != UNBOUNDED and fitted != last):
            yield fitted.head(colour=colour)
        last = fitted
        yield from fitted.rows(page, cells, colour=colour)


def _all(first: str, others: Iterator[str]) -> Iterator[str]:
    yield first
    yield from others


def print_table(table: "TextTable[T] | Table") -> None:
    """Print a table; a terminal that is too narrow for Rich's wraps its lines, losing nothing."""
    if isinstance(table, TextTable):
        sys.stdout.writelines(f"{line}\n" for line in table.lines(room(), colour=is_coloured()))
        return
    console = out_of(_needed(table))
    with console.capture() as captured:
        console.print(table)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def print_data(value: object, form: str) -> None:
    """Print a value as JSON or YAML on stdout."""
    import msgspec

    plain = msgspec.to_builtins(value)
    if form == "yaml":
        sys.stdout.write(yaml_text(plain))
        return
    text = msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()
    sys.stdout.write(text + "\n")


def yaml_text(plain: object) -> str:
    """Return plain data as YAML in which texts of several lines are readable."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes such texts as blocks."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return written


def _needed(table: "Table") -> int:
    """Return the width of all columns together; 0 for tables that fit themselves in."""
    return sum((column.width or 0) + GAP for column in table.columns)


def _print_csv(pages: Iterable[Sequence[T]], columns: Sequence[Column[T]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    for page in pages:
        writer.writerows([column.value(row) for column in columns] for row in page)
