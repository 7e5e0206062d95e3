"""The default scheduler and Ganglion in turn on one API server: both place the same pods."""

from collections import Counter
from random import Random

import msgspec
import pytest

from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.controlplane.cluster import Cluster
from tests.effort import TIMES
from tests.worlds.kubernetes.feasibility import slow
from tests.worlds.kubernetes.feasibility.dice import (
    KEYS,
    SPACES,
    node_json,
    pod_json,
    some_node_affinity,
    some_spread,
    some_term,
)
from tests.worlds.kubernetes.feasibility.make import REQUIRED, Json
from tests.worlds.kubernetes.feasibility.oracle import chooses, copied, judging
from tests.worlds.kubernetes.feasibility.oracles.test_kube_scheduler import Ours
from tests.worlds.kubernetes.scheduling import scheduling

NODES, CASES = 5, 40
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WORSE = ("worse", "worst")


def some_body(dice: Random, name: str) -> Json:
    """A pod with required rules, and with preferences that must not matter to whether it fits."""
    body = pod_json(dice, name, 0.2)
    spec, affinity = body["spec"], body["spec"]["affinity"]
    nodes: Json = {REQUIRED: some_node_affinity(dice)} if dice.random() < 0.2 else {}
    if dice.random() < 0.5:
        nodes[PREFERRED] = [
            {"weight": dice.randint(1, 100), "preference": each}
            for each in some_node_affinity(dice)["nodeSelectorTerms"]
        ]
    if nodes:
        affinity["nodeAffinity"] = nodes
    for kind in ("podAffinity", "podAntiAffinity"):
        if dice.random() < 0.4:
            affinity.setdefault(kind, {})[PREFERRED] = [
                {"weight": dice.randint(1, 100), "podAffinityTerm": some_term(dice)}
                for _ in range(dice.choice((1, 2)))
            ]
    rules = spec.setdefault("topologySpreadConstraints", [])
    hard = {each["topologyKey"] for each in rules}
    for key in dice.sample(KEYS, dice.choice((0, 1, 2))):
        if key not in hard:
            soft = some_spread(dice, key) | {"whenUnsatisfiable": "ScheduleAnyway"}
            soft.pop("minDomains", None)
            rules.append(soft)
    if dice.random() < 0.4:
        tolerated = {"key": dice.choice(WORSE), "operator": "Exists"}
        effect = {"effect": "PreferNoSchedule"} if dice.random() < 0.5 else {}
        spec["tolerations"] = [*spec.get("tolerations", ()), tolerated | effect]
    return body


def some_nodes(dice: Random) -> list[Json]:
    """Nodes, some with taints for which others are preferred."""
    found = [node_json(dice, f"n{number}") for number in range(NODES)]
    for each in found:
        worse = dice.sample(WORSE, dice.choice((0, 0, 1, 2)))
        each["spec"]["taints"] += [{"key": key, "effect": "PreferNoSchedule"} for key in worse]
        each["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return found


def preferred(cluster: Cluster, pod: Pod) -> set[str]:
    """The nodes that suit a pod best of those that it may use, worked out pod against pod."""
    nodes = slow.by_name(msgspec.convert(cluster.list("/api/v1/nodes"), list[Node]))
    pods = msgspec.convert(cluster.list("/api/v1/pods"), list[Pod])
    placed = [(each, each.spec.node_name) for each in pods]
    open_to = sorted(Ours(cluster).open_to(pod))
    worth = slow.worth(pod, open_to, nodes, placed, SPACES) if open_to else {}
    return {name for name in open_to if worth[name] == max(worth.values())}


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
def test_both_schedulers_place_the_same_pods_where_these_prefer_to_be(
    cluster: Cluster, seed: int
) -> None:
    for name, labels in SPACES.items():
        cluster.add_namespace(name, **labels)
    dice, seen = Random(6 + seed), Counter[str]()
    cluster.create(*some_nodes(dice))
    with judging(cluster, by_preference=True), scheduling(cluster):
        for number in range(CASES):
            body = some_body(dice, f"p{number}")
            theirs, pod = chooses(cluster, body)
            best = preferred(cluster, pod)
            ours = ours_takes(cluster, body)
            assert bool(ours) == bool(theirs) == bool(best), body
            assert {ours, theirs} - {""} <= best, body
            seen["placed" if ours else "refused"] += 1
            seen["unique"] += len(best) == 1
            if ours and number < 30:
                lasting = copied(body)
                lasting["spec"]["nodeName"] = ours
                cluster.create(lasting)
    assert seen["refused"]
    assert seen["unique"] > CASES // 4
