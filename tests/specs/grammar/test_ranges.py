import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import FieldError
from ganglion.specs.grammar import CountRange, parse_span, parse_values, print_span


@pytest.mark.parametrize(
    ("value", "span"),
    [
        (4, CountRange(4, 4)),
        ("4", CountRange(4, 4)),
        ("2..4", CountRange(2, 4)),
        (" 2 .. 4 ", CountRange(2, 4)),
        ({"min": 2, "max": 4}, CountRange(2, 4)),
    ],
)
def test_counts_may_be_ranges(value: object, span: CountRange) -> None:
    assert parse_span(value, 100) == span


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (0, "too small"),
        (-1, "cannot be negative"),
        (101, "too large"),
        (10**30, "too large"),
        ("4..2", "runs backwards"),
        ("..4", "needs both ends"),
        ("2..", "needs both ends"),
        ("x", "expected a whole number"),
        (True, "expected a whole number"),
        (None, "expected a whole number"),
        ([2], "expected a whole number"),
        ("1.5", "expected a whole number"),
        ({"min": 2}, "needs `min` and `max`"),
    ],
)
def test_what_is_no_count_is_refused(value: object, problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        parse_span(value, 100)


@given(st.integers(1, 100), st.integers(1, 100))
def test_printed_spans_parse_back_to_the_same(a: int, b: int) -> None:
    span = CountRange(min(a, b), max(a, b))
    assert parse_span(print_span(span), 100) == span


@pytest.mark.parametrize(
    ("value", "values"),
    [
        ("0..4", ("0", "1", "2", "3", "4")),
        ("-1..1", ("-1", "0", "1")),
        (["1e-4", 3, True], ("1e-4", "3", "true")),
        (["0..1", 7], ("0", "1", "7")),
        ("adam", ("adam",)),
        (3, ("3",)),
    ],
)
def test_values_of_a_parameter(value: object, values: tuple[str, ...]) -> None:
    assert parse_values(value) == values


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "at least one"),
        ([1, 1], "same value twice"),
        ("4..0", "backwards"),
        ("0..99999999999", "more than 100,000"),
        ([[1]], "expected text"),
        (None, "expected text"),
    ],
)
def test_values_that_make_no_sense_are_refused(value: object, problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        parse_values(value)
