import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.specs.reading.yaml import (
    MAX_NODES,
    MOST_BROKEN,
    Document,
    dotted,
    parse_documents,
    read_documents,
)


def only(text: str | bytes) -> Document:
    (document,) = parse_documents(text, "job.yaml")
    return document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2:00:00", "2:00:00"),
        ("1e-4", "1e-4"),
        ("no", "no"),
        ("on", "on"),
        ("3.10", "3.10"),
        ("007", "007"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("2001-01-01", "2001-01-01"),
        ("True", "True"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-3", -3),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("9" * 5000, "9" * 5000),
        ("[1, 0.5, x]", [1, "0.5", "x"]),
    ],
)
def test_scalars_mean_what_they_look_like(text: str, value: object) -> None:
    assert only(f"a: {text}").data == {"a": value}


def test_words_that_old_yaml_takes_for_truth_values_can_be_keys() -> None:
    assert only("on: 1\nno: 2\ny: 3").data == {"on": 1, "no": 2, "y": 3}


def test_every_value_has_its_line() -> None:
    document = only("a: 1\nb:\n  c: 2\n  d:\n  - x\n  - y: 3\n")
    assert document.line(("a",)) == 1
    assert document.line(("b", "c")) == 3
    assert document.line(("b", "d", 1, "y")) == 6


def test_a_value_without_line_has_that_of_what_is_around_it() -> None:
    assert only("a: 1\nb: 2\n").line(("b", "x", 3)) == 2


def test_documents_are_separated_by_dashes_and_empty_ones_dropped() -> None:
    found = parse_documents("---\na: 1\n---\n---\nb: 2\n")
    assert [(each.data, each.top) for each in found] == [({"a": 1}, 2), ({"b": 2}, 5)]


def test_json_is_read_too() -> None:
    assert only('{"a": [1, {"b": null}], "c": "d"}').data == {"a": [1, {"b": None}], "c": "d"}


def test_json_escapes_of_rare_characters_are_read() -> None:
    assert only(r'{"a": "\ud83d\ude00", "b": "\\ud83d\\ude00"}').data == {
        "a": "\N{GRINNING FACE}",
        "b": r"\ud83d\ude00",
    }


def test_a_byte_order_mark_is_ignored() -> None:
    assert only(b"\xef\xbb\xbfa: 1").data == {"a": 1}


def test_aliases_and_merges_work_and_own_keys_win() -> None:
    document = only("base: &b {x: 1, y: 2}\nc: {<<: *b, y: 3}\nd: *b\n")
    assert document.data["c"] == {"x": 1, "y": 3}
    assert document.data["d"] == {"x": 1, "y": 2}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"a\0b", "binary"),
        (b"\x7fELF\x02\x01\x01\0", "binary"),
        (b"\x89PNG\r\n", "not UTF-8"),
        (b"\xff\xfea\0", "UTF-16"),
        (b"x" * 10_000_000, "larger than 1 MiB"),
        (b"# nothing but words\n", "comments only"),
        (BOMB.encode(), f"more than {MAX_NODES:,} values"),
        (b"a: [" + b"1," * 400_000 + b"1]", f"more than {MAX_NODES:,} values"),
    ],
)
def test_what_is_no_usable_text_is_refused_by_name(raw: bytes, problem: str) -> None:
    with pytest.raises(FileError, match=problem) as caught:
        parse_documents(raw, "job.yaml")
    assert "job.yaml" in caught.value.message


