"""Prints what is decided about drawn worlds: the same under every `PYTHONHASHSEED`."""

import sys
from hashlib import sha256
from random import Random

import msgspec

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.specs.policy.presets import PRESETS
from tests.engine.test_machine import Engine, random_step
from tests.worlds.kubernetes.controller.stage import Body, Stage

STEPS = 40


def decided_by(preset: str, seed: int) -> str:
    """A digest of every event of one drawn world, decisions included, and of the state's rests."""
    rng, engine = Random(seed), Engine()
    policy = PRESETS[preset]()
    engine.state, engine.twin = ClusterState(policy), ClusterState(policy)
    engine.begin(rng, rng.randint(3, 8))
    for _ in range(STEPS):
        step, arguments = random_step(rng)
        getattr(engine, step)(rng=rng, **arguments)
    return sha256(msgspec.json.encode(engine.log)).hexdigest()[:16]


def ordered_by(seed: int) -> str:
    """A digest of the orders for a drawn cluster of pods that come and go."""
    rng, stage = Random(seed), Stage()
    stage.show(*(_node(rng, number) for number in range(8)))
    told: list[str] = []
    shown: list[Body] = []
    for number in range(STEPS):
        fresh = [_pod(rng, 4 * number + each) for each in range(4)]
        shown += fresh
        stage.show(*fresh)
        if rng.random() < 0.3:
            stage.remove(shown.pop(rng.randrange(len(shown))))
        told += map(repr, stage.turn())
    return sha256("\n".join(told).encode()).hexdigest()[:16]


def _node(rng: Random, number: int) -> Body:
    name = f"n{number}"
    taints = [{"key": "team", "value": rng.choice("ab"), "effect": "NoSchedule"}]
    return {
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": f"z{number % 2}",
                "pool": rng.choice("xy"),
            },
        },
        "spec": {"taints": taints if rng.random() < 0.4 else []},
        "status": {
            "allocatable": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "4", "pods": "20"}
        },
    }


def _pod(rng: Random, number: int) -> Body:
    labels = {"app": rng.choice("pq"), "ganglion.dev/queue": "default"}
    term = {
        "labelSelector": {"matchLabels": {"app": rng.choice("pq")}},
        "topologyKey": rng.choice(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
    }
    side = rng.choice(("podAffinity", "podAntiAffinity", ""))
    spec: Body = {
        "schedulerName": "ganglion",
        "containers": [
            {
                "name": "main",
                "resources": {"limits": {"nvidia.com/gpu": str(rng.choice((1, 1, 2, 4)))}},
            }
        ],
        "tolerations": [
            {"key": "team", "operator": "Equal", "value": each, "effect": "NoSchedule"}
            for each in rng.sample("abc", rng.randint(0, 3))
        ],
        "nodeSelector": {"pool": rng.choice("xy")} if rng.random() < 0.4 else {},
    }
    if side:
        spec["affinity"] = {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    metadata = {"name": f"p{number}", "namespace": "team", "labels": labels}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


if __name__ == "__main__":
    for number in map(int, sys.argv[1:]):
        for name in PRESETS:
            sys.stdout.write(f"{name} {number} {decided_by(name, number)}\n")
        sys.stdout.write(f"kubernetes {number} {ordered_by(number)}\n")
