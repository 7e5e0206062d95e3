"""On small clusters the indexes say what comparing every pod with every pod says."""

from random import Random
from typing import Any

import msgspec
import pytest
from tests.worlds.kubernetes.filters import slow
from tests.worlds.kubernetes.filters.make import HOST, ZONE, Json, crowd, fleet, node, pod, port

from ganglion.worlds.kubernetes.filters.barred import barred
from ganglion.worlds.kubernetes.filters.check import check
from ganglion.worlds.kubernetes.filters.crowd import Crowd
from ganglion.worlds.kubernetes.filters.fleet import Fleet
from ganglion.worlds.kubernetes.filters.needs import needs_of
from ganglion.worlds.kubernetes.objects.node import Node
from ganglion.worlds.kubernetes.objects.pod import Pod

SPACES = {"ns": {"team": "a"}, "other": {"team": "b"}}
KEYS = (HOST, ZONE, "rack")
HCA = "rdma/hca"


def some_node(dice: Random, name: str) -> Node:
    labels = {key: dice.choice("xy") for key in (ZONE, "rack") if dice.random() < 0.85}
    taints = [("gone", "", "NoSchedule")] if dice.random() < 0.2 else []
    return node(name, labels, taints, allocatable={HCA: dice.randint(0, 3)})


def selector(dice: Random) -> Json | None:
    key = dice.choice(("app", "tier"))
    operator = dice.choice(("In", "In", "NotIn", "Exists", "DoesNotExist"))
    if operator == "In" and dice.random() < 0.7:
        return {"matchLabels": {key: dice.choice("ab")}}
    if dice.random() < 0.1:
        return dice.choice((None, {}))
    values = {"values": dice.sample("ab", dice.randint(1, 2))} if "In" in operator else {}
    return {"matchExpressions": [{"key": key, "operator": operator} | values]}


