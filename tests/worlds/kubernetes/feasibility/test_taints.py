"""Taints and tolerations."""

import pytest

from ganglion.worlds.kubernetes.feasibility.taints import (
    barring_taints,
    integer,
    tolerated,
    tolerations_of,
)
from ganglion.worlds.kubernetes.types.affinity import Toleration
from ganglion.worlds.kubernetes.types.node import UNSCHEDULABLE, Taint
from tests.worlds.kubernetes.feasibility.make import node

TAINT = Taint("gpu", "h100", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration("gpu", "Equal", "h100", "NoSchedule"), True),
        (Toleration("gpu", "", "h100"), True),
        (Toleration("gpu", "Equal", "a100", "NoSchedule"), False),
        (Toleration("gpu", "Exists"), True),
        (Toleration("gpu", "Exists", effect="NoExecute"), False),
        (Toleration("other", "Exists"), False),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", effect="NoExecute"), False),
        (Toleration("gpu", "Like", "h100"), False),
    ],
)
def test_a_toleration_covers_what_it_names(toleration: Toleration, expected: bool) -> None:
    assert tolerated((toleration,), TAINT) == expected


@pytest.mark.parametrize(
    ("operator", "bound", "value", "expected"),
    [
        ("Gt", "900", "950", True),
        ("Gt", "950", "950", False),
        ("Lt", "-1", "-2", True),
        ("Lt", "900", "950", False),
        ("Gt", "900", "0950", False),
        ("Gt", "x", "950", False),
    ],
)
def test_values_can_be_tolerated_above_or_below_a_bound(
    operator: str, bound: str, value: str, expected: bool
) -> None:
    taint = Taint("sla", value, "NoSchedule")
    assert tolerated((Toleration("sla", operator, bound),), taint) == expected


def test_numbers_are_written_in_one_way() -> None:
    assert [integer(text) for text in ("0", "-7", "12")] == [0, -7, 12]
    assert [integer(text) for text in ("-0", "+1", "01", "", str(1 << 63))] == [None] * 5


def test_only_effects_that_keep_pods_off_count() -> None:
    soft = ("a", "", "PreferNoSchedule")
    tainted = node(taints=[soft, ("b", "x", "NoSchedule"), ("c", "", "NoExecute")])
    assert [each.key for each in barring_taints(tainted)] == ["b", "c"]


def test_a_cordoned_node_is_tainted_once_even_if_nobody_wrote_it() -> None:
    expected = (Taint(UNSCHEDULABLE, "", "NoSchedule"),)
    assert barring_taints(node(unschedulable=True)) == expected
    written = [(UNSCHEDULABLE, "", "NoSchedule")]
    assert barring_taints(node(taints=written, unschedulable=True)) == expected


def test_tolerations_that_let_pods_start_in_the_same_places_are_the_same() -> None:
    short = Toleration("gone", "Exists", "", "NoExecute", 30)
    long = Toleration("gone", "Exists", "", "NoExecute", 300)
    plain, spelled = Toleration("a", "", "1"), Toleration("a", "Equal", "1")
    soft = Toleration("b", "Exists", "", "PreferNoSchedule")
    assert tolerations_of([short, plain]) == tolerations_of([spelled, soft, long, long])
