"""Selectors over labels."""

import pytest

from ganglion.worlds.kubernetes.selectors import (
    Selector,
    holds,
    in_order,
    number,
    selector_of,
)
from ganglion.worlds.kubernetes.types.meta import LabelSelector, Requirement


@pytest.mark.parametrize(
    ("operator", "values", "there", "other", "absent"),
    [
        ("In", ("a", "b"), True, False, False),
        ("NotIn", ("a", "b"), False, True, True),
        ("Exists", (), True, True, False),
        ("DoesNotExist", (), False, False, True),
        ("Near", ("a",), False, False, False),
    ],
)
def test_each_operator_reads_a_value_another_one_and_none(
    operator: str, values: tuple[str, ...], there: bool, other: bool, absent: bool
) -> None:
    asked = Requirement("k", operator, values)
    assert [holds(asked, labels) for labels in ({"k": "a"}, {"k": "z"}, {})] == [
        there,
        other,
        absent,
    ]


@pytest.mark.parametrize(
    ("operator", "bound", "value", "expected"),
    [
        ("Gt", "9", "10", True),
        ("Gt", "10", "10", False),
        ("Lt", "10", "9", True),
        ("Lt", "10", "10", False),
        ("Gt", "1", "many", False),
        ("Gt", "few", "10", False),
        ("Gt", "1", "1_0", False),
        ("Gt", "1", "-5", False),
        ("Gt", "1", "9223372036854775808", False),
        ("Gt", "1", "9223372036854775807", True),
    ],
)
def test_numbers_are_compared_as_numbers_and_nothing_else_is(
    operator: str, bound: str, value: str, expected: bool
) -> None:
    assert holds(Requirement("k", operator, (bound,)), {"k": value}) == expected
    assert not holds(Requirement("k", operator, (bound,)), {})
    assert not holds(Requirement("k", operator, (bound, bound)), {"k": value})


def test_numbers_have_no_sign_and_fit_64_bits() -> None:
    assert [number(text) for text in ("007", "-1", "+1", "", "٣")] == [7, None, None, None, None]


def test_an_absent_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not selector_of(None).selects({})
    assert selector_of(LabelSelector()).selects({"any": "thing"})


def test_all_of_a_selector_has_to_hold() -> None:
    both = selector_of(LabelSelector({"a": "1"}, (Requirement("b", "Exists"),)))
    assert both.selects({"a": "1", "b": "x"})
    assert not both.selects({"a": "1"})
    assert not both.selects({"b": "x"})


def test_selectors_that_say_the_same_are_the_same() -> None:
    one = LabelSelector({}, (Requirement("b", "In", ("y", "x")), Requirement("a", "Exists")))
    two = LabelSelector({}, (Requirement("a", "Exists"), Requirement("b", "In", ("x", "y", "x"))))
    assert selector_of(one) == selector_of(two)
    assert hash(selector_of(one)) == hash(selector_of(two))
    assert selector_of(LabelSelector({"a": "1"})) == Selector(
        in_order([Requirement("a", "In", ("1",))])
    )


def test_more_requirements_narrow_a_selector_but_wake_no_absent_one() -> None:
    more = [Requirement("a", "In", ("1",))]
    assert selector_of(LabelSelector()).plus(more).selects({"a": "1"})
    assert not selector_of(LabelSelector()).plus(more).selects({})
    assert not selector_of(None).plus(more).selects({"a": "1"})
