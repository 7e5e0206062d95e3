"""Axes and numbers for people."""

import pytest

from ganglion.worlds.simulated.report.format import duration, number, pct
from ganglion.worlds.simulated.report.scale import linear, log_time, round_step, time_axis


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (45, "45 s"), (89.25, "89.2 s"), (5_400, "1.5 h"), (100, "1.67 min"),
     (86_400, "24 h"), (172_800, "2 d"), (0.25, "0.25 s")],
)  # fmt: skip
def test_times_are_told_in_the_unit_that_suits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_have_no_more_digits_than_matter() -> None:
    told = [number(value) for value in (0, 7, 1234567, 123.4, 12.34, 1.5, 1.234)]
    assert told == ["0", "7", "1\u202f234\u202f567", "123", "12.3", "1.5", "1.23"]
    assert pct(12.345) == "12.3 %"


def test_ticks_stand_at_round_numbers() -> None:
    assert [value for value, _ in linear(64, 100, 0).ticks] == [0, 20, 40, 60, 80]
    assert round_step(0.03) == 0.05
    assert linear(0, 100, 0).ticks == ((0.0, "0"), (1.0, "1"))


def test_values_lie_between_the_borders() -> None:
    scale = linear(100, 218, 12)
    assert [scale(value) for value in (-5, 0, 50, 100, 200)] == [218, 218, 115, 12, 12]


@pytest.mark.parametrize(
    ("seconds", "unit", "ticks"),
    [
        (10 * 86_400, "d", ["0", "2", "4", "6", "8", "10"]),
        (30 * 3_600, "h", ["0", "6", "12", "18", "24", "30"]),
        (20 * 60, "min", ["0", "5", "10", "15", "20"]),
        (8, "s", ["0", "1", "2", "3", "4", "5", "6", "7", "8"]),
    ],
)
def test_time_has_a_unit_that_suits_its_length(seconds: float, unit: str, ticks: list[str]) -> None:
    scale, told = time_axis(seconds, 0, 100)
    assert told == unit
    assert [label for _, label in scale.ticks] == ticks
    assert len(scale.ticks) <= 10


@pytest.mark.parametrize("seconds", [0.0, 1e-3, 1.0, 59.0, 1e4, 1e6, 1e9])
def test_any_length_has_a_handful_of_ticks(seconds: float) -> None:
    assert 1 <= len(time_axis(seconds, 0, 100)[0].ticks) <= 12


def test_a_logarithmic_axis_names_times_people_know() -> None:
    scale = log_time(86_400, 0, 100)
    assert [label for _, label in scale.ticks] == [
        "1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 d",
    ]  # fmt: skip
    assert scale(0) == 0
    assert scale(86_400) == 100
