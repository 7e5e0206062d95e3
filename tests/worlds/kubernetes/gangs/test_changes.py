"""Gangs that run and change: pods are replaced, end, become more and fewer."""

from typing import Any

from ganglion.worlds.kubernetes.scheduler import Scheduler
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import RUN, Kubelets
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.controllers import job_pod, made_by
from tests.worlds.kubernetes.crds import definitions
from tests.worlds.kubernetes.gangs.played import Space
from tests.worlds.kubernetes.scheduling import scheduling

Body = dict[str, Any]


def tries(scheduler: Scheduler) -> dict[str, int]:
    """Gangs that have places, by name -> how often they were started."""
    with scheduler.read() as controller:
        return {
            gang.split("/")[2]: each.number
            for gang, each in controller.scene.attempts.by_gang.items()
        }


def test_pods_that_are_deleted_are_replaced_where_they_were(
    cluster: Cluster, manager: None, kubelets: Kubelets
) -> None:
    space = Space(cluster, "replaced")
    space.add_nodes(5)
    with scheduling(cluster) as scheduler:
        space.play(w.job("train", 3))
        space.play(w.stateful_set("db", 2))
        before = space.wait_bound(5)
        space.create(w.bare("rival"))
        space.wait_waiting(1)
        gone = ["db-1", next(name for name in before if name.startswith("train-1-"))]
        for name in gone:
            space.delete_pod(name)
        space.wait(lambda: len(renewed(space, before)) == 4 and len(space.bound()) == 5, "anew")
        assert renewed(space, before) == {name: before[name] for name in before if name != gone[1]}
        assert set(space.bound().values()) == set(before.values())
        assert tries(scheduler) == {"train": 1, "db": 1}
        assert set(space.reasons()) == {"rival"}


def renewed(space: Space, before: dict[str, str]) -> dict[str, str]:
    """Pods that have the names of pods before, and their nodes."""
    return {name: node for name, node in space.bound().items() if name in before}


def test_a_pod_that_fails_is_replaced_while_its_gang_runs_on(cluster: Cluster) -> None:
    space = Space(cluster, "failing")
    space.add_nodes(3)
    with scheduling(cluster) as scheduler:
        space.play(w.job("train", 3), frozenset())
        before = space.wait_bound(3)
        space.create(w.bare("rival"))
        space.wait_waiting(1)
        cluster.set_phase("train-1-x", "Failed", space.name)
        space.wait(lambda: "train-1-x" not in space.bound(), "it is over")
        (job,) = cluster.list(f"/apis/batch/v1/namespaces/{space.name}/jobs")
        space.create(job_pod({**job, "kind": "Job", "apiVersion": "batch/v1"}, 1, "y"))
        after = space.wait_bound(3)
        assert after["train-1-y"] == before["train-1-x"]
        assert tries(scheduler) == {"train": 1}
        assert set(space.reasons()) == {"rival"}


def test_a_rolling_restart_does_not_need_room_for_a_second_gang(
    cluster: Cluster, manager: None, kubelets: Kubelets
) -> None:
    space = Space(cluster, "rolling")
    space.add_nodes(3)
    with scheduling(cluster) as scheduler:
        space.play(w.stateful_set("db", 3))
        before = space.wait_bound(3)
        space.wait(lambda: phases(space) == {"Running"}, "it runs")
        space.create(w.bare("rival"))
        space.wait_waiting(1)
        note = {"metadata": {"annotations": {"restarted-at": "now"}}}
        cluster.patch(space.path("statefulsets", "db"), {"spec": {"template": note}})
        space.wait(lambda: restarted(space) == 3 and phases(space) >= {"Running"}, "it restarted")
        assert space.wait_bound(3) == before
        assert tries(scheduler) == {"db": 1}
    assert not kubelets.refused


def phases(space: Space) -> set[str]:
    return {pod["status"]["phase"] for name, pod in space.pods().items() if name.startswith("db")}


def restarted(space: Space) -> int:
    pods = space.pods().values()
    return sum("restarted-at" in pod["metadata"].get("annotations", {}) for pod in pods)


def test_a_gang_whose_pods_end_frees_its_places(
    cluster: Cluster, manager: None, kubelets: Kubelets
) -> None:
    space = Space(cluster, "ending")
    space.add_nodes(2)
    first = w.job("first", 2)
    first["spec"]["template"]["metadata"]["annotations"] = {RUN: "0.5"}
    with scheduling(cluster):
        space.play(first)
        space.wait(lambda: len(kubelets.ran) == 2, "the first runs")
        space.play(w.job("second", 2))
        space.wait(lambda: {name[:6] for name in space.bound()} == {"second"}, "the second runs")
        assert len(space.wait_bound(2)) == 2


