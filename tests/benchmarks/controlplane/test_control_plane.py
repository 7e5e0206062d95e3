"""A real API server: who comes in, what is left of a test, and that it survives its parts."""

import subprocess
from typing import Any

import pytest
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster, Refused, wait
from tests.controlplane.fixtures import (
    cluster,
    control_plane,
    control_plane_programs,
    manager,
)

from benchmarks.controlplane.control_plane import ControlPlane

__all__ = ["cluster", "control_plane", "control_plane_programs", "manager"]


def test_the_version_is_the_one_built(cluster: Cluster) -> None:
    assert cluster.get("/version")["gitVersion"].startswith("v1.")


def test_a_token_names_any_user_with_any_groups(cluster: Cluster) -> None:
    client = Cluster(cluster.plane, cluster.plane.token("alice", ["readers"]))
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview",
        "metadata": {},
    }
    who = client.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    client.close()
    assert who["status"]["userInfo"]["username"] == "alice"
    assert set(who["status"]["userInfo"]["groups"]) == {"readers", "system:authenticated"}


def test_users_may_do_what_their_roles_say_and_nothing_else(cluster: Cluster) -> None:
    role: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "looks"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "looks"},
        "roleRef": {"kind": "ClusterRole", "name": "looks", "apiGroup": role["apiVersion"][:-3]},
        "subjects": [{"kind": "Group", "name": "lookers", "apiGroup": role["apiVersion"][:-3]}],
    }
    cluster.create(role)
    cluster.create(binding)
    client = Cluster(cluster.plane, cluster.plane.token("bob", ["lookers"]))
    with pytest.raises(Refused) as refused:
        client.nodes()
    assert refused.value.status == 403
    wait(lambda: _may_list(client), "the role to count")
    client.close()


def _may_list(client: Cluster) -> bool:
    try:
        return client.pods() == {}
    except Refused:
        return False


def test_a_strange_token_is_nobody(cluster: Cluster) -> None:
    client = Cluster(cluster.plane, "no-such-token")
    with pytest.raises(Refused) as refused:
        client.nodes()
    client.close()
    assert refused.value.status == 401


@pytest.mark.parametrize("turn", [1, 2])
def test_nothing_of_a_test_is_there_for_the_next(cluster: Cluster, turn: int) -> None:
    assert not cluster.nodes()
    assert not cluster.pods()
    assert cluster.find("/api/v1/namespaces/team") is None
    cluster.add_namespace("team")
    cluster.add_nodes(3)
    cluster.add_pods(2, namespace="team", gpus=1)
    held = manifests.pod("held", nodeName="node-0")
    held["metadata"]["finalizers"] = ["ganglion.dev/never"]
    cluster.create(held)
    cluster.bind("pod-0", "node-1", "team")
    assert cluster.bound() == {"held": "node-0", "pod-0": "node-1"}


def test_new_nodes_are_ready_and_take_pods(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=4, labels=lambda i: {"rack": f"r{i}"})
    nodes = cluster.nodes()
    assert [n["metadata"]["labels"]["rack"] for n in nodes.values()] == ["r0", "r1"]
    assert not any("taints" in node["spec"] for node in nodes.values())
    assert nodes["node-1"]["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    cluster.add_pods(1, gpus=4)
    cluster.bind("pod-0", "node-1")
    assert cluster.wait_bound(["pod-0"]) == {"pod-0": "node-1"}


def test_objects_outlive_their_server(cluster: Cluster) -> None:
    cluster.add_nodes(1)
    cluster.plane.restart("kube-apiserver")
    assert list(cluster.nodes()) == ["node-0"]


def test_old_revisions_are_gone_after_compaction(cluster: Cluster) -> None:
    first = cluster.call("GET", "/api/v1/nodes")["metadata"]["resourceVersion"]
    cluster.add_nodes(2)
    cluster.plane.compact()
    cluster.plane.restart("kube-apiserver")
    with pytest.raises(Refused) as refused:
        cluster.list("/api/v1/nodes", resourceVersion=first, resourceVersionMatch="Exact")
    assert refused.value.status == 410


def test_jobs_get_their_pods_where_controllers_run(cluster: Cluster, manager: None) -> None:
    cluster.create(manifests.job("work", count=2, gpus=1))
    pods = cluster.wait(lambda: len(cluster.pods()) == 2 and cluster.pods(), "two pods")
    assert {pod["spec"]["schedulerName"] for pod in pods.values()} == {"ganglion"}
    indexes = {
        p["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
        for p in pods.values()
    }
    assert indexes == {"0", "1"}
    cluster.delete("/apis/batch/v1/namespaces/default/jobs/work")
    cluster.wait(lambda: not cluster.pods(), "the pods to go with their job")


def test_what_a_killed_process_left_is_removed(control_plane: ControlPlane) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = control_plane.folder.with_name(f"ganglion-control-plane-{gone.pid}-x")
    left.mkdir()
    ControlPlane(control_plane.programs).stop()
    assert not left.exists()
    assert control_plane.folder.exists()


def test_stopping_leaves_nothing(control_plane: ControlPlane) -> None:
    with ControlPlane(control_plane.programs) as plane:
        folder, process = plane.folder, plane.part("etcd")
        assert folder.exists()
    assert not folder.exists()
    assert not process.runs()
