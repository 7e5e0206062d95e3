"""Label selectors as people write them on a command line."""

import pytest

from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.config.node_selector import parse_selector

SOME = {"pool": "canary", "example.com/gpu": "H100", "spot": ""}


@pytest.mark.parametrize(
    ("text", "selects"),
    [
        ("", True),
        ("pool=canary", True),
        ("pool == canary", True),
        ("pool!=canary", False),
        ("zone!=a", True),
        ("example.com/gpu in (A100, H100),spot", True),
        ("example.com/gpu notin (A100,H100)", False),
        ("!spot", False),
        ("! zone , pool in (canary)", True),
        ("zone", False),
        ("spot=", True),
    ],
)
def test_the_forms_of_kubectl(text: str, selects: bool) -> None:
    assert parse_selector(text).selects(SOME) is selects


@pytest.mark.parametrize("text", ["a b", "pool in canary", "=x", "a=b,,c", "pool in (a/b)", "-"])
def test_what_is_none_is_named(text: str) -> None:
    with pytest.raises(InputError, match="no part of a label selector"):
        parse_selector(text)
