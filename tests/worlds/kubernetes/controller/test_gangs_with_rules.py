"""Gangs whose pods have rules for each other start wherever all of them together may."""

from collections import Counter
from itertools import product
from random import Random

import msgspec
import pytest

from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.controlplane import manifests
from tests.effort import examples
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.controller.test_rules import HOST, REQUIRED, ZONE, bound, node, settled
from tests.worlds.kubernetes.feasibility import slow
from tests.worlds.kubernetes.feasibility.dice import SPACES, node_json, pod_json

WEB = {"app": "web"}


def spread(key: str = ZONE, skew: int = 1) -> Body:
    rule = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [rule | {"labelSelector": {"matchLabels": WEB}}]}


def term(key: str, labels: Body = WEB) -> Body:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key}


def zones_of(stage: Stage, zones: str) -> Counter[str]:
    return Counter(zones[int(node[1:])] for node in bound(stage).values())


def test_a_gang_is_spread_evenly_over_two_zones() -> None:
    stage, zones = Stage(), "aabb"
    stage.show(*(node(i, zone=zone) for i, zone in enumerate(zones)))
    stage.show(*manifests.gang("g", 4, labels=WEB, **spread()))
    stage.turn()
    assert zones_of(stage, zones) == {"a": 2, "b": 2}


def test_pods_of_its_kind_that_run_already_count() -> None:
    stage, zones = Stage(), "abc"
    stage.show(*(node(i, gpus=8, zone=zone) for i, zone in enumerate(zones)))
    stage.show(*(settled(f"old-{i}", "n0", labels=WEB) for i in range(3)))
    stage.show(*manifests.gang("g", 6, labels=WEB, **spread()))
    stage.turn()
    assert zones_of(stage, zones) == {"b": 3, "c": 3}


def test_a_gang_waits_whole_where_a_zone_has_too_little_room_to_be_even() -> None:
    stage = Stage()
    stage.show(node(0, gpus=1, zone="a"), node(1, gpus=8, zone="b"))
    stage.show(*manifests.gang("g", 4, labels=WEB, **spread()))
    stage.turn()
    stage.turn()
    assert not bound(stage)
    stage.show(node(2, gpus=1, zone="a"))
    stage.turn()
    assert len(bound(stage)) == 4


def test_spreading_by_zone_and_keeping_apart_by_host_hold_at_once() -> None:
    stage, zones = Stage(), "aaabbbccc"
    stage.show(*(node(i, zone=zone) for i, zone in enumerate(zones)))
    apart = {"affinity": {"podAntiAffinity": {REQUIRED: [term(HOST)]}}}
    stage.show(*manifests.gang("g", 6, labels=WEB, **spread(), **apart))
    stage.turn()
    assert zones_of(stage, zones) == {"a": 2, "b": 2, "c": 2}
    assert len(set(bound(stage).values())) == 6


def test_workers_go_to_the_zone_of_their_own_master_which_keeps_apart_from_another() -> None:
    stage, zones = Stage(), "aabb"
    stage.show(*(node(i, gpus=2, zone=zone) for i, zone in enumerate(zones)))
    stage.show(settled("other", "n0", labels={"app": "other"}))
    shy = {"podAntiAffinity": {REQUIRED: [term(ZONE, {"app": "other"})]}}
    near = {"podAffinity": {REQUIRED: [term(ZONE, {"role": "master"})]}}
    both = manifests.gang("g", 4, labels={"role": "worker"}, affinity=near)
    both[0]["metadata"]["labels"]["role"] = "master"
    both[0]["spec"]["affinity"] = shy
    stage.show(*both)
    stage.turn()
    assert zones_of(stage, zones) == {"b": 4}


def test_counted_resources_of_members_on_one_node_add_up() -> None:
    stage = Stage()
    stage.show(*(node(i, gpus=8, extra={"rdma/hca": str(i + 1)}) for i in range(3)))
    pods = manifests.gang("g", 6)
    for each in pods:
        for amounts in each["spec"]["containers"][0]["resources"].values():
            amounts["rdma/hca"] = "1"
    stage.show(*pods)
    stage.turn()
    assert Counter(bound(stage).values()) == {"n0": 1, "n1": 2, "n2": 3}


def test_many_pods_of_one_kind_that_spread_start_in_one_turn() -> None:
    stage, zones = Stage(), "abcabcabc"
    stage.show(*(node(i, gpus=8, zone=zone) for i, zone in enumerate(zones)))
    stage.show(*(manifests.pod(f"p{i}", labels=WEB, **spread()) for i in range(30)))
    stage.turn()
    assert zones_of(stage, zones) == {"a": 10, "b": 10, "c": 10}


@pytest.mark.parametrize("seed", range(examples(40)))
def test_a_gang_starts_exactly_when_its_pods_have_a_place_together(seed: int) -> None:
    dice = Random(seed)
    nodes = [node_json(dice, f"n{i}") for i in range(dice.randint(2, 4))]
    for each in nodes:
        each["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    others = [pod_json(dice, f"old{i}", 0.2) for i in range(dice.randint(0, 4))]
    for each in others:
        each["spec"]["nodeName"] = dice.choice(nodes)["metadata"]["name"]
    kinds = [pod_json(dice, "kind", 0.4) for _ in range(dice.choice((1, 1, 2)))]
    size = dice.randint(3, 5 if len(nodes) < 4 else 4)
    members = [member(dice.choice(kinds), f"m{at}", size) for at in range(size)]
    stage = Stage()
    for name, labels in SPACES.items():
        stage.show({"kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    stage.show(*nodes, *others, *members)
    stage.turn()
    got = bound(stage)
    assert bool(got) == can_start(nodes, others, members)


def member(kind: Body, name: str, size: int) -> Body:
    body: Body = msgspec.json.decode(msgspec.json.encode(kind))
    meta = body["metadata"]
    meta |= {"name": name, "uid": name, "namespace": "ns"}
    meta["labels"]["ganglion.dev/gang"] = "g"
    meta["annotations"] = {"ganglion.dev/gang-size": str(size)}
    body["spec"]["schedulerName"] = "ganglion"
    return body


def can_start(nodes: list[Body], others: list[Body], members: list[Body]) -> bool:
    """Whether any of all ways to seat the members keeps all rules."""
    known = slow.by_name(msgspec.convert(nodes, list[Node]))
    placed = [(msgspec.convert(each, Pod), each["spec"]["nodeName"]) for each in others]
    pods = msgspec.convert(members, list[Pod])
    return any(
        slow.together(list(zip(pods, names, strict=True)), known, placed, SPACES)
        for names in product(known, repeat=len(pods))
    )
