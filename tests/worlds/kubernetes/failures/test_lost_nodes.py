"""Nodes that go away at the worst moment: whatever ran or was about to run there runs elsewhere."""

from collections.abc import Callable

from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import Fault, on
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.troubled import overbooked, scheduling

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
AWAY: Object = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


def _bury(cluster: Cluster) -> None:
    """Delete pods on nodes that are no more, as the garbage collector does after a minute."""
    nodes = cluster.nodes()
    for name, node in cluster.bound().items():
        if node not in nodes:
            cluster.delete(f"{PODS}/{name}", grace=0)


def _runs(cluster: Cluster, count: int) -> Callable[[], bool]:
    """Whether this number of pods runs, all on nodes that there are."""

    def is_so() -> bool:
        _bury(cluster)
        running = [p for p in cluster.pods().values() if p["status"]["phase"] == "Running"]
        nodes = cluster.nodes()
        return len(running) == count and all(p["spec"]["nodeName"] in nodes for p in running)

    return is_so


def _at_the_first_binding(proxy: Proxy, deed: Callable[[str], None]) -> None:
    def act() -> None:
        request = next(each for each in reversed(proxy.seen) if each.path.endswith("/binding"))
        deed(request.body.decode().partition('"Node","name":"')[2].partition('"')[0])

    proxy.add(Fault(on("POST", "/binding$"), times=1, before=act))


def test_a_gang_runs_though_a_node_was_deleted_while_it_was_bound(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, manager: None
) -> None:
    cluster.add_nodes(3, gpus=4)
    _at_the_first_binding(proxy, lambda node: cluster.delete(f"{NODES}/{node}"))
    with scheduling(proxy):
        cluster.create(manifests.job("train", count=2, gpus=4))
        cluster.wait(_runs(cluster, 2), "the gang runs")
    assert len(cluster.nodes()) == 2
    assert not overbooked(cluster)


def test_a_node_cordoned_while_a_pod_was_bound_keeps_it_and_gets_no_other(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy
) -> None:
    cluster.add_nodes(2, gpus=4)
    shut: list[str] = []

    def cordon(node: str) -> None:
        cluster.patch(f"{NODES}/{node}", {"spec": {"unschedulable": True}})
        shut.append(node)

    _at_the_first_binding(proxy, cordon)
    with scheduling(proxy):
        first = cluster.wait_bound(cluster.add_pods(1, prefix="first"))
        rest = cluster.wait_bound(cluster.add_pods(4, prefix="rest"))
    assert shut == list(first.values())
    assert set(rest.values()).isdisjoint(shut)


def test_pods_of_a_drained_node_run_elsewhere(
    cluster: Cluster, kubelets: Kubelets, manager: None
) -> None:
    cluster.add_nodes(3, gpus=4)
    with scheduling(cluster):
        cluster.create(manifests.job("train", count=2, gpus=4))
        cluster.wait(_runs(cluster, 2), "the gang runs")
        name, node = sorted(cluster.bound().items())[0]
        cluster.patch(f"{NODES}/{node}", {"spec": {"unschedulable": True}})
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        cluster.call("POST", f"{PODS}/{name}/eviction", body)
        cluster.wait(lambda: name not in cluster.pods(), "the pod is gone")
        cluster.wait(_runs(cluster, 2), "the gang runs again")
        assert node not in cluster.bound().values()
    assert not kubelets.refused


def test_pods_of_a_node_that_vanished_for_good_run_elsewhere(
    cluster: Cluster, kubelets: Kubelets, manager: None
) -> None:
    cluster.add_nodes(3, gpus=4)
    with scheduling(cluster):
        cluster.create(manifests.job("train", count=2, gpus=4))
        cluster.wait(_runs(cluster, 2), "the gang runs")
        name, node = sorted(cluster.bound().items())[0]
        kubelets.vanish(node)
        cluster.set_node(node, ready=False)
        cluster.patch(f"{NODES}/{node}", {"spec": {"taints": [AWAY]}})
        cluster.delete(f"{PODS}/{name}")  # the node does not notice
        cluster.delete(f"{NODES}/{node}")
        cluster.wait(_runs(cluster, 2), "the gang runs again")
        assert node not in cluster.bound().values()
    assert not kubelets.refused
