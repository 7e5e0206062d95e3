"""Events and metrics of a scheduler at work on a real API server, by queue and flavor."""

from typing import Any

from ganglion.model.plan import Phase
from ganglion.server.cluster.source import ClusterSource
from ganglion.server.state.audience import Audience
from ganglion.worlds.kubernetes.scheduler import Scheduler
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.worlds.kubernetes.rbac import define_kinds
from tests.worlds.kubernetes.scheduling import scheduling

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def queue(cluster: Cluster, name: str, **spec: Any) -> None:
    version, meta = "ganglion.dev/v1alpha1", {"name": name}
    cluster.create({"apiVersion": version, "kind": "Queue", "metadata": meta, "spec": spec})


def events(cluster: Cluster, reason: str) -> dict[str, str]:
    """Object -> its metrics."""
    found = [each for each in cluster.list(EVENTS) if each["reason"] == reason]
    return {each["regarding"]["name"]: each["note"] for each in found}


def has_begun(scheduler: Scheduler) -> bool:
    """Whether every gang runs, so that something is lost when one is stopped."""
    with scheduler.read() as controller:
        return all(
            each.phase is Phase.RUNNING for each in controller.scene.state.gangs.records.values()
        )


def test_queues_waits_preemptions_and_requests_are_counted_and_told(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    """One queue borrows, another takes back what is its own, and a third gang waits."""
    define_kinds(cluster)
    cluster.add_nodes(1, gpus=4, labels=H100)
    queue(cluster, "red", quota={"H100": 1})
    queue(cluster, "blue", quota={"H100": 3})
    source, audience = ClusterSource(), Audience()

    def value(name: str, **labels: str) -> float | None:
        return source.registry.get_sample_value(name, labels)

    def add(name: str, size: int, to: str) -> list[str]:
        return cluster.add_gang(name, size, labels={"ganglion.dev/queue": to})

    with scheduling(cluster, turned=audience.turned) as scheduler:
        source.attach(scheduler)
        with scheduler.read():
            audience.seat(source.took)
        cluster.wait_bound(add("first", 3, "red"))
        h100 = {"queue": "red", "flavor": "H100"}
        assert value("ganglion_queue_gpus_used", **h100) == 3
        assert value("ganglion_queue_gpus_quota", **h100) == 1
        assert value("ganglion_queue_gpus_borrowed", **h100) == 2
        assert value("ganglion_queue_wait_seconds_count", **h100) == 1
        cluster.wait(lambda: has_begun(scheduler), "the gang to run")
        cluster.wait_bound(add("owner", 3, "blue"))
        add("late", 2, "red")
        late = {"queue": "red", "flavor": "*"}
        cluster.wait(lambda: value("ganglion_queue_gangs", **late, state="waiting"), "one to wait")
        assert value("ganglion_queue_gpus_asked", **late) == 2
        blue = {"queue": "blue", "flavor": "H100"}
        assert value("ganglion_queue_gangs", **blue, state="admitted") == 1
        assert value("ganglion_preemptions_total", **h100, cause="reclaimed") == 1
        assert (value("ganglion_gpu_hours_lost_total", **h100, cause="reclaimed") or 0) > 0
        for resource, verb in (("pods/binding", "POST"), ("pods/eviction", "POST")):
            labels = {"verb": verb, "resource": resource, "answer": "ok"}
            assert value("ganglion_api_requests_total", **labels) in (3, 6)
        assert value("ganglion_events_dropped_total") == 0
        assert value("ganglion_start_bands") is not None
        cluster.wait(lambda: "late-0" in events(cluster, "FailedScheduling"), "late to be told")
        scheduled = {"first-0": "3 pods on node-0", "owner-0": "3 pods on node-0"}
        cluster.wait(lambda: events(cluster, "Scheduled") == scheduled, "both starts to be told")
        cluster.wait(lambda: "first-0" in events(cluster, "Preempted"), "the victim to be told")
        # One for a gang and a sort of reason ("1 of 2 pods exist" is another), not for each pod.
        waited = [each for each in cluster.list(EVENTS) if each["reason"] == "FailedScheduling"]
        sorts = {(e["regarding"]["name"], e["note"].partition(":")[0]) for e in waited}
        assert len(waited) == len(sorts)
        assert sum(each["note"].startswith("capacity: ") for each in waited) <= 2
