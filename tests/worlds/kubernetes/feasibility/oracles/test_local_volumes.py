"""The default scheduler and Ganglion choose the same local volumes made by hand."""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from msgspec import Struct

from tests.controlplane.cluster import Cluster
from tests.controlplane.fixtures import MANAGER
from tests.effort import TIMES
from tests.worlds.kubernetes.feasibility.local import (
    local_claim,
    local_class,
    local_volume,
    reference,
)
from tests.worlds.kubernetes.feasibility.make import ZONE, Json, wants
from tests.worlds.kubernetes.feasibility.oracle import chooses, judging, pinned
from tests.worlds.kubernetes.feasibility.oracles.test_both_schedulers import ours_takes
from tests.worlds.kubernetes.feasibility.oracles.test_kube_scheduler import bare_node, mounting
from tests.worlds.kubernetes.scheduling import scheduling

NODES = {"n0": "x", "n1": "x", "n2": "y"}
"""Node -> zone."""
CASES = 12
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/ns/persistentvolumeclaims"
MODES = (["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteOnce", "ReadOnlyMany"])


class Case(Struct):
    """Volumes and claims of different sizes, and the node that their pod is for."""

    volumes: list[Json]
    claims: list[Json]
    node: str


def some_case(dice: Random) -> Case:
    claims = [
        local_claim(f"c{number}", gib=gib, **some_wish(dice))
        for number, gib in enumerate(dice.sample(range(1, 6), dice.choice((1, 2, 2))))
    ]
    volumes = [
        local_volume(f"v{number}", gib=gib, **some_offer(dice))
        for number, gib in enumerate(dice.sample(range(2, 11), dice.randint(3, 6)))
    ]
    if dice.random() < 0.15:
        # The controller never binds one that lacks access modes, and the default scheduler waits.
        dice.choice(volumes)["spec"] |= reference("c0") | {"accessModes": MODES[-1]}
    return Case(volumes, claims, dice.choice(list(NODES)))


def some_wish(dice: Random) -> Json:
    """What a claim asks for besides its size."""
    wish: Json = {"accessModes": dice.choice(MODES)}
    if dice.random() < 0.3:
        wish["selector"] = {"matchLabels": {"disk": dice.choice(("fast", "slow"))}}
    return wish | ({"volumeMode": "Block"} if dice.random() < 0.1 else {})


def some_offer(dice: Random) -> Json:
    """What a volume is besides its size."""
    offer: Json = {"accessModes": dice.choice((*MODES, MODES[-1], ["ReadOnlyMany"]))}
    offer["labels"] = {"disk": dice.choice(("fast", "slow"))}
    hosts = dice.sample(list(NODES), dice.choice((1, 2)))
    terms = dice.choice(
        (
            [wants("kubernetes.io/hostname", "In", *hosts)],
            [wants("kubernetes.io/hostname", "In", *hosts)],
            [wants(ZONE, "NotIn", dice.choice("xy"))],
            [],
        )
    )
    if terms:
        offer["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": terms}]}}
    return offer | ({"volumeMode": "Block"} if dice.random() < 0.15 else {})


def made(cluster: Cluster, case: Case, name: str) -> Json:
    """The objects of a case, in a class of their own; the pod is yet to be made."""
    cluster.create(local_class(name))
    for body in (*case.volumes, *case.claims):
        own = f"{name}-{body['metadata']['name']}"
        spec = body["spec"] | {"storageClassName": name}
        if "claimRef" in spec:
            spec["claimRef"] = spec["claimRef"] | {"name": f"{name}-c0"}
        labels = body["metadata"].get("labels", {})
        meta = {**body["metadata"], "name": own, "labels": labels}
        cluster.create({**body, "metadata": meta, "spec": spec})
    mounts = [f"{name}-{each['metadata']['name']}" for each in case.claims]
    return pinned(mounting(name, mounts), case.node)


def given(cluster: Cluster, name: str) -> dict[str, str]:
    """Claim -> the size of the volume that it got, of the claims of one case."""
    return {
        meta["name"].removeprefix(name): cluster.get(f"{VOLUMES}/{spec['volumeName']}")["spec"][
            "capacity"
        ]["storage"]
        for meta, spec in ((each["metadata"], each["spec"]) for each in cluster.list(CLAIMS))
        if meta["name"].startswith(f"{name}-") and spec.get("volumeName")
    }


@pytest.fixture
def binder(cluster: Cluster) -> Iterator[None]:
    """The controller that binds volumes and claims."""
    if not cluster.plane.programs.has(MANAGER):
        pytest.skip(f"{cluster.plane.programs.path} has no {MANAGER}")
    cluster.plane.launch(MANAGER, ["--controllers=persistentvolume-binder-controller"])
    yield
    cluster.plane.end(MANAGER)


@pytest.mark.parametrize("seed", range(1 if TIMES == 1 else 50))
def test_both_schedulers_choose_the_same_volumes(cluster: Cluster, binder: None, seed: int) -> None:
    cluster.add_namespace("ns")
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    for name, zone in NODES.items():
        node = bare_node(name, {ZONE: zone})
        cluster.create(node | {"status": node["status"] | ready})
    dice, seen = Random(seed), Counter[bool]()
    cases = [some_case(dice) for _ in range(CASES)]
    pods = [
        tuple(made(cluster, case, f"{who}{number}") for who in ("theirs", "ours"))
        for number, case in enumerate(cases)
    ]
    # What is made only when its pod is there already may not be seen by then.
    cluster.wait(
        lambda: all(each["status"].get("phase") != "Pending" for each in cluster.list(VOLUMES)),
        "the controller has seen all volumes",
    )
    with judging(cluster), scheduling(cluster):
        for number, (their_pod, our_pod) in enumerate(pods):
            theirs, _ = chooses(cluster, their_pod)
            ours = ours_takes(cluster, our_pod)
            assert ours == theirs, cases[number]
            if theirs:
                choice = given(cluster, f"theirs{number}")
                assert given(cluster, f"ours{number}") == choice, cases[number]
            seen[bool(theirs)] += 1
    assert min(seen[True], seen[False]) > 1
