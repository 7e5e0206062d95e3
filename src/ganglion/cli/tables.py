"""Lists: a table for eyes, JSON, YAML or CSV for programs, from the same rows."""

import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ganglion.cli.screen import UNBOUNDED, note, out, out_of

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")

GAP = 2
"""Blanks between columns."""


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column.

    Attributes:
        name: heading, in capitals; never changes between versions.
        value: text of one row's cell.
        right: whether it holds numbers.
        wide: whether it is left out of the ordinary table.
        least: width it may be cut to on a narrow terminal; 0 = it is never cut.
        style: Rich style of a cell.
    """

    name: str
    value: Callable[[T], str]
    right: bool = False
    wide: bool = False
    least: int = 0
    style: Callable[[T], str] | None = None


def table_of(columns: Sequence[Column[T]], rows: Sequence[T], *, whole: bool = False) -> "Table":
    """Return a table without boxes, which reads the same on paper, screen and pipe.

    Where the terminal is too narrow, columns that may be cut are, from the right, unless
    `whole` is set; the others keep every character and no column is ever left out.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    cells = [[column.value(row) for column in columns] for row in rows]
    room = UNBOUNDED if whole else out().width
    for column, width in zip(columns, _widths(columns, cells, room), strict=True):
        table.add_column(
            column.name,
            justify="right" if column.right else "left",
            no_wrap=True,
            width=width,
            overflow="ellipsis",
        )
    for row, texts in zip(rows, cells, strict=True):
        styles = [column.style(row) if column.style else "" for column in columns]
        table.add_row(*map(Text, texts, styles))
    return table


def _widths(columns: Sequence[Column[T]], cells: list[list[str]], room: int) -> list[int]:
    """Return the width of every column: what it needs, less what the terminal lacks."""
    from rich.cells import cell_len

    texts = [[column.name, *(row[n] for row in cells)] for n, column in enumerate(columns)]
    widths = [max(map(cell_len, each)) for each in texts]
    excess = sum(widths) + GAP * len(widths) - room
    for n in reversed(range(len(columns))):
        least = columns[n].least or widths[n]
        cut = max(0, min(excess, widths[n] - least))
        widths[n] -= cut
        excess -= cut
    return widths


def print_list(
    items: Sequence[T], columns: Sequence[Column[T]], form: str, *, empty: str = ""
) -> None:
    """Print rows in the form asked for.

    Args:
        items: the rows.
        columns: what to show of them.
        form: `table`, `wide`, `json`, `yaml` or `csv`.
        empty: said on stderr in place of an empty table.
    """
    if form == "csv":
        _print_csv(items, columns)
    elif form in ("json", "yaml"):
        print_data(list(items), form)
    elif items:
        shown = [c for c in columns if form == "wide" or not c.wide]
        print_table(table_of(shown, items, whole=form == "wide"))
    elif empty:
        note(empty)


def print_table(table: "Table") -> None:
    """Print a table; a terminal that is too narrow wraps its lines rather than losing any."""
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


def _print_csv(items: Sequence[T], columns: Sequence[Column[T]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows([column.value(row) for column in columns] for row in items)
