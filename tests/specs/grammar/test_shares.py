"""Percentages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.shares import parse_permille, print_permille


@pytest.mark.parametrize(("value", "permille"), [("5%", 50), ("0.5 %", 5), (0, 0), ("100%", 1000)])
def test_percentages_are_read(value: object, permille: int) -> None:
    assert parse_permille(value) == permille


@pytest.mark.parametrize("value", ["5", 0.05, "-1%", "1001%", "0.01%", "x%", True, []])
def test_what_is_no_percentage_is_refused(value: object) -> None:
    with pytest.raises(FieldError):
        parse_permille(value)


@given(st.integers(0, 10_000))
def test_what_is_printed_is_read_again(permille: int) -> None:
    assert parse_permille(print_permille(permille)) == permille
