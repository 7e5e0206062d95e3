import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import FieldError, InputError
from ganglion.specs.grammar import parse_duration, parse_slurm_time, print_duration
from ganglion.specs.grammar.times.durations import MAX_MS

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("2h", 2 * HOUR),
        ("1d12h", 36 * HOUR),
        ("1d 12h", 36 * HOUR),
        ("90s", 90_000),
        ("1h30m0s", 5_400_000),
        ("1.5h", 5_400_000),
        ("2 hours", 2 * HOUR),
        ("1w", 168 * HOUR),
        ("250ms", 250),
        ("2:00:00", 2 * HOUR),
        ("1-12:00:00", 36 * HOUR),
        ("0", 0),
        (0, 0),
    ],
)
def test_both_styles_are_read(value: object, ms: int) -> None:
    assert parse_duration(value) == ms


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (600, "has no unit"),
        ("600", "has no unit"),
        ("2:00", "could mean minutes or hours"),
        ("-3h", "negative"),
        ("3x", "unknown unit `x`"),
        ("soon", "not a duration"),
        ("", "not a duration"),
        (True, "not a duration"),
        (None, "expected text"),
        ("99999999d", "longer than a hundred years"),
        ("0.0001s", "finer than a millisecond"),
    ],
)
def test_what_is_ambiguous_or_wrong_is_refused_with_a_hint(value: object, problem: str) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        parse_duration(value)
    assert "2h" in caught.value.hint


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("30", 1_800_000),
        (30, 1_800_000),
        ("30:15", 1_815_000),
        ("2:00:00", 2 * HOUR),
        ("1-12", 36 * HOUR),
        ("1-12:30", 36 * HOUR + 1_800_000),
        ("1-12:00:00", 36 * HOUR),
        ("UNLIMITED", 0),
    ],
)
def test_slurm_counts_minutes(value: object, ms: int) -> None:
    assert parse_slurm_time(value) == ms


def test_a_wrong_slurm_time_is_refused() -> None:
    with pytest.raises(FieldError, match="is not a time"):
        parse_slurm_time("2h")


@given(st.integers(0, MAX_MS))
def test_what_is_printed_parses_back_to_the_same(ms: int) -> None:
    assert parse_duration(print_duration(ms)) == ms


@given(st.text(max_size=12) | st.text("0123456789dhms:-. ", max_size=14))
def test_nothing_but_an_input_error_ever_comes_out(text: str) -> None:
    for parse in (parse_duration, parse_slurm_time):
        try:
            assert 0 <= parse(text) <= MAX_MS
        except InputError:
            continue
