"""The default scheduler and Ganglion in turn on one API server: what one can place both can."""

from random import Random

import msgspec
import pytest
from tests.controlplane.cluster import Cluster
from tests.effort import TIMES
from tests.worlds.kubernetes.filters.dice import (
    KEYS,
    SPACES,
    node_json,
    pod_json,
    some_node_affinity,
    some_term,
)
from tests.worlds.kubernetes.filters.make import REQUIRED, Json
from tests.worlds.kubernetes.filters.oracle import copied, judging, takes
from tests.worlds.kubernetes.scheduling import scheduling

from ganglion.worlds.kubernetes.objects.pod import Pod

NODES, CASES = 5, 40
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def some_body(dice: Random, name: str) -> Json:
    """A pod with required rules, and with wishes that must not matter to whether it fits."""
    body = pod_json(dice, name, 0.3)
    affinity = body["spec"]["affinity"]
    if dice.random() < 0.3:
        affinity["nodeAffinity"] = {REQUIRED: some_node_affinity(dice)}
    if dice.random() < 0.5:
        wish = {"weight": dice.randint(1, 100), "podAffinityTerm": some_term(dice)}
        affinity.setdefault(dice.choice(("podAffinity", "podAntiAffinity")), {})[PREFERRED] = [wish]
    if dice.random() < 0.5:
        soft = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
        chosen = {"topologyKey": dice.choice(KEYS), "labelSelector": {"matchLabels": {"app": "a"}}}
        rules = body["spec"].setdefault("topologySpreadConstraints", [])
        if all(each["topologyKey"] != chosen["topologyKey"] for each in rules):
            rules.append(soft | chosen)
    return body


def some_nodes(dice: Random) -> list[Json]:
    """Nodes, some with a taint that keeps nobody off."""
    found = [node_json(dice, f"n{number}") for number in range(NODES)]
    for each in found:
        if dice.random() < 0.3:
            each["spec"]["taints"].append({"key": "worse", "effect": "PreferNoSchedule"})
        each["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return found


def ours_takes(cluster: Cluster, body: Json) -> str:
    """The node on which Ganglion places a pod, empty = none; it is gone afterwards."""
    body = copied(body)
    body["spec"]["schedulerName"] = "ganglion"
    cluster.create(body)
    path = cluster.path(body)

    def answer() -> Pod | None:
        now = msgspec.convert(cluster.get(path), Pod)
        return now if now.spec.node_name or now.condition("PodScheduled") else None

    now: Pod = cluster.wait(answer, f"an answer to {body}")
    cluster.delete(path, grace=0)
    return now.spec.node_name


@pytest.mark.parametrize("seed", range(1 if TIMES == 1 else 50))
def test_what_one_scheduler_can_place_the_other_can(cluster: Cluster, seed: int) -> None:
    for name, labels in SPACES.items():
        cluster.add_namespace(name, **labels)
    dice, placed, refused = Random(6 + seed), 0, 0
    cluster.create(*some_nodes(dice))
    with judging(cluster), scheduling(cluster):
        for number in range(CASES):
            body = some_body(dice, f"p{number}")
            theirs, _ = takes(cluster, body)
            node = ours_takes(cluster, body)
            assert bool(node) == theirs, body
            placed, refused = placed + bool(node), refused + (not node)
            if node and number < 30:
                lasting = copied(body)
                lasting["spec"]["nodeName"] = node
                cluster.create(lasting)
    assert placed
    assert refused
