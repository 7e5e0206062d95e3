"""Nodes as the engine sees them."""

from random import Random
from typing import Any

import pytest

from ganglion.worlds.kubernetes.feasibility.clauses import NODE_NAME
from ganglion.worlds.kubernetes.feasibility.labels import (
    OTHER,
    Mentioned,
    Words,
    all_labels_of,
    labels_of,
    mentioned_by,
)
from ganglion.worlds.kubernetes.feasibility.node_preferences import worse_label
from ganglion.worlds.kubernetes.feasibility.rule import (
    PodRule,
    obstacle,
    rule_of,
    taint_label,
    with_bars,
)
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.types.affinity import Toleration
from ganglion.worlds.kubernetes.types.node import Taint
from tests.worlds.kubernetes.feasibility.dice import some_node, some_node_affinity, some_tolerations
from tests.worlds.kubernetes.feasibility.make import HOST, REQUIRED, node, on_nodes, pod, wants


def wanting(*requirements: Any, **spec: Any) -> PodRule:
    affinity = on_nodes({"matchExpressions": list(requirements)}) if requirements else {}
    return rule_of(pod(affinity=affinity, **spec), Volumes())


def test_labels_that_no_rule_speaks_of_are_left_out() -> None:
    assert labels_of(node(labels={"a": "1"}), Mentioned()) == {}


def test_values_that_no_rule_names_are_left_out() -> None:
    words = mentioned_by([wanting(wants("zone", "In", "a"))])
    assert labels_of(node(labels={"zone": "a"}), words) == {"zone": "a"}
    assert labels_of(node(labels={"zone": "b"}), words) == {}


def test_where_presence_matters_other_values_are_all_alike() -> None:
    words = mentioned_by([wanting(wants("zone", "In", "a")), wanting(wants("zone", "Exists"))])
    assert labels_of(node(labels={"zone": "a"}), words) == {"zone": "a"}
    assert labels_of(node(labels={"zone": "b"}), words) == {"zone": OTHER}
    assert labels_of(node(), words) == {}


def test_where_numbers_are_compared_numbers_stay() -> None:
    words = mentioned_by([wanting(wants("size", "Gt", "4"))])
    assert labels_of(node(labels={"size": "8"}), words) == {"size": "8"}
    assert labels_of(node(labels={"size": "big"}), words) == {}


def test_only_nodes_that_a_rule_names_have_a_name() -> None:
    by_label = wanting(wants(HOST, "In", "n1"))
    by_name = rule_of(
        pod(affinity=on_nodes({"matchFields": [wants("metadata.name", "In", "n2")]})), Volumes()
    )
    words = mentioned_by([by_label, by_name])
    seen = [labels_of(node(f"n{number}"), words) for number in range(1, 5)]
    assert seen == [{HOST: "n1"}, {NODE_NAME: "n2"}, {}, {}]


def test_a_thousand_nodes_with_names_of_their_own_are_one_class() -> None:
    words = mentioned_by([wanting(wants("zone", "In", "a")), wanting(nodeSelector={HOST: "n7"})])
    nodes = [node(f"n{i}", {"zone": "a", "serial": str(i)}) for i in range(1000)]
    assert len({tuple(labels_of(each, words).items()) for each in nodes}) == 2


def test_taints_stay_by_key_and_effect_and_by_value_where_it_is_named() -> None:
    words = mentioned_by([rule_of(pod(tolerations=[{"key": "team", "value": "a"}]), Volumes())])
    label = taint_label(Taint("team", "", "NoSchedule"))
    assert labels_of(node(taints=[("team", "a", "NoSchedule")]), words) == {label: "a"}
    assert labels_of(node(taints=[("team", "b", "NoSchedule")]), words) == {label: OTHER}
    worse = worse_label(Taint("team", "", "PreferNoSchedule"))
    assert labels_of(node(taints=[("team", "a", "PreferNoSchedule")]), words) == {worse: "a"}
    assert labels_of(node(taints=[("team", "b", "PreferNoSchedule")]), words) == {worse: OTHER}


def test_taints_that_are_tolerated_by_number_keep_it() -> None:
    sla = PodRule(tolerations=(Toleration("sla", "Gt", "900"),))
    words = mentioned_by([sla])
    good = labels_of(node(taints=[("sla", "950", "NoSchedule")]), words)
    assert not obstacle(sla, good)
    assert obstacle(sla, labels_of(node(taints=[("sla", "x", "NoSchedule")]), words))


def test_sets_of_closed_nodes_are_labels_too() -> None:
    assert labels_of(node(), Mentioned(), frozenset("ba")) == {
        "barred:a": "true",
        "barred:b": "true",
    }


def test_it_is_known_whether_nodes_were_encoded_for_a_rule() -> None:
    known = mentioned_by(
        [wanting(wants("zone", "In", "a"), tolerations=[{"key": "t", "value": "1"}])]
    )
    assert known.covers(mentioned_by([wanting(wants("zone", "NotIn", "a"))]))
    for rule in (
        wanting(wants("zone", "In", "b")),
        wanting(wants("zone", "Exists")),
        wanting(wants("zone", "Gt", "1")),
        wanting(wants("rack", "In", "a")),
        wanting(tolerations=[{"key": "t", "value": "2"}]),
        wanting(tolerations=[{"key": "s", "value": "1"}]),
    ):
        assert not known.covers(mentioned_by([rule]))
    assert mentioned_by([with_bars(PodRule(), ["x"])]) == Mentioned()
    assert Words(frozenset("a")).plus(Words(presence=True)) == Words(frozenset("a"), True)


@pytest.mark.parametrize("seed", range(30))
def test_rules_say_of_few_labels_what_they_say_of_all(seed: int) -> None:
    dice = Random(seed)
    nodes = [some_node(dice, f"n{number}") for number in range(20)]
    rules = []
    for _ in range(8):
        affinity = {"nodeAffinity": {REQUIRED: some_node_affinity(dice)}}
        rules.append(rule_of(pod(affinity=affinity, tolerations=some_tolerations(dice)), Volumes()))
    words = mentioned_by(rules)
    for rule in rules:
        for each in nodes:
            few, everything = labels_of(each, words), all_labels_of(each)
            assert bool(obstacle(rule, few)) == bool(obstacle(rule, everything))


def test_the_encoding_does_not_depend_on_the_order_of_rules() -> None:
    rules = [wanting(wants("zone", "In", "a", "b")), wanting(wants("rack", "Exists"))]
    assert mentioned_by(rules) == mentioned_by(reversed(rules))
