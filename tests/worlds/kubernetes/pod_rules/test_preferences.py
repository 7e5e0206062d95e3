"""Which nodes pods prefer for what else runs there."""

from math import log
from random import Random

import msgspec
import pytest

from ganglion.worlds.kubernetes.feasibility.node_preferences import taste_of
from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.preferences import Preferences, logarithm
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.effort import examples
from tests.worlds.kubernetes.feasibility import slow
from tests.worlds.kubernetes.feasibility.dice import (
    SPACES,
    node_json,
    pod_json,
    some_spread,
    some_term,
)
from tests.worlds.kubernetes.feasibility.make import (
    HOST,
    ZONE,
    Json,
    crowd,
    pod,
    spread,
    term,
    zones,
)
from tests.worlds.kubernetes.feasibility.test_node_preferences import PREFERRED

WEB = {"app": "web"}
FLEET = zones(a1="a", a2="a", b1="b")


def towards(kind: str, *terms: tuple[int, Json]) -> Json:
    """Preferred affinity between pods: weight and term."""
    wishes = [{"weight": weight, "podAffinityTerm": each} for weight, each in terms]
    return {"affinity": {kind: {PREFERRED: wishes}}}


def near(key: str, weight: int = 1) -> Json:
    return towards("podAffinity", (weight, term(key, labels=WEB)))


def apart(key: str, weight: int = 1) -> Json:
    return towards("podAntiAffinity", (weight, term(key, labels=WEB)))


def evenly(key: str, skew: int = 1) -> Json:
    rule = spread(key, WEB, skew) | {"whenUnsatisfiable": "ScheduleAnyway"}
    return {"topologySpreadConstraints": [rule]}


def order(one: Pod, there: PodIndex, fleet: Fleet = FLEET) -> list[str]:
    preferences = Preferences(needs_of(one), taste_of(one), there, fleet)
    return list(preferences.order(fleet.views))


def running(*nodes: str, **spec: Json) -> PodIndex:
    return crowd(*((pod(f"{at}", labels=WEB, **spec), node) for at, node in enumerate(nodes)))


@pytest.mark.parametrize(
    ("spec", "there", "expected"),
    [
        ({}, ["a2"], ["a1", "a2", "b1"]),
        (near(HOST), ["a2"], ["a2", "a1", "b1"]),
        (near(ZONE), ["b1"], ["b1", "a1", "a2"]),
        (near(ZONE), ["a1", "b1", "b1"], ["b1", "a1", "a2"]),
        (apart(HOST), ["a1"], ["a2", "b1", "a1"]),
        (apart(ZONE), ["a2"], ["b1", "a1", "a2"]),
        (apart(HOST), ["a1", "a1", "a2", "b1"], ["a2", "b1", "a1"]),
        (evenly(HOST), ["a1", "a1", "b1"], ["a2", "b1", "a1"]),
        (evenly(ZONE), ["a1"], ["b1", "a1", "a2"]),
    ],
)
def test_nodes_are_in_the_order_of_pods_nearby(
    spec: Json, there: list[str], expected: list[str]
) -> None:
    assert order(pod(labels=WEB, **spec), running(*there)) == expected


def test_weights_are_compared_with_each_other() -> None:
    there = crowd((pod("w", labels=WEB), "a1"), (pod("d", labels={"app": "db"}), "b1"))
    for to_web, to_db, best in ((2, 1, "a1"), (1, 2, "b1")):
        wishes = (to_web, term(HOST, labels=WEB)), (to_db, term(HOST, labels={"app": "db"}))
        assert order(pod(**towards("podAffinity", *wishes)), there)[0] == best


def test_pods_that_run_draw_and_avoid_others_as_well() -> None:
    new = pod(labels=WEB)
    assert order(new, running("b1", **near(HOST)))[0] == "b1"
    assert order(new, running("a1", **apart(ZONE)))[0] == "b1"
    assert order(pod(labels={"app": "db"}), running("b1", **near(HOST)))[0] == "a1"


def test_a_node_without_the_label_is_the_last_to_be_spread_over() -> None:
    fleet = zones(a1="a", nowhere="")
    assert order(pod(labels=WEB, **evenly(ZONE)), running("a1", "a1"), fleet) == ["a1", "nowhere"]


def test_pods_that_leave_do_not_count_for_spreading() -> None:
    leaving = msgspec.convert(
        {"metadata": {"name": "old", "namespace": "ns", "uid": "old", "labels": WEB}
         | {"deletionTimestamp": "2026-11-01T08:00:00Z"}},
        Pod,
    )  # fmt: skip
    assert order(pod(labels=WEB, **evenly(ZONE)), crowd((leaving, "a1")))[0] == "a1"


def test_the_first_node_that_none_can_surpass_is_given_before_others_are_looked_at() -> None:
    one, seen = pod(labels=WEB, **apart(HOST)), []
    there = running("a1")
    preferences = Preferences(needs_of(one), taste_of(one), there, FLEET)
    nodes = (seen.append(name) or name for name in FLEET.views)
    assert next(preferences.order(nodes)) == "a2"
    assert seen == ["a1", "a2"]


@pytest.mark.parametrize("number", [2, 3, 4, 7, 8, 1000, 5002, 1 << 20])
def test_logarithms_are_right_to_nine_digits(number: int) -> None:
    assert logarithm(number) / 10**12 == pytest.approx(log(number), rel=1e-9)


@pytest.mark.parametrize("seed", range(examples(60)))
def test_the_best_node_is_the_one_that_comparing_every_pod_with_every_pod_gives(seed: int) -> None:
    dice = Random(seed)
    nodes = slow.by_name(msgspec.convert([node_json(dice, f"n{i}") for i in range(5)], list[Node]))
    fleet, there = Fleet(), PodIndex()
    for each in nodes.values():
        fleet.put(each)
    for name, labels in SPACES.items():
        there.put_namespace(name, labels)
    placed: list[Pod] = []
    for number in range(12):
        one = msgspec.convert(wishing(dice, f"p{number}"), Pod)
        open_to = dice.sample(sorted(nodes), dice.randint(1, 5))
        worth = slow.worth(one, open_to, nodes, placed, SPACES)
        best = next(Preferences(needs_of(one), taste_of(one), there, fleet).order(open_to))
        assert worth[best] == max(worth.values()), (one, worth)
        placed.append((one, best))
        there.put(one, best)


def wishing(dice: Random, name: str) -> Json:
    """A pod with preferences for what else runs."""
    body = pod_json(dice, name, 0)
    for kind in ("podAffinity", "podAntiAffinity"):
        if dice.random() < 0.5:
            wish = {"weight": dice.randint(1, 100), "podAffinityTerm": some_term(dice)}
            body["spec"]["affinity"][kind] = {PREFERRED: [wish]}
    soft = [some_spread(dice, key) for key in dice.sample((HOST, ZONE, "rack"), dice.randint(0, 2))]
    for each in soft:
        each["whenUnsatisfiable"] = "ScheduleAnyway"
    body["spec"]["topologySpreadConstraints"] = soft
    return body