def test_a_pod_that_has_ended_leaves_its_place_to_others_while_its_peer_runs_on(
    cluster: Cluster, manager: None, kubelets: Kubelets
) -> None:
    space = Space(cluster, "half-done")
    space.add_nodes(2)
    with scheduling(cluster) as scheduler:
        space.play(w.job("train", 2))
        before = space.wait_bound(2)
        space.create(w.bare("rival"))
        space.wait_waiting(1)
        done = next(name for name in before if name.startswith("train-1-"))
        space.wait(lambda: done in kubelets.ran, "it runs")
        kubelets.end(space.pods()[done])
        found = space.wait(lambda: rival_runs(space), "the rival runs")
        assert found["rival"] == before[done]
        assert tries(scheduler)["train"] == 1


def rival_runs(space: Space) -> dict[str, str]:
    found = space.bound()
    return found if "rival" in found and len(found) == 2 else {}


def test_a_job_becomes_larger_and_smaller(
    cluster: Cluster, manager: None, kubelets: Kubelets
) -> None:
    space = Space(cluster, "elastic")
    space.add_nodes(2)
    with scheduling(cluster) as scheduler:
        space.play(w.job("train", 2))
        before = space.wait_bound(2)
        resize(space, 3)
        space.wait_waiting(1)
        assert space.bound() == before
        space.add_nodes(1)
        space.wait_bound(3)
        space.create(w.bare("rival"))
        space.wait_waiting(1)
        resize(space, 2)
        space.wait(lambda: "rival" in space.bound(), "the rival takes what is free")
        assert before.items() <= space.wait_bound(3).items()
        assert tries(scheduler)["train"] == 1


def resize(space: Space, pods: int) -> None:
    path = space.path("jobs", "train")
    space.cluster.patch(path, {"spec": {"parallelism": pods, "completions": pods}})


def test_a_group_of_ray_scales_up_and_down(cluster: Cluster, kubelets: Kubelets) -> None:
    cluster.define(*definitions())
    space = Space(cluster, "ray")
    space.add_nodes(2)
    group = w.ray_group("gpu", 1, minReplicas=1, maxReplicas=3)
    body = w.ray_cluster("ray", group, enableInTreeAutoscaling=True)
    with scheduling(cluster) as scheduler:
        space.play(body)
        before = space.wait_bound(2)
        scale(space, 2)
        assert before.items() <= space.wait_bound(3).items()
        space.create(w.bare("rival"))
        space.wait_waiting(1)
        scale(space, 1)
        space.wait(lambda: "rival" in space.bound(), "the rival takes what is free")
        assert before.items() <= space.bound().items()
        assert tries(scheduler)["ray"] == 1


def test_pods_that_are_added_one_by_one_are_bound_at_once(
    cluster: Cluster, kubelets: Kubelets
) -> None:
    cluster.define(*definitions())
    space = Space(cluster, "grown")
    space.add_nodes(5)
    group = w.ray_group("gpu", 1, minReplicas=1, maxReplicas=4)
    with scheduling(cluster) as scheduler:
        space.play(w.ray_cluster("ray", group, enableInTreeAutoscaling=True))
        space.wait_bound(2)
        for workers in (2, 3, 4):  # each within the 30 s that a wait may take
            scale(space, workers)
            space.wait_bound(workers + 1)
        assert tries(scheduler)["ray"] == 1


def scale(space: Space, replicas: int) -> None:
    """What the autoscaler and KubeRay do, the last pod first."""
    path = f"/apis/ray.io/v1/namespaces/{space.name}/rayclusters/ray"
    spec = space.cluster.get(path)["spec"]
    spec["workerGroupSpecs"][0]["replicas"] = replicas
    kept = space.cluster.patch(path, {"spec": spec})
    made = {each["metadata"]["name"]: each for each in made_by(kept)}
    now = {name for name in space.pods() if name.startswith("ray-")}
    for name in sorted(now - made.keys()):
        space.delete_pod(name)
    for name in sorted(made.keys() - now):
        space.create(made[name])


def test_pods_beyond_what_is_wanted_wait_and_say_so(cluster: Cluster) -> None:
    space = Space(cluster, "spare")
    space.add_nodes(4)
    with scheduling(cluster):
        space.play(w.job("train", 2), frozenset())
        space.wait_bound(2)
        (job,) = cluster.list(f"/apis/batch/v1/namespaces/{space.name}/jobs")
        space.create(job_pod({**job, "kind": "Job", "apiVersion": "batch/v1"}, 1, "y"))
        space.wait_waiting(1)
        assert list(space.reasons()) == ["train-1-y"]
        space.delete_pod("train-1-x")
        space.wait(lambda: "train-1-y" in space.bound(), "it takes the place that is free now")
