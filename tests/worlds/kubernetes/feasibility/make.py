"""Pods and nodes as tests write them."""

from typing import Any

import msgspec

from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
Json = dict[str, Any]


def pod(
    name: str = "p", namespace: str = "ns", labels: Json | None = None, uid: str = "", **spec: Any
) -> Pod:
    """A pod; words of the spec as the API writes them."""
    meta = {"name": name, "namespace": namespace, "labels": labels or {}, "uid": uid or name}
    spec.setdefault("containers", [{"name": "main"}])
    return msgspec.convert({"metadata": meta, "spec": spec}, Pod)


def node(name: str = "n", labels: Json | None = None, taints: Any = (), **rest: Any) -> Node:
    """A node; its hostname is among its labels."""
    allocatable = rest.pop("allocatable", {})
    body = {
        "metadata": {"name": name, "labels": {HOST: name} | (labels or {})},
        "spec": {"taints": [dict(zip(("key", "value", "effect"), t, strict=True)) for t in taints]}
        | rest,
        "status": {"allocatable": allocatable},
    }
    return msgspec.convert(body, Node)


def term(key: str = HOST, **more: Any) -> Json:
    """A term of affinity between pods; labels to match unless it has a selector."""
    labels = more.pop("labels", None)
    if labels is not None:
        more["labelSelector"] = {"matchLabels": labels}
    return {"topologyKey": key} | more


def near(*terms: Json) -> Json:
    """Required affinity."""
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Json) -> Json:
    """Required anti-affinity."""
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def on_nodes(*terms: Json) -> Json:
    """Required node affinity."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def wants(key: str, operator: str, *values: str) -> Json:
    """One requirement."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def spread(key: str = ZONE, labels: Json | None = None, skew: int = 1, **more: Any) -> Json:
    """A hard constraint on spreading."""
    hard = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return hard | {"labelSelector": {"matchLabels": labels or {}}} | more


def port(number: int, ip: str = "", protocol: str = "TCP") -> Json:
    """A container with a host port."""
    made = {"containerPort": number, "hostPort": number, "protocol": protocol}
    return {"name": f"c{number}", "ports": [made | ({"hostIP": ip} if ip else {})]}


def fleet(*nodes: Node) -> Fleet:
    """Some nodes."""
    made = Fleet()
    for each in nodes:
        made.put(each)
    return made


def zones(**where: str) -> Fleet:
    """Nodes by name with their zones; an empty zone is no label."""
    return fleet(*(node(name, {ZONE: zone} if zone else {}) for name, zone in where.items()))


def crowd(*pods: tuple[Pod, str], volumes: Volumes | None = None) -> PodIndex:
    """Pods on nodes."""
    made = PodIndex(volumes)
    for each, where in pods:
        made.put(each, where)
    return made
