"""The default scheduler finds that pods take exactly what we say."""

from random import Random
from typing import Any

import msgspec

from ganglion.worlds.kubernetes.requests import Ask, ask_of
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.feasibility.make import Json
from tests.worlds.kubernetes.feasibility.oracle import judging, pinned, takes

HCA = "rdma/hca"


def resources(dice: Random) -> Json:
    """Requests, some of them only as limits."""
    cpu = {"cpu": dice.choice(("250m", "1", "1.5", "100m"))} if dice.random() < 0.8 else {}
    memory = {"memory": dice.choice(("64Mi", "1Gi", "0.5Gi"))} if dice.random() < 0.8 else {}
    cards = {HCA: str(dice.randint(1, 2))} if dice.random() < 0.4 else {}
    asked = {"limits": cards | memory}
    return asked | {"requests": cpu} if cpu else asked


def some_pod(dice: Random, name: str) -> Json:
    def box(number: int, **more: Any) -> Json:
        return {"name": f"c{number}", "image": "none", "resources": resources(dice)} | more

    sidecar = {"restartPolicy": "Always"}
    first = [box(n, **(sidecar if dice.random() < 0.5 else {})) for n in range(dice.randint(0, 3))]
    spec: Json = {"initContainers": first, "containers": [box(8), box(9)][: dice.randint(1, 2)]}
    if dice.random() < 0.3:
        whole = {"cpu": "6", "memory": "4Gi"}
        spec["resources"] = dice.choice(({"requests": whole}, {"limits": whole}))
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def node(name: str, ask: Ask, **less: int) -> Json:
    """A node with just that much, or less of something."""
    amounts = {
        "cpu": f"{ask.cpu_milli - less.get('cpu', 0)}m",
        "memory": f"{ask.memory_mib - less.get('memory', 0)}Mi",
        "pods": "9",
        HCA: str(dict(ask.extras).get(HCA, 0) - less.get("cards", 0)),
    }
    status = {"capacity": amounts, "allocatable": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def shortages(ask: Ask) -> list[dict[str, int]]:
    """What nodes lack: nothing, and one unit of each resource that is asked for."""
    asked = (("cpu", ask.cpu_milli), ("memory", ask.memory_mib), ("cards", len(ask.extras)))
    return [{}, *({name: 1} for name, amount in asked if amount)]


def test_a_pod_fits_a_node_with_what_it_takes_and_none_with_less(cluster: Cluster) -> None:
    dice = Random(7)
    pods = [some_pod(dice, f"p{number}") for number in range(20)]
    asks = [ask_of(msgspec.convert(each, Pod)) for each in pods]
    cases = [
        (f"n{number}-{at}", body, ask, less)
        for number, (body, ask) in enumerate(zip(pods, asks, strict=True))
        for at, less in enumerate(shortages(ask))
    ]
    # The default scheduler knows all nodes that are there when it starts.
    cluster.create(*(node(name, ask, **less) for name, _, ask, less in cases))
    refused = 0
    with judging(cluster):
        for name, body, ask, less in cases:
            taken, seen = takes(cluster, pinned(body, name))
            assert ask_of(seen) == ask
            assert taken == (not less), (less, ask, body)
            refused += not taken
    assert refused >= 30
