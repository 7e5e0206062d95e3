"""At any width no identifier is cut and no table breaks."""

import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli import answers

import ganglion.cli
from ganglion.cli.output.formats import now_ms
from ganglion.cli.output.layout import CUT, GAP, Column, layout, texts_of, width_of
from ganglion.cli.output.screen import UNBOUNDED

WORDS = st.text(st.sampled_from("abc-1"), min_size=1, max_size=12)
NAMES = st.one_of(WORDS, st.text(st.sampled_from("job-七é"), min_size=1, max_size=90))
SENTENCES = st.lists(WORDS, max_size=30).map(" ".join)
TEXTS = st.one_of(SENTENCES, st.text(max_size=40))


def cells_of(n: int, name: str, **given: Any) -> Column[list[str]]:
    """A column of the n-th texts of rows."""
    return Column(name, lambda row: row[n], **given)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Column[list[str]]], list[list[str]]]:
    """A table with an identifier somewhere, columns of names, numbers and sentences."""
    kinds = draw(st.lists(st.sampled_from(["name", "text", "number"]), min_size=1, max_size=10))
    key = draw(st.integers(0, len(kinds) - 1))
    kinds[key] = "name"
    columns = [
        cells_of(
            n,
            draw(st.sampled_from(["ID", "STATE", "GPU MEM", "A LONG HEADING"])),
            right=kind == "number",
            least=draw(st.integers(1, 20)) if kind == "text" else 0,
            key=n == key,
            stays=draw(st.booleans()),
        )
        for n, kind in enumerate(kinds)
    ]
    values = {"name": NAMES, "text": TEXTS, "number": st.integers(0, 10**6).map(str)}
    rows = draw(st.lists(st.tuples(*(values[kind] for kind in kinds)).map(list), max_size=6))
    return columns, rows


