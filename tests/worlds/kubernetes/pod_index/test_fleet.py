"""The nodes by label."""

import pytest

from ganglion.worlds.kubernetes.pod_index import fleet as module
from tests.worlds.kubernetes.feasibility.make import HOST, ZONE, fleet, node


def test_nodes_are_found_by_the_value_of_a_label() -> None:
    there = fleet(node("a", {ZONE: "x"}), node("b", {ZONE: "x"}), node("c"))
    assert there.by_value(ZONE) == {"x": ["a", "b"]}
    assert there.lacking(ZONE) == ["c"]
    assert there.value("a", HOST) == "a"
    assert there.value("c", ZONE) is None
    assert there.value("z", ZONE) is None


def test_counts_add_up_by_domain() -> None:
    there = fleet(node("a", {ZONE: "x"}), node("b", {ZONE: "x"}), node("c"))
    assert there.domains({"a": 1, "b": 2, "c": 4, "gone": 8}, ZONE) == {"x": 3}


def test_answers_follow_nodes_that_come_change_and_go() -> None:
    there = fleet(node("a", {ZONE: "x"}))
    assert there.by_value(ZONE) == {"x": ["a"]}
    there.put(node("b", {ZONE: "x"}))
    assert there.by_value(ZONE) == {"x": ["a", "b"]}
    there.put(node("a", {ZONE: "y"}))
    assert there.by_value(ZONE) == {"y": ["a"], "x": ["b"]}
    there.drop("b")
    there.drop("nobody")
    assert there.by_value(ZONE) == {"y": ["a"]}


def test_answers_are_kept_as_long_as_nothing_changes() -> None:
    there, asked = fleet(node("a")), []
    for _ in range(2):
        there.remembered("q", lambda: asked.append(1))
        there.put(node("a"))
    assert asked == [1]
    there.put(node("a", {ZONE: "x"}))
    there.remembered("q", lambda: asked.append(2))
    assert asked == [1, 2]


def test_only_so_many_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUESTIONS", 2)
    there = fleet(node("a"))
    assert [there.remembered(number, lambda n=number: n) for number in range(5)] == [*range(5)]  # type: ignore[misc]


def test_what_the_engine_counts_itself_is_left_to_it() -> None:
    allocatable = {"cpu": "1", "memory": "1Gi", "pods": "9", "nvidia.com/gpu": 8, "rdma/hca": "2"}
    assert fleet(node("a", allocatable=allocatable)).views["a"].extras == {"rdma/hca": 2}
