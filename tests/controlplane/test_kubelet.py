"""The double of kubelets does to pods what kubelets do."""

import pytest
from tests.controlplane import manifests
from tests.controlplane.amounts import amounts
from tests.controlplane.cluster import Cluster, wait
from tests.controlplane.kubelet import CODE, RUN, STOP, Kubelets

PODS = "/api/v1/namespaces/default/pods"


def _phase(cluster: Cluster, name: str) -> str:
    return str(cluster.get(f"{PODS}/{name}")["status"]["phase"])


def _until(cluster: Cluster, name: str, phase: str) -> None:
    wait(lambda: _phase(cluster, name) == phase, f"{name} to be {phase}")


def test_a_bound_pod_runs(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1)
    cluster.add_pods(2)
    cluster.bind("pod-0", "node-0")
    _until(cluster, "pod-0", "Running")
    status = cluster.get(f"{PODS}/pod-0")["status"]
    assert status["containerStatuses"][0]["ready"]
    assert {c["type"]: c["status"] for c in status["conditions"]}["PodScheduled"] == "True"
    assert _phase(cluster, "pod-1") == "Pending"


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
def test_a_pod_ends_as_it_says(cluster: Cluster, kubelets: Kubelets, code: str, phase: str) -> None:
    cluster.add_nodes(1)
    cluster.add_pods(1, annotations={RUN: "0.1", CODE: code})
    cluster.bind("pod-0", "node-0")
    _until(cluster, "pod-0", phase)
    state = cluster.get(f"{PODS}/pod-0")["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == int(code)


def test_a_deleted_pod_is_gone_when_it_has_stopped(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1)
    cluster.add_pods(1, annotations={STOP: "0.5"})
    cluster.bind("pod-0", "node-0")
    _until(cluster, "pod-0", "Running")
    cluster.delete(f"{PODS}/pod-0")
    assert "deletionTimestamp" in cluster.get(f"{PODS}/pod-0")["metadata"]
    wait(lambda: cluster.find(f"{PODS}/pod-0") is None, "the pod to be gone")


def test_a_deleted_pod_that_its_job_still_counts_says_how_it_ended(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    cluster.add_nodes(1)
    cluster.add_pods(1)
    cluster.bind("pod-0", "node-0")
    _until(cluster, "pod-0", "Running")
    cluster.patch(f"{PODS}/pod-0", {"metadata": {"finalizers": ["batch.kubernetes.io/counted"]}})
    cluster.delete(f"{PODS}/pod-0")
    _until(cluster, "pod-0", "Failed")
    state = cluster.get(f"{PODS}/pod-0")["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == 143
    cluster.patch(f"{PODS}/pod-0", {"metadata": {"finalizers": None}})
    wait(lambda: cluster.find(f"{PODS}/pod-0") is None, "the pod to be gone")


def test_a_node_admits_no_more_than_it_has(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1, gpus=4)
    cluster.add_pods(2, gpus=3)
    cluster.bind("pod-0", "node-0")
    _until(cluster, "pod-0", "Running")
    cluster.bind("pod-1", "node-0")
    _until(cluster, "pod-1", "Failed")
    assert kubelets.refused == {"pod-1": "OutOfnvidia.com/gpu"}
    assert cluster.get(f"{PODS}/pod-1")["status"]["reason"] == "OutOfnvidia.com/gpu"


def test_a_stopped_pod_makes_room(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1, gpus=4)
    cluster.add_pods(2, gpus=3)
    cluster.bind("pod-0", "node-0")
    _until(cluster, "pod-0", "Running")
    cluster.delete(f"{PODS}/pod-0")
    wait(lambda: cluster.find(f"{PODS}/pod-0") is None, "the pod to be gone")
    cluster.bind("pod-1", "node-0")
    _until(cluster, "pod-1", "Running")


def test_a_pod_is_refused_once_when_asked_for(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1)
    cluster.add_pods(2)
    kubelets.refuse("UnexpectedAdmissionError", lambda pod: pod["metadata"]["name"] == "pod-1")
    cluster.bind("pod-0", "node-0")
    cluster.bind("pod-1", "node-0")
    _until(cluster, "pod-1", "Failed")
    _until(cluster, "pod-0", "Running")


def test_a_vanished_node_does_nothing_until_it_is_back(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    cluster.add_nodes(2)
    cluster.add_pods(3)
    cluster.bind("pod-0", "node-0")
    _until(cluster, "pod-0", "Running")
    kubelets.vanish("node-0")
    cluster.delete(f"{PODS}/pod-0")
    cluster.bind("pod-1", "node-0")
    cluster.bind("pod-2", "node-1")
    _until(cluster, "pod-2", "Running")
    assert "deletionTimestamp" in cluster.get(f"{PODS}/pod-0")["metadata"]
    assert _phase(cluster, "pod-1") == "Pending"
    kubelets.come_back("node-0")
    _until(cluster, "pod-1", "Running")
    wait(lambda: cluster.find(f"{PODS}/pod-0") is None, "the deleted pod to be gone")


def test_paused_kubelets_start_nothing(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1)
    cluster.add_pods(2)
    cluster.bind("pod-0", "node-0")
    _until(cluster, "pod-0", "Running")
    kubelets.pause()
    cluster.bind("pod-1", "node-0")
    cluster.delete(f"{PODS}/pod-0")
    wait(lambda: cluster.find(f"{PODS}/pod-0") is None, "the deleted pod to be gone")
    assert _phase(cluster, "pod-1") == "Pending"
    kubelets.go_on()
    _until(cluster, "pod-1", "Running")


def test_heartbeats_are_leases(cluster: Cluster) -> None:
    cluster.add_nodes(2)
    kubelets = Kubelets(cluster.plane, leases=True).start()
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    wait(lambda: len(cluster.list(path)) == 2, "two leases")
    kubelets.stop()


def test_a_job_completes_with_a_scheduler_and_controllers(
    cluster: Cluster, kubelets: Kubelets, manager: None
) -> None:
    plane = cluster.plane
    if not plane.programs.has("kube-scheduler"):
        pytest.skip(f"{plane.programs.path} has no kube-scheduler")
    plane.launch("kube-scheduler")
    cluster.add_nodes(4)
    notes = {RUN: "0.2"}
    cluster.create(manifests.job("j", count=8, scheduler="default-scheduler", annotations=notes))
    path = "/apis/batch/v1/namespaces/default/jobs/j"
    wait(lambda: cluster.get(path)["status"].get("succeeded") == 8, "the job to complete")
    plane.end("kube-scheduler")


def test_quantities_are_read_as_written() -> None:
    read = amounts({"a": "500m", "b": "2", "c": "1Ki", "d": "1.5k"})
    assert read == {"a": 500, "b": 2000, "c": 1_024_000, "d": 1_500_000}
