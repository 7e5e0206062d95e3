"""Two schedulers on one API server, each with its own pods, nodes, queues and Lease."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.config.node_selector import parse_selector
from ganglion.worlds.kubernetes.instance import Instance
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.worlds.kubernetes.process import SchedulerProcess
from tests.worlds.kubernetes.rbac import define_kinds
from tests.worlds.kubernetes.scheduling import scheduling, why

CANARY = Instance("canary", parse_selector("pool=canary"))
USUAL = Instance(nodes=parse_selector("pool!=canary"))
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture
def pools(cluster: Cluster, kubelets: Kubelets) -> Cluster:
    """A node for each of them."""
    define_kinds(cluster)
    cluster.add_nodes(1, prefix="canary", gpus=2, labels={"pool": "canary"})
    cluster.add_nodes(1, prefix="usual", gpus=2, labels={"pool": "usual"})
    return cluster


@pytest.fixture
def both(pools: Cluster) -> Iterator[Cluster]:
    """The schedulers at work."""
    with ExitStack() as stack:
        for each in (CANARY, USUAL):
            stack.enter_context(scheduling(pools, Settings(instance=each)))
        yield pools


def queue(cluster: Cluster, name: str, scheduler: str = "", **spec: Any) -> None:
    meta: dict[str, Any] = {"name": name}
    if scheduler:
        meta["labels"] = {"ganglion.dev/scheduler": scheduler}
    version = "ganglion.dev/v1alpha1"
    cluster.apply({"apiVersion": version, "kind": "Queue", "metadata": meta, "spec": spec})


def test_each_places_its_own_pods_on_its_own_nodes(both: Cluster) -> None:
    usual = both.add_gang("train", 2)
    theirs = both.add_gang("probe", 2, scheduler="canary")
    assert set(both.wait_bound(usual).values()) == {"usual-0"}
    assert set(both.wait_bound(theirs).values()) == {"canary-0"}
    # What does not fit in the one pool does not flow into the other.
    (more,) = both.add_pods(1, prefix="more", scheduler="canary")
    both.wait(lambda: why(both.pods()[more]), "the pod told why it waits")
    assert more not in both.bound()


def test_a_gate_is_lifted_by_the_one_it_names(both: Cluster) -> None:
    for name, gate in (("a", "ganglion.dev/gate"), ("b", "ganglion.dev/gate-canary")):
        gates = [{"name": gate}]
        body = manifests.pod(name, scheduler="default-scheduler", schedulingGates=gates)
        both.create(body)
    for name, node in (("a", "usual-0"), ("b", "canary-0")):
        both.wait(
            lambda name=name: not both.pods()[name]["spec"].get("schedulingGates"), f"{name} let go"
        )
        assert both.pods()[name]["spec"]["nodeSelector"] == {"kubernetes.io/hostname": node}


def test_queues_belong_to_one_of_them(both: Cluster, quick_figures: None) -> None:
    """Two that wrote the status of one queue would overwrite each other for ever."""
    queue(both, "usual", quota={"*": 2})
    queue(both, "trial", "canary", quota={"*": 2})
    both.create(manifests.pod("p", labels={"ganglion.dev/queue": "trial"}))
    both.create(manifests.pod("q", labels={"ganglion.dev/queue": "trial"}, scheduler="canary"))
    assert both.wait_bound(["q"]) == {"q": "canary-0"}
    both.wait(lambda: why(both.pods()["p"]) == "there is no queue trial", "p told")
    path = "/apis/ganglion.dev/v1alpha1/queues"
    for name, running in (("usual", 0), ("trial", 1)):
        both.wait(
            lambda name=name, n=running: (
                both.get(f"{path}/{name}").get("status", {}).get("running") == n
            ),
            f"the status of {name}",
        )


def test_what_one_has_suspended_the_other_leaves_alone(pools: Cluster) -> None:
    notes = {"ganglion.dev/suspended-for": "default/Job/x/1", "ganglion.dev/scheduler": "canary"}
    body = manifests.job("train", count=1, scheduler="canary")
    body["metadata"]["annotations"] = notes
    body["spec"]["suspend"] = True
    pools.create(body)
    path = "/apis/batch/v1/namespaces/default/jobs/train"
    with scheduling(pools, Settings(instance=USUAL)):
        pools.wait_bound(pools.add_pods(1, prefix="sign"))  # turns were taken
        assert pools.get(path)["spec"]["suspend"] is True
    with scheduling(pools, Settings(instance=CANARY)):
        pools.wait(lambda: not pools.get(path)["spec"]["suspend"], "the job to go on")
    assert not notes.keys() & pools.get(path)["metadata"].get("annotations", {}).keys()


def test_each_has_its_lease_and_none_waits_for_the_other(pools: Cluster) -> None:
    """As processes, with nothing but the flags that the chart gives them."""
    canary = ("--scheduler-name", "canary", "--nodes", "pool=canary")
    with (
        SchedulerProcess(pools.kubeconfig_of("a", ["system:masters"]), "--nodes", "pool!=canary"),
        SchedulerProcess(pools.kubeconfig_of("b", ["system:masters"]), *canary),
    ):
        pods = [*pools.add_pods(1), *pools.add_pods(1, prefix="probe", scheduler="canary")]
        found = pools.wait_bound(pods)
        assert found == {"pod-0": "usual-0", "probe-0": "canary-0"}
        names = {each["metadata"]["name"] for each in pools.list(LEASES)}
        assert names == {"ganglion", "canary"}
