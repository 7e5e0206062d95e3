"""Gangs of every kind start whole or not at all on a real API server.

`manager` comes after `cluster`, so that it has ended before the cluster is emptied.
"""

from typing import Any, NamedTuple

from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.crds import definition, definitions
from tests.worlds.kubernetes.gangs.played import Space
from tests.worlds.kubernetes.scheduling import scheduling
from tests.worlds.kubernetes.troubled import overbooked

Body = dict[str, Any]


class Case(NamedTuple):
    """A gang; `pods` of it exist before it starts, and it fits on `nodes` but on none fewer."""

    body: Body
    pods: int
    nodes: int
    gpus: int = 8
    cpu: str = "64"


def mpi_v1() -> Body:
    return {**w.mpi_job("mpi", 2), "apiVersion": "kubeflow.org/v1"}


CASES: dict[str, Case] = {
    "job": Case(w.job("train", 3), 3, 3),
    "jobset": Case(w.job_set("llm"), 7, 7),
    "trainjob": Case(w.train_job("tune", 2), 2, 2),
    "pytorchjob": Case(w.kubeflow("PyTorchJob", "pytorchReplicaSpecs", Master=1, Worker=2), 3, 3),
    "tfjob": Case(w.kubeflow("TFJob", "tfReplicaSpecs", PS=1, Worker=1), 2, 2),
    "xgboostjob": Case(w.kubeflow("XGBoostJob", "xgbReplicaSpecs", Worker=2), 2, 2),
    "paddlejob": Case(w.kubeflow("PaddleJob", "paddleReplicaSpecs", Worker=2), 2, 2),
    "jaxjob": Case(w.kubeflow("JAXJob", "jaxReplicaSpecs", Worker=2), 2, 2),
    "mpijob-v1": Case(mpi_v1(), 3, 2),
    "mpijob-v2": Case(w.mpi_job("mpi", 2), 3, 2),
    "raycluster": Case(w.ray_cluster("ray"), 3, 2),
    "rayjob": Case(w.ray_job("rjob"), 4, 2),
    "rayservice": Case(w.ray_service("rsvc"), 3, 2),
    "statefulset": Case(w.stateful_set("db", 2), 2, 2),
    "notebook": Case(w.notebook("nb"), 1, 1),
    "appwrapper": Case(w.app_wrapper(w.job("inner", 2)), 2, 2),
    "sparkapplication": Case(w.spark("etl", 2), 3, 2, gpus=0, cpu="2"),
}


def two_versions() -> list[Body]:
    """The kinds, of which MPIJob is served as version 1 too."""
    found = definitions()
    (mpi,) = (each for each in found if each["spec"]["names"]["kind"] == "MPIJob")
    (old,) = definition("kubeflow.org", "v1", "MPIJob")["spec"]["versions"]
    mpi["spec"]["versions"].append({**old, "storage": False})
    return found


def test_every_kind_waits_whole_until_there_is_room_for_all_of_its_pods(
    cluster: Cluster, manager: None
) -> None:
    cluster.define(*two_versions())
    spaces = {
        name: Space(cluster, f"of-{name}", gpus=case.gpus, cpu=case.cpu)
        for name, case in CASES.items()
    }
    for name, case in CASES.items():
        spaces[name].add_nodes(case.nodes - 1)
    with scheduling(cluster):
        for name, case in CASES.items():
            spaces[name].play(case.body)
        for name, case in CASES.items():
            spaces[name].wait_told(case.pods)
        for each in spaces.values():
            each.add_nodes(1)
        for name, case in CASES.items():
            spaces[name].wait_bound(case.pods)
        assert not overbooked(cluster)


def test_replicas_that_do_not_need_each_other_start_one_by_one(
    cluster: Cluster, manager: None
) -> None:
    cluster.define(*definitions())
    spaces = [Space(cluster, "of-deployment"), Space(cluster, "of-inferenceservice")]
    with scheduling(cluster):
        for space, body in zip(spaces, (w.deployment(), w.inference_service()), strict=True):
            space.play(body)
            space.wait_told(2)
            space.add_nodes(1)
            space.wait_bound(1)
            space.wait_waiting(1)
            space.add_nodes(1)
            space.wait_bound(2)


def test_every_replica_of_a_leader_worker_set_is_a_gang(cluster: Cluster) -> None:
    cluster.define(*(each for each in definitions() if "leader" in each["metadata"]["name"]))
    space = Space(cluster, "of-leaderworkerset")
    space.add_nodes(1)
    with scheduling(cluster):
        space.play(w.leader_worker_set("vllm", 2, 3), real=frozenset())
        space.wait_told(6)
        space.add_nodes(1)
        found = space.wait_bound(3)
        assert {name.split("-")[1] for name in found} in ({"0"}, {"1"})
        space.wait_waiting(3)
        space.add_nodes(2)
        space.wait_bound(6)


def test_pods_of_a_stateful_set_in_order_have_places_before_the_first_runs(
    cluster: Cluster, manager: None, kubelets: Kubelets
) -> None:
    space = Space(cluster, "of-ordered")
    space.add_nodes(2)
    with scheduling(cluster):
        space.play(w.stateful_set("db", 3, "OrderedReady"))
        space.wait_told(1)
        space.add_nodes(1)
        found = space.wait_bound(3)
        assert len(set(found.values())) == 3
    assert not kubelets.refused
