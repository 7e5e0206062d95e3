"""Where nodes lie, as a real API server has it, decides where gangs run."""

from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.scheduling import scheduling

from ganglion.model.levels import Level
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.brain.settings import Settings
from ganglion.worlds.kubernetes.discover.topology import sources_from

ROW = "example.com/row"
RACK, BLOCK = "topology.kubernetes.io/rack", "topology.kubernetes.io/block"


def network_cards(node: str, rack: str) -> Object:
    """What a driver publishes about a node's network cards."""
    attributes = {"gce.dra.net/block": {"string": "b"}, "gce.dra.net/subBlock": {"string": rack}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": "dra.net",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "eth0", "attributes": attributes}],
        },
    }


def test_a_gang_stays_within_a_level_that_settings_name(cluster: Cluster) -> None:
    rows = ("a", "b", "b", "c")
    cluster.add_nodes(4, gpus=1, labels=lambda i: {ROW: rows[i]})
    settings = Settings(sources=sources_from({ROW: "rack"}))
    with scheduling(cluster, settings):
        pods = cluster.add_gang("g", 2, annotations={names.TOPOLOGY_REQUIRED: ROW})
        assert set(cluster.wait_bound(pods).values()) == {"node-1", "node-2"}


def test_a_gang_stays_within_what_a_driver_says(cluster: Cluster) -> None:
    cluster.add_nodes(3, gpus=1)
    cluster.create(*(network_cards(f"node-{i}", f"r{i // 2}") for i in (2, 1, 0)))
    try:
        with scheduling(cluster):
            pods = cluster.add_gang("g", 2, annotations={names.TOPOLOGY_REQUIRED: "rack"})
            assert set(cluster.wait_bound(pods).values()) == {"node-0", "node-1"}
    finally:
        cluster.delete("/apis/resource.k8s.io/v1/resourceslices")


def test_a_contradiction_is_told_of_and_ends_when_labels_are_mended(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=1, labels=lambda i: {RACK: "r1", BLOCK: f"b{i}"})
    with scheduling(cluster) as scheduler:
        pods = cluster.add_gang("g", 2, annotations={names.TOPOLOGY_REQUIRED: RACK})
        told = cluster.wait(lambda: scheduler.oddities().get("topology"), "the contradiction")
        assert "rack r1 lies in block b0 (node-0) and block b1 (node-1)" in told[0]
        cluster.wait(lambda: scheduler.turns, "a decision")
        with scheduler.read() as brain:
            assert Level.RACK not in brain.scene.state.tree.node("node-0").domains
        assert not cluster.bound()
        cluster.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {BLOCK: "b0"}}})
        cluster.wait_bound(pods)
        assert "topology" not in scheduler.oddities()
