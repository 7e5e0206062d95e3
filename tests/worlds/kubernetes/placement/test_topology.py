"""Where nodes lie, as a real API server has it, decides where gangs run."""

from ganglion.model.fleet.levels import Level
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.node_discovery.topology import sources_from
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.crds import definitions
from tests.worlds.kubernetes.scheduling import scheduling

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


def test_podgroups_of_others_say_where_gangs_lie_or_are_refused_by_name(cluster: Cluster) -> None:
    cluster.define(*definitions())
    racks = ("a", "b", "b", "c")
    cluster.add_nodes(4, gpus=1, labels=lambda i: {RACK: f"r-{racks[i]}"})
    volcano = {"minMember": 2, "networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    kai = {"minMember": 2, "minSubGroup": 1, "subGroups": [{"name": name} for name in "ab"]}
    groups = {
        "volcano": ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/v1beta1", volcano),
        "kai": ("pod-group-name", "scheduling.run.ai/v2alpha2", kai),
    }
    with scheduling(cluster):
        for name, (mark, version, spec) in groups.items():
            meta = {"name": name, "namespace": "default"}
            body = {"apiVersion": version, "kind": "PodGroup", "metadata": meta, "spec": spec}
            cluster.create(body)
            labels = {mark: name}
            cluster.create(*(manifests.pod(f"{name}-{i}", labels=labels) for i in range(2)))
        found = cluster.wait_bound(["volcano-0", "volcano-1"])
        assert set(found.values()) == {"node-1", "node-2"}
        refusal = "spec.minSubGroup: 1 of 2 sub-groups is not supported"
        cluster.wait(lambda: refusal in _said(cluster, "kai-0"), "the refusal")


def _said(cluster: Cluster, name: str) -> str:
    """Why a pod waits; empty = no reason given."""
    pod = cluster.get(f"/api/v1/namespaces/default/pods/{name}")
    conditions = pod["status"].get("conditions", ())
    return next((c["message"] for c in conditions if c.get("reason") == "Unschedulable"), "")


def test_a_contradiction_is_told_of_and_ends_when_labels_are_mended(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=1, labels=lambda i: {RACK: "r1", BLOCK: f"b{i}"})
    with scheduling(cluster) as scheduler:
        pods = cluster.add_gang("g", 2, annotations={names.TOPOLOGY_REQUIRED: RACK})
        told = cluster.wait(lambda: scheduler.oddities().get("topology"), "the contradiction")
        assert "rack r1 lies in block b0 (node-0) and block b1 (node-1)" in told[0]
        cluster.wait(lambda: scheduler.turns, "a decision")
        with scheduler.read() as controller:
            assert Level.RACK not in controller.scene.state.fleet.tree.node("node-0").domains
        assert not cluster.bound()
        cluster.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {BLOCK: "b0"}}})
        cluster.wait_bound(pods)
        assert "topology" not in scheduler.oddities()