@pytest.mark.parametrize(
    ("text", "line", "key", "problem"),
    [
        ("a: 1\nb: 2\na: 3", 3, "a", "given twice, first on line 1"),
        ("a:\n  b: 1\n  b: 2", 3, "a.b", "given twice, first on line 2"),
        ("- 1\n- 2", 1, "", "found a list"),
        ("just words", 1, "", "found text"),
        ("a: [1,\nb: 2", 2, "", "not YAML"),
        ("a: 1\n\tb: 2", 2, "", "not YAML"),
        ("a: b: c", 1, "", "not YAML"),
        ("a: \x01", 1, "", "not YAML"),
        ("a: 1\nb: *c", 2, "b", "defined nowhere"),
        ("a: &a [*a]", 1, "a[0]", "contains itself"),
        ("? [x]\n: 1", 1, "", "a key must be a word"),
        ("a: 1\n'': 2", 2, "", "a key must be a word"),
        ("a: 1\n: 2", 2, "", "not YAML"),
        ("a: !!python/object:os.system x", 1, "a", "tag"),
        ("a: !Ref x", 1, "a", "tag"),
        ("a: !!int x", 1, "a", "is no int"),
        ("a: {<<: 3}", 1, "a.<<", "only mappings"),
        ("a: " + "[" * 500_000, 1, "a[0][0][0]", "nested deeper"),
        ("- " * 400_000, 1, "[0][0][0][0]", "nested deeper"),
    ],
)
def test_a_fault_names_file_line_and_key(text: str, line: int, key: str, problem: str) -> None:
    with pytest.raises(FieldError, match=problem) as caught:
        parse_documents(text, "job.yaml")
    assert (caught.value.file, caught.value.line, caught.value.key) == ("job.yaml", line, key)


def test_tabs_get_the_hint_that_names_them() -> None:
    with pytest.raises(FieldError) as caught:
        parse_documents("a:\n\t- b")
    assert "tabs" in caught.value.hint


def test_paths_are_printed_as_people_write_them() -> None:
    assert dotted(("pod_sets", 1, "resources", "gpus")) == "pod_sets[1].resources.gpus"
    assert dotted((0, "a")) == "[0].a"


keys = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(lambda k: k != "<<")
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(keys, plain, max_size=4))
def test_json_text_comes_back_as_it_was(data: dict[str, object]) -> None:
    assert parse_documents(json.dumps(data))[0].data == data


@given(st.dictionaries(keys, st.text("ab:-#'\" \n[]{}&*!|>%@`,?", max_size=12), max_size=4))
def test_texts_that_a_yaml_writer_quotes_come_back_as_they_were(data: dict[str, str]) -> None:
    assert parse_documents(yaml.safe_dump(data))[0].data == data


@given(
    st.binary(max_size=200) | st.text(max_size=200) | st.text("a:- \n[]{}&*!,'\"#|>?", max_size=80)
)
def test_no_input_does_anything_but_parse_or_be_refused(raw: bytes | str) -> None:
    try:
        documents = parse_documents(raw, "f")
    except InputError as error:
        assert error.message.isprintable()
    else:
        assert all(isinstance(each.data, dict) for each in documents)


def test_a_syntax_error_shows_what_it_is_about_and_where_that_begins() -> None:
    with pytest.raises(FieldError) as caught:
        parse_documents("a: 1\nb: 'unclosed\nc: 2\n---\nd: 3\n", "f")
    error = caught.value
    assert (error.line, error.column, error.others) == (4, 1, ())
    assert "in `---`" in error.problem
    assert "it begins on line 2: `b: 'unclosed`" in error.hint


def test_a_file_of_thousands_of_broken_documents_is_given_up_soon_and_says_so() -> None:
    found, problems = read_documents("---\n[\n" * 100_000, "f")
    assert found == []
    assert len(problems) == MOST_BROKEN + 1
    assert "the rest is not read" in problems[-1].problem


@given(st.lists(st.sampled_from(["a: 1", "- x", "b: [", "'c", "d: !x e", "?", "\ta: b", "{}"])))
def test_documents_that_can_be_read_are_read_whatever_stands_between(parts: list[str]) -> None:
    broken = sum(each not in ("a: 1", "{}") for each in parts)
    try:
        found, problems = read_documents("".join(f"---\n{each}\n" for each in parts), "f")
    except FileError:
        return
    assert len(problems) == broken or broken >= MOST_BROKEN
    if broken < MOST_BROKEN:
        assert len(found) == len(parts) - broken