def some_term(dice: Random) -> Json:
    made: Json = {"topologyKey": dice.choice(KEYS)}
    chosen = selector(dice)
    if chosen is not None:
        made["labelSelector"] = chosen
        if dice.random() < 0.15:
            made[dice.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["rev"]
    if dice.random() < 0.15:
        made["namespaces"] = ["other"]
    if dice.random() < 0.15:
        made["namespaceSelector"] = dice.choice(({}, {"matchLabels": {"team": "b"}}))
    return made


def some_spread(dice: Random) -> Json:
    made = {
        "topologyKey": dice.choice(KEYS),
        "maxSkew": dice.choice((1, 1, 2)),
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": dice.choice("ab")}},
        "nodeTaintsPolicy": dice.choice(("Honor", "Ignore")),
        "nodeAffinityPolicy": dice.choice(("Honor", "Ignore")),
    }
    return made | ({"minDomains": dice.choice((2, 3))} if dice.random() < 0.3 else {})


def some_pod(dice: Random, name: str, busy: float = 0.35) -> Pod:
    labels = {key: dice.choice("ab") for key in ("app", "tier", "rev") if dice.random() < 0.7}
    containers: list[Any] = [{"name": "main"}]
    if dice.random() < busy:
        number, ip = dice.choice((80, 81)), dice.choice(("", "", "10.0.0.1", "10.0.0.2"))
        containers = [port(number, ip, dice.choice(("TCP", "UDP")))]
    if dice.random() < busy:
        containers[0]["resources"] = {"requests": {HCA: dice.randint(0, 2)}}
    affinity = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if dice.random() < busy:
            terms = [some_term(dice) for _ in range(dice.choice((1, 1, 2)))]
            affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    spec: Json = {"containers": containers, "affinity": affinity}
    if dice.random() < busy:
        spec["topologySpreadConstraints"] = [some_spread(dice) for _ in range(dice.choice((1, 2)))]
    if dice.random() < 0.2:
        spec["nodeSelector"] = {"rack": dice.choice("xy")}
    if dice.random() < 0.3:
        spec["tolerations"] = [{"key": "gone", "operator": "Exists"}]
    return pod(name, dice.choice(("ns", "ns", "other")), labels, **spec)


def leaving(each: Pod) -> Pod:
    meta = msgspec.structs.replace(each.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(each, metadata=meta)


def some_place(dice: Random) -> tuple[dict[str, Node], list[tuple[Pod, str]], Fleet, Crowd]:
    nodes = slow.by_name(some_node(dice, f"n{i}") for i in range(dice.randint(1, 5)))
    pods = [some_pod(dice, f"p{i}", 0.2) for i in range(dice.randint(0, 7))]
    pods = [leaving(each) if dice.random() < 0.15 else each for each in pods]
    placed = [(each, dice.choice(list(nodes))) for each in pods]
    made = crowd(*placed)
    for name, labels in SPACES.items():
        made.put_namespace(name, labels)
    return nodes, placed, fleet(*nodes.values()), made


@pytest.mark.parametrize("seed", range(40))
def test_one_pod_is_barred_from_exactly_the_nodes_that_will_not_do(seed: int) -> None:
    dice = Random(seed)
    for _ in range(50):
        nodes, placed, there, them = some_place(dice)
        for at in range(4):
            new = some_pod(dice, f"new{at}")
            closed = barred(needs_of(new), them, there)
            open_ = [n for n in nodes if slow.fits(new, n, nodes, placed, SPACES)]
            assert sorted(nodes.keys() - closed.keys()) == sorted(open_)


@pytest.mark.parametrize("seed", range(40))
def test_one_member_passes_the_check_on_exactly_the_nodes_that_are_not_barred(seed: int) -> None:
    dice = Random(1000 + seed)
    for _ in range(50):
        nodes, _, there, them = some_place(dice)
        new = some_pod(dice, "new")
        closed = barred(needs_of(new), them, there)
        passed = [name for name in nodes if check([(new, name)], them, there) is None]
        assert sorted(nodes.keys() - closed.keys()) == sorted(passed)


@pytest.mark.parametrize("seed", range(60))
def test_a_gang_passes_exactly_when_all_members_may_be_there_together(seed: int) -> None:
    dice = Random(2000 + seed)
    passed = 0
    for _ in range(60):
        nodes, placed, there, them = some_place(dice)
        kinds = [some_pod(dice, f"kind{i}", 0.25) for i in range(dice.randint(1, 2))]
        members = [
            (pod_like(dice.choice(kinds), f"m{at}"), dice.choice(list(nodes)))
            for at in range(dice.randint(2, 4))
        ]
        expected = slow.together(members, nodes, placed, SPACES)
        assert (check(members, them, there) is None) == expected, members
        passed += expected
    assert passed


def pod_like(kind: Pod, name: str) -> Pod:
    meta = msgspec.structs.replace(kind.metadata, name=name, uid=name)
    return msgspec.structs.replace(kind, metadata=meta)


@pytest.mark.parametrize("seed", range(20))
def test_indexes_that_were_changed_a_thousand_times_are_as_good_as_new(seed: int) -> None:
    dice = Random(3000 + seed)
    nodes, _, there, them = some_place(dice)
    questions = [needs_of(some_pod(dice, "q", 0.6)) for _ in range(10)]
    living: dict[str, tuple[Pod, str]] = {}
    for uid in list(them._residents):
        them.drop(uid)
    for step in range(1000):
        uid = f"u{dice.randint(0, 30)}"
        if dice.random() < 0.4:
            them.drop(uid)
            living.pop(uid, None)
        else:
            living[uid] = (some_pod(dice, uid, 0.2), dice.choice(list(nodes)))
            them.put(*living[uid])
        if step % 50 == 0:
            fresh = crowd(*living.values())
            for name, labels in SPACES.items():
                fresh.put_namespace(name, labels)
            for each in questions:
                assert barred(each, them, there) == barred(each, fresh, there)
