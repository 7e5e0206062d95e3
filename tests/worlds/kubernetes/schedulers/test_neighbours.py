"""Two schedulers on the same nodes: each respects what the other has placed."""

from collections.abc import Iterator
from random import Random

import pytest

from benchmarks.controlplane.control_plane import ControlPlane
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.worlds.kubernetes.troubled import Witness, overbooked, scheduling, told, wants

OTHER = "kube-scheduler"
STEPS = 16
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def other(control_plane: ControlPlane) -> Iterator[None]:
    """kube-scheduler beside ours."""
    if not control_plane.programs.has(OTHER):
        pytest.skip(f"{control_plane.programs.path} has no {OTHER}")
    control_plane.launch(OTHER, ["--leader-elect=false"])
    yield
    control_plane.end(OTHER)


def _decided(cluster: Cluster, names: list[str]) -> bool:
    pods = cluster.pods()
    return all(wants(pods[name]) or told(pods[name]) for name in names)


def _step(cluster: Cluster, number: int, chance: Random) -> None:
    """Some pods come by one scheduler, those that do not fit are taken back, some others go."""
    scheduler = chance.choice(["ganglion", "default-scheduler"])
    size = {"cpu": str(chance.randint(1, 6)), "memory": "4Gi", "gpus": chance.choice([0, 1, 1, 2])}
    names = cluster.add_pods(
        chance.randint(1, 5), prefix=f"step{number}", scheduler=scheduler, **size
    )
    cluster.wait(lambda: _decided(cluster, names), f"pods of {scheduler} in step {number}")
    pods = cluster.pods()
    # Two that wait for the same room would race for it, with either result.
    gone = [name for name in names if not wants(pods[name])]
    gone += [name for name in pods if name not in names and chance.random() < 0.3]
    for name in gone:
        cluster.delete(f"{PODS}/{name}", grace=0)


@pytest.mark.parametrize("seed", range(2))
def test_nobody_is_placed_where_the_other_has_placed_somebody(
    cluster: Cluster, kubelets: Kubelets, other: None, seed: int
) -> None:
    cluster.add_nodes(4, gpus=4, cpu="12", memory="32Gi", pods=8)
    chance = Random(seed)
    with scheduling(cluster), Witness(lambda: overbooked(cluster)):
        for number in range(STEPS):
            _step(cluster, number, chance)
    assert not kubelets.refused


def test_both_at_once_leave_nobody_behind(
    cluster: Cluster, kubelets: Kubelets, other: None
) -> None:
    cluster.add_nodes(2, gpus=8)
    # Where both race for a GPU a kubelet refuses the loser, which has its node all the same.
    with scheduling(cluster, Settings(quarantine_ms=1_000)):
        ours = cluster.add_pods(8, prefix="ours")
        theirs = cluster.add_pods(8, prefix="theirs", scheduler="default-scheduler")
        cluster.wait(lambda: len(cluster.bound()) == len(ours) + len(theirs), "a node for each")
