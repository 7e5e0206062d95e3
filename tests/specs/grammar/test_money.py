"""Hours of prices."""

import pytest

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.money import parse_price_hours


@pytest.mark.parametrize(
    ("text", "minutes"), [("20:00-08:00", (1200, 480)), ("00:00-24:00", (0, 0))]
)
def test_hours_are_minutes_from_midnight(text: str, minutes: tuple[int, int]) -> None:
    assert parse_price_hours(text) == minutes


@pytest.mark.parametrize("text", ["08:00-08:00", "24:00-00:00", "8-20", "08:60-09:00"])
def test_hours_that_begin_when_they_end_are_no_whole_day(text: str) -> None:
    with pytest.raises(FieldError):
        parse_price_hours(text)
