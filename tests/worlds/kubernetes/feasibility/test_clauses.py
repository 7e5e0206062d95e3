"""Conditions on nodes."""

from typing import Any

import pytest

from ganglion.worlds.kubernetes.feasibility.clauses import NODE_NAME, meets, node_clauses, spelled
from tests.worlds.kubernetes.feasibility.make import on_nodes, pod, wants

LABELS = {"zone": "a", "size": "8", NODE_NAME: "n1"}


def fits(**spec: Any) -> bool:
    return meets(node_clauses(pod(**spec)), LABELS)


def one(*requirements: Any, fields: Any = ()) -> Any:
    return {"matchExpressions": list(requirements), "matchFields": list(fields)}


def test_a_pod_without_wishes_fits_everywhere() -> None:
    assert fits()
    assert node_clauses(pod()) == ()


def test_every_label_of_the_node_selector_has_to_be_there() -> None:
    assert fits(nodeSelector={"zone": "a", "size": "8"})
    assert not fits(nodeSelector={"zone": "a", "size": "9"})
    assert not fits(nodeSelector={"rack": "r"})


def test_one_term_is_enough_and_all_of_its_expressions_are_needed() -> None:
    right, wrong = wants("zone", "In", "a"), wants("zone", "In", "b")
    assert fits(affinity=on_nodes(one(wrong), one(right)))
    assert not fits(affinity=on_nodes(one(wrong, right), one(wrong)))


def test_node_selector_and_affinity_both_have_to_hold() -> None:
    right, wrong = on_nodes(one(wants("zone", "In", "a"))), on_nodes(one(wants("zone", "In", "b")))
    assert fits(nodeSelector={"size": "8"}, affinity=right)
    assert not fits(nodeSelector={"size": "8"}, affinity=wrong)
    assert not fits(nodeSelector={"size": "9"}, affinity=right)


def test_nodes_can_be_named() -> None:
    assert fits(affinity=on_nodes(one(fields=[wants("metadata.name", "In", "n1")])))
    assert not fits(affinity=on_nodes(one(fields=[wants("metadata.name", "NotIn", "n1")])))
    both = one(wants("zone", "In", "b"), fields=[wants("metadata.name", "In", "n1")])
    assert not fits(affinity=on_nodes(both))


@pytest.mark.parametrize(
    "term",
    [
        {},
        one(wants("size", "Gt", "few")),
        one(wants("size", "Gt", "1", "2")),
        one(wants("zone", "In")),
        one(wants("zone", "Near", "a")),
        one(fields=[wants("metadata.uid", "In", "u")]),
        one(fields=[wants("metadata.name", "In", "n1", "n2")]),
        one(fields=[wants("metadata.name", "Exists")]),
    ],
)
def test_terms_that_make_no_sense_fit_no_node_but_leave_the_others_alone(term: Any) -> None:
    assert not fits(affinity=on_nodes(term))
    assert fits(affinity=on_nodes(term, one(wants("zone", "In", "a"))))


def test_no_terms_at_all_fit_no_node() -> None:
    assert not fits(affinity=on_nodes())


def test_terms_in_another_order_are_the_same_wish() -> None:
    a, b = one(wants("zone", "In", "a", "b")), one(wants("size", "Exists"))
    again = one(wants("zone", "In", "b", "a"))
    assert node_clauses(pod(affinity=on_nodes(a, b))) == node_clauses(
        pod(affinity=on_nodes(b, again, a))
    )


def test_a_wish_can_be_read() -> None:
    term = one(wants("zone", "In", "a", "b"), wants("gpu", "DoesNotExist"))
    named = one(wants("size", "Gt", "4"), fields=[wants("metadata.name", "NotIn", "n")])
    found = node_clauses(pod(affinity=on_nodes(term, named, one(wants("gpu", "Exists")))))
    assert spelled(found[0]) == (
        "gpu is absent and zone is a or b, or gpu is there, or the node is not n and size is over 4"
    )