@given(tables(), st.integers(40, 200))
@settings(max_examples=150, deadline=None)
def test_a_table_fits_and_cuts_no_identifier(
    table: tuple[list[Column[list[str]]], list[list[str]]], room: int
) -> None:
    columns, rows = table
    cells = texts_of(columns, rows)
    fitted = layout(columns, cells, room)
    lines = [fitted.head(), *fitted.rows(rows, cells)]
    assert all(width_of(line) <= room for line in lines)
    assert all(line == line.rstrip() and line.isprintable() for line in lines)
    assert fitted.columns[fitted.key].key
    for row in cells:
        whole = [row[n] for n, each in enumerate(columns) if not each.least]
        shown = [each for each in fitted.columns if not each.least]
        for column, text in zip([c for c in columns if not c.least], whole, strict=True):
            if column in shown and (not column.key or width_of(text) <= room // 2):
                assert any(text in line for line in lines)


@given(tables(), st.integers(40, 200))
@settings(max_examples=80, deadline=None)
def test_an_identifier_wider_than_the_screen_folds_without_loss(
    table: tuple[list[Column[list[str]]], list[list[str]]], room: int
) -> None:
    columns, _ = table
    names = ["x" * width for width in (1, 30, room - 1, room, 3 * room + 1)]
    rows = [[name] * len(columns) for name in names]
    cells = texts_of(columns, rows)
    fitted = layout(columns, cells, room)
    text = "".join(fitted.rows(rows, cells)).replace(" ", "")
    assert text.count("x") >= sum(map(len, names))


@given(tables())
@settings(max_examples=40, deadline=None)
def test_a_pipe_gets_everything(
    table: tuple[list[Column[list[str]]], list[list[str]]],
) -> None:
    columns, rows = table
    cells = texts_of(columns, rows)
    fitted = layout(columns, cells, UNBOUNDED)
    assert fitted.columns == tuple(columns)
    for row, line in zip(cells, fitted.rows(rows, cells), strict=True):
        assert all(cell.strip() in line for cell in row)


def column(name: str, **given: Any) -> Column[dict[str, str]]:
    return Column(name, lambda row: row[name], **given)


def lines(columns: Sequence[Column[dict[str, str]]], room: int, *rows: dict[str, str]) -> list[str]:
    cells = texts_of(columns, rows)
    fitted = layout(columns, cells, room)
    return [fitted.head(), *fitted.rows(rows, cells)]


JOB = [
    column("ID", key=True),
    column("STATE", stays=True),
    column("AGE", right=True),
    column("WHY", least=8),
]


def test_texts_are_cut_first_between_words() -> None:
    row = {"ID": "train-1", "STATE": "QUEUED", "AGE": "3m", "WHY": "waits for llama-sft-7"}
    assert lines(JOB, 32, row)[1] == f"train-1  QUEUED   3m  waits {CUT}"


def test_then_long_identifiers_get_lines_of_their_own() -> None:
    short = {"ID": "a-1", "STATE": "QUEUED", "AGE": "3m", "WHY": "-"}
    long = short | {"ID": "a-very-long-name-of-a-job-in-its-line-12"}
    assert lines(JOB, 41, short, long) == [
        "ID   STATE   AGE  WHY",
        "a-1  QUEUED   3m  -",
        "a-very-long-name-of-a-job-in-its-line-12",
        "     QUEUED   3m  -",
    ]


def test_then_columns_go_from_the_right_and_the_state_last() -> None:
    row = {"ID": "train-1", "STATE": "SUCCEEDED", "AGE": "12h04m", "WHY": "rank 3 failed"}
    heads = [lines(JOB, room, row)[0].split() for room in (36, 27, 19, 10)]
    assert heads == [["ID", "STATE", "AGE", "WHY"], ["ID", "STATE", "AGE"], ["ID", "STATE"], ["ID"]]


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    row = {"ID": "a\x1b[31m", "STATE": "x\ny", "AGE": "\t", "WHY": "\u202e"}
    assert all(each.isprintable() for each in lines(JOB, 80, row))


def every_table() -> Iterator[tuple[str, list[Column[Any]]]]:
    """Every list of columns of the command line: constants, and functions that return one."""
    for info in pkgutil.walk_packages(ganglion.cli.__path__, "ganglion.cli."):
        if info.ispkg:
            continue
        module = import_module(info.name)
        own = info.name.rpartition(".")[2]
        for name, member in vars(module).items():
            if isinstance(member, list) and member and isinstance(member[0], Column):
                yield f"{own}.{name}", member
            is_function = inspect.isfunction(member) and member.__module__ == module.__name__
            if is_function and "list[Column" in str(inspect.signature(member).return_annotation):
                arguments: dict[str, Any] = {"now_ms": now_ms(), "form": "wide", "by": "job"}
                arguments |= {"currency": "EUR", "starts": {}}
                wanted = inspect.signature(member).parameters
                if wanted.keys() <= arguments.keys():
                    yield f"{own}.{name}", member(**{key: arguments[key] for key in wanted})


TABLES = dict(every_table())


def test_the_tables_of_the_command_line_are_found() -> None:
    assert {"ps.columns", "queue.columns", "booking.COLUMNS"} <= TABLES.keys()
    assert answers.PAGE["items"]


@pytest.mark.parametrize("name", TABLES)
def test_no_table_cuts_its_identifier(name: str) -> None:
    columns = TABLES[name]
    key = next((each for each in columns if each.key), columns[0])
    assert key.least == 0, f"{key.name} holds an identifier"


@pytest.mark.parametrize("name", TABLES)
@given(data=st.data(), room=st.integers(40, 200))
@settings(max_examples=10, deadline=None)
def test_every_table_fits_random_rows(name: str, data: st.DataObject, room: int) -> None:
    """The columns as they are, with random texts in their cells."""
    columns = [each for each in TABLES[name] if not each.wide]
    cell = st.one_of(NAMES, TEXTS)
    drawn = data.draw(
        st.lists(st.lists(cell, min_size=len(columns), max_size=len(columns)), max_size=4)
    )
    fake = [
        cells_of(
            n,
            each.name,
            right=each.right,
            least=each.least,
            key=each.key,
            stays=each.stays,
        )
        for n, each in enumerate(columns)
    ]
    cells = texts_of(fake, drawn)
    fitted = layout(fake, cells, room)
    assert all(width_of(line) <= room for line in (fitted.head(), *fitted.rows(drawn, cells)))
    key = next((n for n, each in enumerate(fake) if each.key), 0)
    before = sum(
        GAP + max(map(width_of, [each.name, *(row[n] for row in cells)]))
        for n, each in enumerate(fake[:key])
    )
    for row in cells:
        text = row[key]
        if width_of(text) <= room - before:
            assert any(text.strip() in line for line in fitted.rows(drawn, cells))
