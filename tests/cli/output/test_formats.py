"""Quantities read as people write them."""

import pytest

from ganglion.cli.output.formats import age, both, clock, gpu_time, memory, milli, plural, ranges


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (999, "0s"),
        (59_999, "59s"),
        (60_000, "1m00s"),
        (3_599_000, "59m59s"),
        (3_600_000, "1h00m"),
        (86_399_000, "23h59m"),
        (86_400_000, "1d00h"),
        (40 * 86_400_000, "40d00h"),
    ],
)
def test_an_age_has_its_two_largest_units(ms: int, text: str) -> None:
    assert age(ms) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1, "0.001"), (500, "0.5"), (8000, "8"), (10_000, "10")]
)
def test_thousandths_are_a_short_decimal(value: int, text: str) -> None:
    assert milli(value) == text


@pytest.mark.parametrize(
    ("mib", "text"),
    [(0, "0Mi"), (512, "512Mi"), (1024, "1Gi"), (1536, "1.5Gi"), (10 << 20, "10Ti")],
)
def test_memory_is_in_the_unit_that_keeps_it_short(mib: int, text: str) -> None:
    assert memory(mib) == text


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([4], "4"), ([0, 1, 2, 5, 7, 8], "0-2,5,7-8")]
)
def test_numbers_in_a_row_are_a_range(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text


def test_one_is_not_many() -> None:
    assert (plural(1, "node"), plural(1200, "node")) == ("1 node", "1,200 nodes")


def test_no_time_is_a_dash() -> None:
    assert (clock(None), clock(1_800_000_000_000)) == ("-", "2027-01-15 08:00:00")


@pytest.mark.parametrize(
    ("gpu_ms", "text"),
    [
        (0, "0 GPU-seconds"),
        (1_500, "1.5 GPU-seconds"),
        (42_000, "42 GPU-seconds"),
        (180_000, "0.05 GPU-hours"),
        (5_400_000, "1.5 GPU-hours"),
        (3_600_000_000, "1,000 GPU-hours"),
    ],
)
def test_gpu_time_is_in_the_unit_that_says_something(gpu_ms: int, text: str) -> None:
    assert gpu_time(gpu_ms) == text


def test_names_are_listed_as_people_do() -> None:
    assert [both(each) for each in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
