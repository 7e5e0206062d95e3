"""Which nodes pods prefer for what these are."""

from typing import Any

import pytest

from ganglion.worlds.kubernetes.feasibility.node_preferences import points, taste_of
from tests.worlds.kubernetes.feasibility.make import Json, fleet, node, pod, wants

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
IN_A, ON_SSD = wants("zone", "In", "a"), wants("disk", "In", "ssd")


def liking(*wishes: tuple[int, Json]) -> Json:
    """Preferred node affinity: weight and requirement."""
    terms = [{"weight": w, "preference": {"matchExpressions": [each]}} for w, each in wishes]
    return {"affinity": {"nodeAffinity": {PREFERRED: terms}}}


def rank(spec: Json, labels: Json | None = None, taints: Any = ()) -> tuple[int, int]:
    return fleet(node("n", labels, taints)).ranks(taste_of(pod(**spec)))["n"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, 0),
        ({"zone": "b"}, 0),
        ({"zone": "a"}, 10),
        ({"disk": "ssd"}, 5),
        ({"zone": "a", "disk": "ssd"}, 15),
    ],
)
def test_the_weights_of_all_terms_that_a_node_meets_add_up(labels: Json, expected: int) -> None:
    assert rank(liking((10, IN_A), (5, ON_SSD)), labels) == (expected, 0)


def test_terms_that_are_empty_or_can_never_hold_count_for_nothing() -> None:
    empty = {"weight": 7, "preference": {}}
    odd = {"weight": 9, "preference": {"matchExpressions": [wants("zone", "Gt", "x")]}}
    spec = {"affinity": {"nodeAffinity": {PREFERRED: [empty, odd]}}}
    assert rank(spec, {"zone": "a"}) == (0, 0)


def test_a_node_is_preferred_by_name() -> None:
    by_name = {"matchFields": [wants("metadata.name", "In", "n")]}
    spec = {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 3, "preference": by_name}]}}}
    assert rank(spec) == (3, 0)


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], 2),
        ([{"key": "old", "operator": "Exists"}], 1),
        ([{"key": "old", "operator": "Exists", "effect": "NoSchedule"}], 2),
        ([{"key": "old", "value": "x", "effect": "PreferNoSchedule"}], 1),
        ([{"key": "old", "value": "y", "effect": "PreferNoSchedule"}], 2),
        ([{"operator": "Exists"}], 0),
    ],
)
def test_soft_taints_count_that_are_not_tolerated(tolerations: Any, expected: int) -> None:
    taints = [
        ("old", "x", "PreferNoSchedule"),
        ("slow", "", "PreferNoSchedule"),
        ("own", "", "NoSchedule"),
    ]
    assert rank({"tolerations": tolerations}, taints=taints) == (0, expected)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([(0, 0), (0, 0)], [300, 300]),
        ([(30, 0), (10, 0)], [500, 366]),
        ([(0, 1), (0, 2)], [150, 0]),
        ([(100, 1), (1, 0)], [200, 302]),
        ([(100, 1), (1, 2)], [350, 2]),
    ],
)
def test_taints_weigh_three_and_affinity_two_of_what_the_best_node_has(
    ranks: list[tuple[int, int]], expected: list[int]
) -> None:
    assert points(ranks) == expected
