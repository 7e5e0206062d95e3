"""Pods that may not be stopped: under budgets, for those that may not ask, and the system's."""

from msgspec.structs import replace

from ganglion.worlds.kubernetes.names import VICTIM_OF
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.faults import Fault, on
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.manifests import Object
from tests.controlplane.proxy import Proxy
from tests.worlds.kubernetes.troubled import (
    QUICK,
    Witness,
    all_run,
    overbooked,
    priority,
    scheduling,
    told,
)

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVENTS = "/apis/events.k8s.io/v1/events"


def _budget(cluster: Cluster, app: str) -> None:
    """A budget that lets none of these pods go, and which its controller has seen."""
    spec = {"minAvailable": 100, "selector": {"matchLabels": {"app": app}}}
    body: Object = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    cluster.create(body | {"metadata": {"name": app}})
    cluster.wait(lambda: _is_seen(cluster, app), "the budget's status")


def _is_seen(cluster: Cluster, app: str) -> bool:
    status = cluster.get(f"{BUDGETS}/{app}").get("status", {})
    return bool(status.get("observedGeneration")) and status.get("expectedPods", 0) > 0


def _touched(cluster: Cluster, *names: str) -> list[str]:
    """Those of some pods that are marked, leaving or gone."""
    pods = cluster.pods()
    return [name for name in names if name not in pods or _is_marked(pods[name])]


