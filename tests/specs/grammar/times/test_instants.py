"""Points in time as people write them."""

from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.times.instants import (
    parse_instant,
    parse_past,
    parse_when,
    print_instant,
)

EIGHT = 1_796_112_000_000
"""2026-12-01 08:00 in UTC."""


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T08:00Z",
        "2026-12-01 08:00",
        "2026-12-01T08:00:00.000",
        "2026-12-01T09:00+01:00",
    ],
)
def test_times_without_offset_are_utc(text: str) -> None:
    assert parse_instant(text) == EIGHT


def test_a_command_line_counts_from_now_and_by_its_own_zone() -> None:
    assert parse_when("now", 7) == 7
    assert parse_when("+2h", 7) == 7 + 7_200_000
    east = timezone(timedelta(hours=3))
    assert parse_when("2026-12-01 11:00", 7, east) == EIGHT
    assert parse_when("2026-12-01 08:00Z", 7, east) == EIGHT


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01", "8", "", "1969-12-31"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(FieldError):
        parse_instant(text)


@given(st.integers(0, 250_000_000_000_000))
def test_what_is_printed_is_read_again(ms: int) -> None:
    assert parse_instant(print_instant(ms)) == ms


@pytest.mark.parametrize(
    ("text", "at"),
    [("5", 5), ("10m", 400_000), ("2h", 0), (" 1s ", 999_000), ("1970-01-01T00:00:01Z", 1000)],
)
def test_a_time_that_has_passed_is_ms_a_length_or_a_date(text: str, at: int) -> None:
    assert parse_past(text, 1_000_000) == at


@pytest.mark.parametrize("text", ["", "soon", "10 parsecs", "2026-13-01T00:00Z", "9" * 5000])
def test_what_is_no_past_time_is_refused_with_three_ways_to_write_one(text: str) -> None:
    with pytest.raises(FieldError) as caught:
        parse_past(text, 1_000_000)
    assert "`10m`" in caught.value.hint
