"""One object's nonsense stops one object, on a real API server."""

from typing import Any

from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.crds import definitions
from tests.worlds.kubernetes.scheduling import scheduling, why

Body = dict[str, Any]
EVENTS = "/apis/events.k8s.io/v1/events"
FRACTIONS = ("0", "0.0001", "1e-9", "1e999999999", "a lot")


def _empty_owners() -> list[Body]:
    return [
        w.job("no-job", 0),
        w.kubeflow("PyTorchJob", "pytorchReplicaSpecs", name="no-workers", Worker=0),
        w.job_set("no-set", [w.replicated("a", 0, 0)]),
    ]


def _pod_of(cluster: Cluster, owner: Body) -> Body:
    """A pod that an owner of none has all the same."""
    meta = cluster.get(
        cluster.path({**owner, "metadata": {"namespace": "default", **owner["metadata"]}})
    )
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    reference |= {"name": meta["metadata"]["name"], "uid": meta["metadata"]["uid"]}
    return manifests.pod(f"of-{owner['metadata']['name']}", owner=reference)


def test_all_else_is_bound_and_each_odd_object_says_what_is_wrong(cluster: Cluster) -> None:
    cluster.define(*definitions())
    cluster.add_nodes(1, gpus=8)
    cluster.create(manifests.node("boaster", gpus=2**40))
    odd = [
        manifests.pod(f"part-{n}", gpus=0, annotations={"ganglion.dev/gpu-fraction": text})
        for n, text in enumerate(FRACTIONS)
    ]
    owners = _empty_owners()
    cluster.create(*owners)
    odd += [_pod_of(cluster, each) for each in owners]
    cluster.create(*odd)
    with scheduling(cluster, Settings(device_agent=True)) as scheduler:
        good = cluster.add_gang("good", 2, gpus=4)
        cluster.wait_bound(good)
        names = {each["metadata"]["name"] for each in odd}
        cluster.wait(lambda: all(why(cluster.pods()[each]) for each in names), "the reasons")
        assert set(cluster.bound().values()) == {"node-0"}
        told = {name: why(cluster.pods()[name]) for name in names}
        assert "must be between 0.001 and 1, got 0.0001" in told["part-1"]
        assert "wants 0 pods" in told["of-no-job"]

        def set_apart() -> set[str]:
            found = [each for each in cluster.list(EVENTS) if each["reason"] == "SetApart"]
            return {each["regarding"]["name"] for each in found}

        cluster.wait(set_apart, "the event of the node")
        assert set_apart() == {"boaster"}
        with scheduler.read() as controller:
            assert ("node", "boaster") in controller.scene.facts.apart
    # A restart is no different.
    with scheduling(cluster):
        cluster.wait_bound(cluster.add_pods(1, prefix="late", gpus=0))
