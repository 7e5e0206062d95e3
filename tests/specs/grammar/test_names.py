import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.names import (
    parse_host,
    parse_name,
    parse_queue,
    parse_variable,
    slug,
)


@pytest.mark.parametrize("name", ["a", "llama-sft", "7b", "a" * 63])
def test_dns_labels_are_names(name: str) -> None:
    assert parse_name(name) == name


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("My Job", "`my-job`"), ("a_b", "`a-b`"), ("-x-", "`x`"), ("a.b", "`a-b`"), ("X", "`x`")],
)
def test_a_name_that_is_no_label_comes_back_repaired(name: str, suggestion: str) -> None:
    with pytest.raises(FieldError, match="not a usable name") as caught:
        parse_name(name)
    assert suggestion in caught.value.hint
    assert "DNS" in caught.value.hint


@pytest.mark.parametrize("name", ["", "é", "-", "a" * 64, None, [], "a\n"])
def test_what_cannot_be_a_name_is_refused(name: object) -> None:
    with pytest.raises(FieldError):
        parse_name(name)


@given(st.text(max_size=100))
def test_every_slug_is_a_name_or_empty(text: str) -> None:
    assert not slug(text) or parse_name(slug(text))


def test_queues_may_be_paths() -> None:
    assert parse_queue("org/team") == "org/team"
    with pytest.raises(FieldError):
        parse_queue("org//team")


def test_hosts_may_have_dots_and_capitals() -> None:
    assert parse_host("GPU-01.example.org") == "GPU-01.example.org"
    with pytest.raises(FieldError):
        parse_host("a b")


@pytest.mark.parametrize("name", ["1A", "A-B", "", "A B", "É"])
def test_variables_have_the_names_that_shells_allow(name: str) -> None:
    assert parse_variable("HF_TOKEN") == "HF_TOKEN"
    with pytest.raises(FieldError, match="not the name of a variable"):
        parse_variable(name)