def _is_marked(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", ())
    return "deletionTimestamp" in pod["metadata"] or any(
        each["type"] == "DisruptionTarget" for each in conditions
    )


def test_a_budget_protects_its_pods_until_it_is_gone(
    cluster: Cluster, kubelets: Kubelets, manager: None
) -> None:
    cluster.add_nodes(1, gpus=4)
    cluster.create(priority("urgent", 1000))
    with scheduling(cluster):
        (low,) = cluster.add_pods(1, prefix="low", gpus=4, labels={"app": "kept"})
        cluster.wait(lambda: all_run(cluster), "the victim runs")
        _budget(cluster, "kept")
        with Witness(lambda: _touched(cluster, low)):
            high = cluster.add_gang("high", 1, gpus=4, priorityClassName="urgent")
            cluster.wait(lambda: told(cluster.pods()[high[0]]), "the reason")
        cluster.delete(f"{BUDGETS}/kept")
        cluster.wait_bound(high)
    assert low not in cluster.pods()


def test_nobody_is_stopped_for_a_pod_that_never_preempts(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    cluster.add_nodes(1, gpus=4)
    cluster.create(priority("polite", 1000, preemptionPolicy="Never"))
    with scheduling(cluster):
        (low,) = cluster.add_pods(1, prefix="low", gpus=4)
        cluster.wait(lambda: all_run(cluster), "the other runs")
        with Witness(lambda: _touched(cluster, low)):
            (high,) = cluster.add_pods(1, prefix="high", gpus=4, priorityClassName="polite")
            cluster.wait(lambda: told(cluster.pods()[high]), "the reason")
        cluster.delete(f"/api/v1/namespaces/default/pods/{low}")
        cluster.wait_bound([high])


def test_pods_of_the_system_are_never_stopped(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.add_nodes(1, gpus=4)
    cluster.create(priority("urgent", 1_000_000_000))
    with scheduling(cluster):
        (own,) = cluster.add_pods(1, prefix="own", gpus=4, priorityClassName="system-node-critical")
        cluster.wait(lambda: all_run(cluster), "the system's pod runs")
        with Witness(lambda: _touched(cluster, own)):
            (high,) = cluster.add_pods(1, prefix="high", gpus=4, priorityClassName="urgent")
            cluster.wait(lambda: told(cluster.pods()[high]), "the reason")


def test_an_eviction_that_a_new_budget_stops_midway_goes_on_when_it_may(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, manager: None
) -> None:
    cluster.add_nodes(2, gpus=4)
    cluster.create(priority("urgent", 1000))
    with scheduling(proxy):
        low = cluster.add_gang("low", 2, gpus=4, labels={"app": "kept"})
        cluster.wait(lambda: all_run(cluster), "the victims run")
        proxy.add(Fault(on("POST", "/eviction$"), times=1, before=lambda: _budget(cluster, "kept")))
        high = cluster.add_gang("high", 2, gpus=4, priorityClassName="urgent")
        cluster.wait(lambda: _is_blocked(cluster), "the event")
        cluster.wait(lambda: all(told(cluster.pods()[each]) for each in high), "the reason")
        assert not set(high) & set(cluster.bound())
        cluster.delete(f"{BUDGETS}/kept")
        cluster.wait_bound(high)
    assert not set(low) & set(cluster.pods())
    assert not overbooked(cluster)
    assert not kubelets.refused


def _is_blocked(cluster: Cluster) -> bool:
    return any(each["reason"] == "EvictionBlocked" for each in cluster.list(EVENTS))


def _two_of_which_one_stays(cluster: Cluster) -> list[str]:
    """Two replicas that run, with a budget; returns their names."""
    cluster.create(_replicas("web", 2))
    cluster.wait(lambda: len(cluster.pods()) == 2 and all_run(cluster), "the replicas run")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    body: Object = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    cluster.create(body | {"metadata": {"name": "web"}})
    cluster.wait(lambda: _allowed(cluster, "web") == 1, "the budget's status")
    return list(cluster.pods())


def test_budgets_add_up_over_all_victims_of_a_plan(
    cluster: Cluster, kubelets: Kubelets, manager: None
) -> None:
    """A gang that needs both nodes of two replicas, of which one has to stay, evicts none."""
    cluster.add_nodes(2, gpus=8)
    cluster.create(priority("urgent", 1000))
    with scheduling(cluster):
        before = _two_of_which_one_stays(cluster)
        with Witness(lambda: _touched(cluster, *before)):
            high = cluster.add_gang("high", 2, gpus=8, priorityClassName="urgent")
            cluster.wait(lambda: all(told(cluster.pods()[each]) for each in high), "the reason")
        cluster.delete(f"{BUDGETS}/web")
        cluster.wait_bound(high)


def test_a_gang_takes_what_is_idle_and_no_more_than_a_budget_allows(
    cluster: Cluster, kubelets: Kubelets, manager: None
) -> None:
    """With eight GPUs idle beside, one of two replicas is enough; the other one stays."""
    cluster.add_nodes(3, gpus=8)
    cluster.create(priority("urgent", 1000))
    with scheduling(cluster):
        before = _two_of_which_one_stays(cluster)
        with Witness(lambda: len(_touched(cluster, *before)) == len(before)):
            high = cluster.add_gang("high", 2, gpus=8, priorityClassName="urgent")
            cluster.wait_bound(high)
    assert len(set(before) & set(cluster.bound())) == 1
    assert not overbooked(cluster)


def test_a_plan_that_stays_stuck_is_undone_and_others_leave(
    cluster: Cluster, kubelets: Kubelets, proxy: Proxy, manager: None
) -> None:
    """A budget that is made at the first eviction stops it: after a time others are looked for."""
    cluster.add_nodes(2, gpus=4)
    cluster.create(priority("urgent", 1000), priority("some", 500))
    settings = replace(QUICK, blocked_ms=3_000)
    with scheduling(proxy, settings):
        (first,) = cluster.add_pods(1, prefix="first", gpus=4, labels={"app": "kept"})
        (other,) = cluster.add_pods(1, prefix="other", gpus=4, priorityClassName="some")
        cluster.wait(lambda: len(cluster.bound()) == 2 and all_run(cluster), "both run")
        proxy.add(Fault(on("POST", "/eviction$"), times=1, before=lambda: _budget(cluster, "kept")))
        (high,) = cluster.add_pods(1, prefix="high", gpus=4, priorityClassName="urgent")
        cluster.wait(lambda: _is_blocked(cluster), "the event")
        assert victim(cluster, first)
        with Witness(lambda: "deletionTimestamp" in cluster.pods()[first]["metadata"]):
            cluster.wait_bound([high])
            cluster.wait(lambda: not _touched(cluster, first), "its marks are off")
    assert other not in cluster.pods()
    assert not victim(cluster, first)
    assert cluster.pods()[first]["status"]["phase"] == "Running"
    assert not overbooked(cluster)
    assert not kubelets.refused


def victim(cluster: Cluster, name: str) -> str:
    """The gang that a pod is marked to leave for; empty = none."""
    return str(cluster.pods()[name]["metadata"].get("annotations", {}).get(VICTIM_OF, ""))


def _replicas(app: str, count: int) -> Object:
    template = manifests.pod(app, gpus=8, labels={"app": app})
    meta = {"labels": {"app": app}}
    spec = {
        "replicas": count,
        "selector": {"matchLabels": {"app": app}},
        "template": {"metadata": meta, "spec": template["spec"]},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app}, "spec": spec}


def _allowed(cluster: Cluster, name: str) -> int:
    return int(cluster.get(f"{BUDGETS}/{name}").get("status", {}).get("disruptionsAllowed", 0))
