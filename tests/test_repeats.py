"""Lines that come again and again are written once, with their number."""

import logging
from typing import Any

import pytest

from ganglion.repeats import MOST_KEYS, Repeats


class Kept(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Any] = []
        self.closed = False

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.msg if isinstance(record.msg, dict) else record.getMessage())

    def close(self) -> None:
        self.closed = True
        super().close()


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def repeats(kept: Kept) -> Repeats:
    return Repeats(kept, interval_s=60.0)


def say(repeats: Repeats, at: float, message: Any, *args: object, name: str = "x") -> None:
    record = logging.LogRecord(name, logging.ERROR, "f.py", 1, message, args, None)
    record.created = at
    repeats.handle(record)


def test_a_flood_is_two_lines(repeats: Repeats, kept: Kept) -> None:
    for index in range(10_000):
        say(repeats, index / 1_000, "accept() of %s failed", "socket")
    say(repeats, 100.0, "something else")
    flood = "accept() of socket failed"
    assert kept.lines == [flood, f"{flood} (repeated: 9999)", "something else"]


def test_after_the_interval_a_line_is_written_again(repeats: Repeats, kept: Kept) -> None:
    for at in (0.0, 59.0, 60.0, 61.0):
        say(repeats, at, "late")
    assert kept.lines == ["late", "late (repeated: 1)", "late"]


def test_times_and_requests_make_no_line_another_one_but_all_else_does(
    repeats: Repeats, kept: Kept
) -> None:
    for request, workload in (("1", "a"), ("2", "a"), ("3", "b")):
        said = {"event": "no", "workload": workload, "request": request, "timestamp": request}
        say(repeats, 1.0, said)
    say(repeats, 1.0, "no")
    say(repeats, 1.0, "no", name="y")
    assert [each["request"] for each in kept.lines[:2]] == ["1", "3"]
    assert kept.lines[2:] == ["no", "no"]
    repeats.close()
    assert kept.lines[4:] == [
        {"event": "no", "workload": "a", "request": "2", "timestamp": "2", "repeated": 1}
    ]
    assert kept.closed


def test_different_lines_fill_no_memory(repeats: Repeats, kept: Kept) -> None:
    for index in range(3 * MOST_KEYS):
        say(repeats, 1.0, f"line {index}")
    assert len(kept.lines) == 3 * MOST_KEYS
    assert len(repeats._seen) == MOST_KEYS
