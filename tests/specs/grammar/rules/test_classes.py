"""Named priorities."""

import pytest

from ganglion.model.errors import FieldError
from ganglion.model.policy import PriorityClass
from ganglion.specs.grammar.rules.classes import parse_classes, print_classes

GIVEN = {"batch": 10, "prod": {"value": 90, "preemptible": False}}


def test_a_class_is_a_number_or_says_more() -> None:
    found = parse_classes(GIVEN)
    assert found == {"batch": PriorityClass(10), "prod": PriorityClass(90, preemptible=False)}
    assert print_classes(found) == GIVEN


@pytest.mark.parametrize(
    ("given", "key", "says"),
    [
        ({"a": {"valeu": 1}}, "a.valeu", "unknown key"),
        ({"a": {"preemptible": True}}, "a", "`value` is missing"),
        ({"a": "high"}, "a", "whole number"),
        ({"My Class": 1}, "My Class", "not a usable name"),
        ([], "", "keys and values"),
    ],
)
def test_what_is_no_class_is_refused(given: object, key: str, says: str) -> None:
    with pytest.raises(FieldError, match=says) as caught:
        parse_classes(given)
    assert caught.value.key == key
