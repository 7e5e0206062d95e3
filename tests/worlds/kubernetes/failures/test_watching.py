"""Changes while watches are silent, or expired, are not lost."""

from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import Match, watches
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.troubled import Witness, overbooked, scheduling

PODS = "/api/v1/namespaces/default/pods"


def _full(cluster: Cluster) -> list[str]:
    """Four nodes with one GPU each, of which two are taken."""
    cluster.add_nodes(4, gpus=1)
    names = cluster.add_pods(2, prefix="old")
    cluster.wait_bound(names)
    return names


def _changes(cluster: Cluster, old: list[str]) -> list[str]:
    """One pod less and three more: they fit only once the scheduler knows that the one is gone."""
    cluster.delete(f"{PODS}/{old[0]}", grace=0)
    return [old[1], *cluster.add_pods(3, prefix="new")]


def test_nothing_is_lost_when_watches_are_too_late(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy
) -> None:
    with scheduling(proxy), Witness(lambda: overbooked(cluster)):
        old = _full(cluster)
        refused = proxy.fail(watches, 410, times=40)
        proxy.drop(watches)
        cluster.wait_bound(_changes(cluster, old))
        assert refused.times < 40
    assert not kubelets.refused


def test_nothing_is_lost_when_the_server_forgets_and_starts_anew(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy
) -> None:
    with scheduling(proxy):
        old = _full(cluster)
        proxy.down()
        names = _changes(cluster, old)
        cluster.plane.compact()
        cluster.plane.restart("kube-apiserver")
        proxy.up()
        cluster.wait_bound(names)
    assert not overbooked(cluster)
    assert not kubelets.refused


def test_silent_watches_are_noticed_and_nothing_is_lost(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy
) -> None:
    with scheduling(proxy, silence_s=2.0), Witness(lambda: overbooked(cluster)):
        old = _full(cluster)
        proxy.stall(_begun(proxy))
        cluster.wait_bound(_changes(cluster, old))
    assert not kubelets.refused


def _begun(proxy: Proxy) -> Match:
    """The watches under way: their connections are dead without a sign.

    One whose answer has not begun is left alone: a request may wait longer for that than a watch
    may be silent.
    """
    dead = [each for each in proxy.answered if watches(each)]
    return lambda request: any(request is each for each in dead)
