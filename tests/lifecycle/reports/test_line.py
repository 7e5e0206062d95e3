"""One line of a report file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.lifecycle.reports.line import LONGEST, ReportLine, SavedCheckpoint, read


def test_lines_say_what_programs_report() -> None:
    assert read(b'{"checkpoint": {"step": 7, "path": "a.pt"}}') == ReportLine(
        SavedCheckpoint(7, "a.pt")
    )
    assert read(b'{"busy": false, "at": 5}') == ReportLine(busy=False, at=5)
    found = read(b'{"metrics": {"step": 100, "val/loss": 0.3, "acc": 1, "grad": null}}')
    assert isinstance(found, ReportLine)
    assert found.metrics == {"step": 100, "val/loss": 0.3, "acc": 1, "grad": None}
    assert found.step == 100


def test_what_a_newer_program_says_beside_is_left_alone() -> None:
    assert read(b'{"busy": true, "mood": ["fine"]}') == ReportLine(busy=True)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"step 100, loss 0.3", "malformed"),
        (b"[]", "object"),
        (b'{"metrics": {"loss": NaN}}', "malformed"),
        (b'{"metrics": {"loss": 1e999}}', ""),
        (b'{"metrics": {"loss": "low"}}', "metrics"),
        (b'{"metrics": {"a b": 1}}', "'a b' is no name of a metric"),
        (b'{"metrics": {"step": -1, "loss": 1}}', "step is -1"),
        (b'{"checkpoint": {"step": -1}}', ">= 0"),
        (b'{"checkpoint": {"step": "many"}}', "int"),
        (b'{"checkpoint": {"path": "a\\nb"}}', "printed"),
        (b'{"checkpoint": {"path": "' + b"x" * 2_000 + b'"}}', "1024"),
        (b'{"busy": true, "at": "now"}', "at"),
        (b'{"busy": ' + b" " * LONGEST + b"true}", "longer than"),
        (b"\xff\xfe", ""),
        (json.dumps({"metrics": {f"m{i}": 1 for i in range(40)}}).encode(), "length <= 33"),
    ],
)
def test_lines_that_make_no_sense_are_told_what_is_wrong(text: bytes, what: str) -> None:
    found = read(text)
    assert isinstance(found, str)
    assert what in found


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_do_harm(text: bytes) -> None:
    assert isinstance(read(text), ReportLine | str)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["checkpoint", "metrics", "busy", "at", "step", "path", "rewind", "loss"]
                ),
                inner,
            )
        ),
    )
)
def test_no_json_does_harm(value: object) -> None:
    assert isinstance(read(json.dumps(value).encode()), ReportLine | str)
