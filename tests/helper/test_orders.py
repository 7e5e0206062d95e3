"""The decoder of requests: what it takes is what it says, and nothing else passes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganglion.helper.orders import StartOrder, first_order, next_order
from ganglion.helper.wire import BadMessage, decoded

OPEN: dict[str, Any] = {
    "op": "open",
    "attempt": "job-1.0.1",
    "uid": 1000,
    "memory_bytes": 0,
    "cpu_milli": 0,
    "open_files": 0,
    "devices": None,
}
START: dict[str, Any] = {
    "op": "start",
    "argv": ["true"],
    "env": {"A": "b"},
    "workdir": "/",
    "umask": -1,
    "terminal": False,
    "folders": [],
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(OPEN)), VALUES, st.booleans())
def test_any_value_of_a_first_order_is_taken_or_refused(key: str, value: Any, gone: bool) -> None:
    message = {name: each for name, each in OPEN.items() if name != key}
    message |= {} if gone else {key: value}
    try:
        order = first_order(message)
    except BadMessage:
        return
    assert "/" not in order[0] if isinstance(order[0], str) else order[0] >= 0  # type: ignore[operator]


@given(st.sampled_from(sorted(START)), VALUES)
def test_any_value_of_a_start_is_taken_or_refused(key: str, value: Any) -> None:
    try:
        order = next_order(START | {key: value})
    except BadMessage:
        return
    assert isinstance(order, StartOrder)
    words = [*order.argv, *order.env, *order.env.values(), order.workdir, *order.folders]
    assert not any("\0" in word for word in words)
    assert not any("=" in name or not name for name in order.env)
    assert order.workdir.startswith("/")


@given(st.binary() | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_an_object_or_refused(body: bytes) -> None:
    try:
        found = decoded(body)
    except BadMessage:
        return
    for decode in (first_order, next_order):
        with pytest.raises(BadMessage):
            decode(found)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attempt", "../../etc"),
        ("attempt", "a/b"),
        ("attempt", ""),
        ("attempt", "."),
        ("uid", True),
        ("uid", -1),
        ("uid", 1 << 32),
        ("devices", ["/dev/sda"]),
        ("devices", ["/dev/nvidia0/../sda"]),
        ("op", "start"),
    ],
)
def test_what_could_lead_elsewhere_is_refused(key: str, value: Any) -> None:
    with pytest.raises(BadMessage):
        first_order(OPEN | {key: value})
