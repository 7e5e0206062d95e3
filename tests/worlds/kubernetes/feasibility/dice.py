"""Random pods and nodes that touch every rule, as the API writes them."""

from random import Random
from typing import Any

import msgspec

from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.worlds.kubernetes.feasibility.make import HOST, REQUIRED, ZONE, Json, port

SPACES = {"ns": {"team": "a"}, "other": {"team": "b"}}
NAMESPACES = ("ns", "ns", "other")
KEYS = (HOST, ZONE, "rack")
DISK = "ephemeral-storage"


def some_node(dice: Random, name: str) -> Node:
    """A node."""
    return msgspec.convert(node_json(dice, name), Node)


def node_json(dice: Random, name: str) -> Json:
    """A node."""
    labels = {key: dice.choice("xy") for key in (ZONE, "rack") if dice.random() < 0.85}
    labels |= {HOST: name} | ({"size": dice.choice("123")} if dice.random() < 0.7 else {})
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "200", DISK: str(dice.randint(0, 3))}
    taints = [{"key": "gone", "effect": "NoSchedule"}] if dice.random() < 0.2 else []
    if dice.random() < 0.2:
        taints.append({"key": "kind", "value": dice.choice("ab"), "effect": "NoExecute"})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints, "unschedulable": dice.random() < 0.1},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def selector(dice: Random) -> Json | None:
    """A selector; None = none at all."""
    key = dice.choice(("app", "tier"))
    operator = dice.choice(("In", "In", "NotIn", "Exists", "DoesNotExist"))
    if operator == "In" and dice.random() < 0.7:
        return {"matchLabels": {key: dice.choice("ab")}}
    if dice.random() < 0.1:
        return dice.choice((None, {}))
    values = {"values": dice.sample("ab", dice.randint(1, 2))} if "In" in operator else {}
    return {"matchExpressions": [{"key": key, "operator": operator} | values]}


def some_term(dice: Random) -> Json:
    """A term of affinity between pods."""
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


def some_spread(dice: Random, key: str) -> Json:
    """A hard constraint on spreading."""
    made = {
        "topologyKey": key,
        "maxSkew": dice.choice((1, 1, 2)),
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": dice.choice("ab")}},
        "nodeTaintsPolicy": dice.choice(("Honor", "Ignore")),
        "nodeAffinityPolicy": dice.choice(("Honor", "Ignore")),
    }
    return made | ({"minDomains": dice.choice((2, 3))} if dice.random() < 0.3 else {})


def some_pod(dice: Random, name: str, busy: float = 0.35) -> Pod:
    """A pod; `busy` is how likely it has each kind of need."""
    return msgspec.convert(pod_json(dice, name, busy), Pod)


def pod_json(dice: Random, name: str, busy: float = 0.35) -> Json:
    """A pod; `busy` is how likely it has each kind of need."""
    labels = {key: dice.choice("ab") for key in ("app", "tier", "rev") if dice.random() < 0.7}
    affinity = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if dice.random() < busy:
            terms = [some_term(dice) for _ in range(dice.choice((1, 1, 2)))]
            affinity[kind] = {REQUIRED: terms}
    spec: Json = {"containers": [some_container(dice, busy)], "affinity": affinity}
    if dice.random() < busy:
        keys = dice.sample(KEYS, dice.choice((1, 2)))
        spec["topologySpreadConstraints"] = [some_spread(dice, key) for key in keys]
    if dice.random() < 0.2:
        spec["nodeSelector"] = {"rack": dice.choice("xy")}
    if dice.random() < 0.3:
        spec["tolerations"] = [{"key": "gone", "operator": "Exists"}]
    meta = {"name": name, "uid": name, "namespace": dice.choice(NAMESPACES), "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def some_container(dice: Random, busy: float) -> Json:
    """A container, maybe with a port of the node and local disk."""
    made: dict[str, Any] = {"name": "main"}
    if dice.random() < busy:
        number, ip = dice.choice((80, 81)), dice.choice(("", "", "10.0.0.1", "10.0.0.2"))
        made = port(number, ip, dice.choice(("TCP", "UDP")))
    if dice.random() < busy:
        room = {DISK: str(dice.randint(0, 2))}
        made["resources"] = {"requests": room, "limits": room}
    return made | {"image": "none"}


def some_node_affinity(dice: Random) -> Json:
    """Required node affinity of one or two terms."""
    return {"nodeSelectorTerms": [_node_term(dice) for _ in range(dice.choice((1, 2)))]}


def _node_term(dice: Random) -> Json:
    operator = dice.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    key = "size" if operator in ("Gt", "Lt") else dice.choice((ZONE, "rack", "size"))
    values = {
        "In": dice.sample("xy12", 2),
        "NotIn": [dice.choice("xy1")],
        "Gt": [dice.choice("012")],
        "Lt": [dice.choice("23")],
    }
    one: Json = {"key": key, "operator": operator}
    return {
        "matchExpressions": [one | ({"values": values[operator]} if operator in values else {})]
    }


def some_tolerations(dice: Random) -> list[Json]:
    """Tolerations of the taints that some nodes have."""
    return dice.sample(
        (
            {"key": "gone", "operator": "Exists"},
            {"key": "kind", "value": "a"},
            {"key": "kind", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
            {"operator": "Exists", "effect": "NoExecute"},
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
        ),
        dice.randint(0, 3),
    )
