"""The static rules inside the engine."""

import pytest

from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import Filter, NodeClass, Plugins
from ganglion.model.errors import InvariantBroken
from ganglion.model.policy import Policy
from ganglion.model.workload import Gang, PodSet
from ganglion.worlds.kubernetes.feasibility.labels import labels_of, mentioned_by
from ganglion.worlds.kubernetes.feasibility.plugin import NO_RULE, KubernetesFilter
from ganglion.worlds.kubernetes.feasibility.rule import rule_of, with_bars
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from tests.engine.build import gang, state_of, submit, where
from tests.engine.build import node as seen_node
from tests.worlds.kubernetes.feasibility.make import node, pod


def seen(labels: dict[str, str]) -> NodeClass:
    return NodeClass(1000, 1000, 10, (), tuple(sorted(labels.items())), "cpu", "")


def test_it_is_a_filter() -> None:
    assert isinstance(KubernetesFilter(), Filter)


def test_the_key_is_the_rule_of_the_pod_set() -> None:
    plugin = KubernetesFilter()
    rule = rule_of(pod(nodeSelector={"zone": "a"}), Volumes())
    plugin.rules["g-1/0", "workers"] = rule
    gang = Gang("g-1/0", "g-1", "q")
    assert plugin.key(gang, PodSet("workers")) is rule
    assert plugin.key(gang, PodSet("driver")) is NO_RULE


def test_it_answers_for_node_classes_with_a_reason() -> None:
    plugin = KubernetesFilter()
    rule = rule_of(pod(nodeSelector={"zone": "a"}), Volumes())
    words = mentioned_by([rule])
    good, bad = (seen(labels_of(node(labels={"zone": z}), words)) for z in "ab")
    assert plugin.allows(rule, good)
    assert not plugin.allows(rule, bad)
    assert plugin.why_not(rule, bad) == "wanted: zone is a"
    barred = seen(labels_of(node(labels={"zone": "a"}), words, frozenset("x")))
    assert plugin.allows(rule, barred)
    assert not plugin.allows(with_bars(rule, ["x"]), barred)


def test_pods_without_a_rule_stay_off_tainted_nodes() -> None:
    plugin = KubernetesFilter()
    tainted = node(taints=[("a", "", "NoSchedule")])
    assert not plugin.allows(NO_RULE, seen(labels_of(tainted, mentioned_by([]))))


def test_a_key_of_somebody_else_is_a_bug() -> None:
    with pytest.raises(InvariantBroken, match="no rule"):
        KubernetesFilter().allows("zone-a", seen({}))


def test_the_engine_places_pods_where_the_rules_let_them() -> None:
    plugin, made = KubernetesFilter(), builtin_plugins(Policy())
    rule = rule_of(pod(nodeSelector={"zone": "b"}), Volumes())
    words = mentioned_by([rule])
    bars = {"n2": frozenset(("x",))}
    nodes = [
        seen_node(
            name, labels=labels_of(node(name, {"zone": zone}), words, bars.get(name, frozenset()))
        )
        for name, zone in (("n1", "a"), ("n2", "b"), ("n3", "b"))
    ]
    plugins = Plugins(made.scores, (*made.filters, plugin), made.permits, made.preempts)
    state = state_of(*nodes, plugins=plugins)
    plugin.rules["g/0", "main"] = with_bars(rule, ["x"])
    assert where(submit(state, gang("g", gpus=8)), "g") == ["n3"]


def test_the_engine_says_so_when_no_node_is_left() -> None:
    plugin, made = KubernetesFilter(), builtin_plugins(Policy())
    rule = rule_of(pod(nodeSelector={"zone": "c"}), Volumes())
    nodes = [seen_node("n1", labels=labels_of(node("n1", {"zone": "a"}), mentioned_by([rule])))]
    plugins = Plugins(made.scores, (*made.filters, plugin), made.permits, made.preempts)
    state = state_of(*nodes, plugins=plugins)
    plugin.rules["g/0", "main"] = rule
    plan = submit(state, gang("g"))
    assert plan.starts == []
    (wait,) = plan.waits
    assert wait.first == "g/0"
    assert "wanted: zone is c" in wait.reason.message
