"""Pods and gangs go where what they merely prefer is met best, before they pack."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from ganglion.worlds.kubernetes.feasibility.node_preferences import Taste
from ganglion.worlds.kubernetes.pod_rules.preferences import Preferences
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.controller.test_gangs_with_rules import WEB, spread, term, zones_of
from tests.worlds.kubernetes.controller.test_rules import HOST, REQUIRED, ZONE, bound, node, settled
from tests.worlds.kubernetes.feasibility.test_node_preferences import PREFERRED

RACK = "topology.kubernetes.io/rack"
WORSE = {"key": "old", "effect": "PreferNoSchedule"}


def liking(key: str, value: str) -> Body:
    wish = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": wish}]}}}


def evenly(key: str = ZONE) -> Body:
    (rule,) = spread(key)["topologySpreadConstraints"]
    return {"topologySpreadConstraints": [rule | {"whenUnsatisfiable": "ScheduleAnyway"}]}


def wishing(kind: str, key: str) -> Body:
    return {"affinity": {kind: {PREFERRED: [{"weight": 1, "podAffinityTerm": term(key)}]}}}


def racked(number: int, rack: str, gpus: int = 8, **rest: Any) -> Body:
    return manifests.node(f"n{number}", gpus=gpus, labels={RACK: rack}, **rest)


def test_a_preferred_zone_beats_the_fullest_node() -> None:
    stage = Stage()
    stage.show(node(0, zone="a"), node(1, zone="b"), settled("other", "n0", gpus=3))
    stage.show(manifests.pod("p", **liking(ZONE, "b")), manifests.pod("q"))
    stage.turn()
    assert bound(stage) == {"p": "n1", "q": "n0"}


def test_a_preferred_node_that_is_full_is_no_reason_to_wait() -> None:
    stage = Stage()
    stage.show(node(0, gpus=2, zone="a"), node(1, gpus=2, zone="b"))
    stage.show(*(manifests.pod(f"p{i}", **liking(ZONE, "b")) for i in range(3)))
    stage.turn()
    assert Counter(bound(stage).values()) == {"n1": 2, "n0": 1}


def test_nodes_with_a_soft_taint_are_taken_last_but_by_pods_that_tolerate_it() -> None:
    stage = Stage()
    stage.show(node(0, gpus=2, taints=[WORSE]), node(1, gpus=2), settled("other", "n0", gpus=1))
    stage.show(manifests.pod("p0"), manifests.pod("p1"))
    stage.turn()
    assert set(bound(stage).values()) == {"n1"}
    stage.show(manifests.pod("p2"))
    stage.turn()
    assert bound(stage) == {"p2": "n0"}


def test_a_soft_taint_that_is_tolerated_counts_for_nothing() -> None:
    stage = Stage()
    stage.show(node(0, gpus=2, taints=[WORSE]), node(1, gpus=2), settled("other", "n0", gpus=1))
    stage.show(manifests.pod("p", tolerations=[{"operator": "Exists"}]))
    stage.turn()
    assert bound(stage) == {"p": "n0"}


def test_a_gang_starts_whole_on_nodes_that_it_prefers_and_close_together_there() -> None:
    stage = Stage()
    stage.show(*(racked(i, "r0", taints=[WORSE]) for i in range(2)))
    stage.show(*(racked(i, "r1") for i in range(2, 5)), *(racked(i, "r2") for i in (5, 6)))
    stage.show(settled("other", "n5", gpus=7))
    stage.show(*manifests.gang("g", 2, gpus=8))
    stage.turn()
    assert sorted(bound(stage).values()) == ["n2", "n3"]


def test_a_gang_that_does_not_fit_there_takes_other_nodes_too() -> None:
    stage = Stage()
    stage.show(racked(0, "r0", taints=[WORSE]), racked(1, "r1"))
    stage.show(*manifests.gang("g", 2, gpus=8))
    stage.turn()
    assert sorted(bound(stage).values()) == ["n0", "n1"]


def test_what_is_preferred_never_beats_the_rack_that_a_gang_requires() -> None:
    stage = Stage()
    stage.show(racked(0, "r0"), racked(1, "r0", taints=[WORSE]), racked(2, "r1"))
    notes = {"ganglion.dev/topology-required": "rack"}
    stage.show(*manifests.gang("g", 2, gpus=8, annotations=notes))
    stage.turn()
    assert sorted(bound(stage).values()) == ["n0", "n1"]


def test_a_gang_is_not_made_smaller_for_what_it_prefers() -> None:
    stage = Stage()
    stage.show(node(0, gpus=2), node(1, gpus=2, taints=[WORSE]))
    notes = {"ganglion.dev/gang-size": "4", "ganglion.dev/gang-min": "2"}
    stage.show(*manifests.gang("g", 4, annotations=notes))
    stage.turn()
    assert len(bound(stage)) == 4


def test_many_pods_that_would_rather_spread_are_even_after_one_turn() -> None:
    stage, zones = Stage(), "abcabcabc"
    stage.show(*(node(i, gpus=8, zone=zone) for i, zone in enumerate(zones)))
    stage.show(*(manifests.pod(f"p{i}", labels=WEB, **evenly()) for i in range(30)))
    stage.turn()
    assert zones_of(stage, zones) == {"a": 10, "b": 10, "c": 10}


def test_pods_that_would_rather_spread_start_where_they_cannot() -> None:
    stage, zones = Stage(), "ab"
    stage.show(node(0, gpus=1, zone="a"), node(1, gpus=8, zone="b"))
    stage.show(*(manifests.pod(f"p{i}", labels=WEB, **evenly()) for i in range(5)))
    stage.turn()
    assert zones_of(stage, zones) == {"a": 1, "b": 4}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (evenly(), {"a": 2, "b": 2}),
        (wishing("podAntiAffinity", ZONE), {"a": 2, "b": 2}),
        (wishing("podAffinity", ZONE), {"a": 4}),
    ],
)
def test_members_of_a_gang_count_for_what_the_others_prefer(spec: Body, expected: Body) -> None:
    stage, zones = Stage(), "aabb"
    stage.show(*(node(i, zone=zone) for i, zone in enumerate(zones)))
    stage.show(*manifests.gang("g", 4, labels=WEB, **spec))
    stage.turn()
    assert zones_of(stage, zones) == expected


def test_a_gang_that_would_rather_spread_starts_where_it_cannot() -> None:
    stage, zones = Stage(), "ab"
    stage.show(node(0, gpus=1, zone="a"), node(1, gpus=8, zone="b"))
    stage.show(*manifests.gang("g", 4, labels=WEB, **evenly()))
    stage.turn()
    assert zones_of(stage, zones) == {"a": 1, "b": 3}


def test_members_that_would_rather_keep_apart_share_hosts_when_there_are_too_few() -> None:
    stage = Stage()
    stage.show(*(node(i) for i in range(3)))
    stage.show(*manifests.gang("g", 5, labels=WEB, **wishing("podAntiAffinity", HOST)))
    stage.turn()
    assert sorted(Counter(bound(stage).values()).values()) == [1, 2, 2]


def test_what_a_running_pod_prefers_draws_others_to_it() -> None:
    stage = Stage()
    stage.show(node(0), node(1), settled("busy", "n0", gpus=3))
    stage.show(settled("cache", "n1", **wishing("podAffinity", HOST)))
    stage.show(manifests.pod("p", labels=WEB), manifests.pod("q", labels={"app": "other"}))
    stage.turn()
    assert bound(stage) == {"p": "n1", "q": "n0"}


def test_rules_that_forbid_and_preferences_hold_at_once() -> None:
    stage = Stage()
    stage.show(node(0, zone="a"), node(1, zone="b"), node(2, zone="b"))
    stage.show(settled("old", "n1", labels=WEB))
    rules = {"podAntiAffinity": {REQUIRED: [term(HOST)]}} | liking(ZONE, "b")["affinity"]
    stage.show(manifests.pod("p", labels=WEB, affinity=rules))
    stage.turn()
    assert bound(stage) == {"p": "n2"}


def test_two_clusters_rank_their_own_nodes() -> None:
    stage = Stage("east", "west")
    stage.show(node(0, zone="a"), node(1, zone="b"), cluster="east")
    stage.show(node(0, zone="b"), cluster="west")
    stage.show(manifests.pod("p", labels=WEB, **liking(ZONE, "b")), cluster="east")
    stage.show(manifests.pod("q", labels=WEB, **evenly(HOST)), cluster="east")
    stage.turn()
    assert bound(stage) == {"p": "n1", "q": "n0"}


def test_pods_without_preferences_cost_no_look_at_them(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    monkeypatch.setattr(Taste, "rank", lambda self, labels: looks.append(self) or (0, 0))
    monkeypatch.setattr(Preferences, "standing", lambda self, node: looks.append(node))
    stage = Stage()
    stage.show(*(node(i, gpus=8, zone="ab"[i % 2]) for i in range(20)))
    stage.show(*(manifests.pod(f"p{i}") for i in range(50)), *manifests.gang("g", 4))
    stage.turn()
    assert len(bound(stage)) == 54
    assert looks == []


def test_nodes_are_ranked_once_for_all_pods_of_one_taste(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    rank = Taste.rank

    def counted(self: Taste, labels: Mapping[str, str]) -> tuple[int, int]:
        looks.append(self)
        return rank(self, labels)

    monkeypatch.setattr(Taste, "rank", counted)
    stage = Stage()
    stage.show(*(node(i, gpus=8, zone="ab"[i % 2]) for i in range(40)))
    stage.show(*(manifests.pod(f"p{i}", **liking(ZONE, "b")) for i in range(100)))
    stage.turn()
    assert len(bound(stage)) == 100
    assert 0 < len(looks) < 40
