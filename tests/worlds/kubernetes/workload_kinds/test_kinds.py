"""Every kind of owner gives the gang that its pods make."""

import pytest

from ganglion.model.fleet.levels import Level
from ganglion.model.workload import Kind, Slice
from ganglion.worlds.kubernetes.workload_kinds.kinds import KUBEFLOW
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.controllers import job_pod, unfold
from tests.worlds.kubernetes.workload_discovery.scene import Scene, of, pods_of, seats, sizes


def test_a_job_is_one_gang_seated_by_completion_index() -> None:
    found = of(w.job("train", 4)).one()
    assert found.key == "default/Job/train/job-default-train"
    assert sizes(found) == {"main": (4, 4, 4)}
    assert seats(found) == {f"train-{i}-x": f"main-{i}" for i in range(4)}
    assert (found.lacking, found.refused, found.kind) == ("", "", Kind.TRAIN)
    assert found.owner is not None
    assert found.owner.path == "/apis/batch/v1/namespaces/default/jobs/train"
    assert found.owner.suspend == ("spec", "suspend")


def test_a_job_of_one_pod_is_a_batch_job() -> None:
    assert of(w.job("one", 1)).one().kind is Kind.BATCH


def test_a_job_with_more_completions_than_pods_gives_the_seat_of_a_finished_pod_to_the_next() -> (
    None
):
    body = w.job("sweep", 3, completions=9)
    bodies = unfold(body)
    scene = Scene()
    scene.add(*bodies)
    done = pods_of(bodies)[1]
    scene.add({**done, "status": {"phase": "Succeeded"}})
    scene.add(job_pod(body, 3))
    assert seats(scene.one()) == {
        "sweep-0-x": "main-0",
        "sweep-3-x": "main-1",
        "sweep-2-x": "main-2",
    }
    scene.add({**pods_of(bodies)[0], "status": {"phase": "Succeeded"}})
    scene.add(job_pod(body, 4))
    assert seats(scene.one())["sweep-3-x"] == "main-1"
    assert seats(scene.one())["sweep-4-x"] == "main-0"


def test_a_pod_that_replaces_a_failed_one_takes_its_seat() -> None:
    body = w.job("train", 4)
    bodies = unfold(body)
    scene = Scene()
    scene.add(*bodies)
    failed = pods_of(bodies)[2]
    scene.add({**failed, "status": {"phase": "Failed"}})
    assert scene.one().lacking == "3 of 4 pods exist; missing: main-2"
    scene.add(job_pod(body, 2, "again"))
    assert seats(scene.one())["train-2-again"] == "main-2"
    assert scene.one().lacking == ""


def test_a_job_wants_fewer_pods_when_some_have_succeeded() -> None:
    body = w.job("train", 4)
    bodies = unfold(body)
    body["status"] = {"succeeded": 3}
    scene = Scene()
    scene.add(body, pods_of(bodies)[3])
    found = scene.one()
    assert sizes(found) == {"main": (1, 1, 1)}
    assert seats(found) == {"train-3-x": "main-3"}
    assert found.lacking == ""


def test_a_work_queue_wants_no_new_pods_once_one_has_succeeded() -> None:
    body = w.job("queue", 4)
    del body["spec"]["completions"]
    del body["spec"]["completionMode"]
    bodies = unfold(body)
    body["status"] = {"succeeded": 1, "active": 2}
    scene = Scene()
    scene.add(body, *pods_of(bodies)[:2])
    assert sizes(scene.one()) == {"main": (2, 2, 2)}
    assert scene.one().lacking == ""


@pytest.mark.parametrize("key", ["ganglion.dev/gang-min", "kueue.x-k8s.io/job-min-parallelism"])
def test_a_job_may_be_elastic(key: str) -> None:
    assert sizes(of(w.job("train", 8, annotations={key: "4"})).one()) == {"main": (8, 4, 8)}


def test_an_elastic_job_may_start_with_the_fewest() -> None:
    bodies = unfold(w.job("train", 8, annotations={"ganglion.dev/gang-min": "4"}))
    scene = Scene()
    scene.add(*bodies[:5])
    assert scene.one().lacking == ""


@pytest.mark.parametrize(("said", "spare"), [("0,2", {1}), ("-", {0, 1, 2}), ("0-2", set())])
def test_trials_that_are_not_their_sweeps_own_are_spare(said: str, spare: set[int]) -> None:
    body = w.job("sweep", 3, annotations={"ganglion.dev/own-trials": said})
    body["spec"]["template"]["metadata"]["labels"] = {"ganglion.dev/kind": "sweep"}
    scene = Scene()
    scene.add(*unfold(body))
    assert {each.index for each in scene.gangs() if each.priority < 0} == spare


def test_indexes_that_are_none_refuse_the_trials_by_the_name_of_the_annotation() -> None:
    body = w.job("sweep", 2, annotations={"ganglion.dev/own-trials": "first"})
    body["spec"]["template"]["metadata"]["labels"] = {"ganglion.dev/kind": "sweep"}
    scene = Scene()
    scene.add(*unfold(body))
    assert all("ganglion.dev/own-trials" in each.refused for each in scene.gangs())


def test_the_job_of_a_sweep_is_a_gang_per_trial_that_survives_its_pod() -> None:
    body = w.job("sweep", 3)
    body["spec"]["template"]["metadata"]["labels"] = {"ganglion.dev/kind": "sweep"}
    bodies = unfold(body)
    scene = Scene()
    scene.add(*bodies)
    keys = [each.key for each in scene.gangs()]
    assert keys == [f"default/Job/sweep/job-default-sweep/{i}" for i in range(3)]
    assert {each.workload for each in scene.gangs()} == {"default/Job/sweep/job-default-sweep"}
    assert [each.index for each in scene.gangs()] == [0, 1, 2]
    scene.remove(pods_of(bodies)[0])
    scene.add(job_pod(body, 0, "again"))
    assert [each.key for each in scene.gangs()] == keys
    assert scene.gangs()[0].owner.suspend == ()  # type: ignore[union-attr] # it has one


def test_a_job_set_is_one_gang_with_a_set_for_each_replicated_job() -> None:
    found = of(w.job_set("llm")).one()
    assert found.key == "default/JobSet/llm/jobset-default-llm"
    assert sizes(found) == {"driver": (1, 1, 1), "worker": (6, 6, 6)}
    assert seats(found)["llm-worker-1-2-x"] == "worker-5"
    assert found.owner is not None
    assert found.owner.path == "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/llm"


def test_jobs_of_a_job_set_that_depend_on_others_come_later() -> None:
    later = w.replicated("worker", 1, 3, dependsOn=[{"name": "driver", "status": "Ready"}])
    bodies = unfold(w.job_set("llm", [w.replicated("driver", 1, 1), later]))
    scene = Scene()
    scene.add(*(each for each in bodies if "worker" not in each["metadata"]["name"]))
    assert sizes(scene.one()) == {"driver": (1, 1, 1), "worker": (3, 3, 0)}
    assert scene.one().lacking == ""


def test_jobs_of_a_job_set_that_start_in_order_come_later() -> None:
    body = w.job_set("llm")
    body["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    assert sizes(of(body).one()) == {"driver": (1, 1, 1), "worker": (6, 6, 0)}


def test_exclusive_topology_of_a_job_set_is_a_domain_for_each_job_and_needs_only_leaders() -> None:
    note = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "topology.kubernetes.io/zone"}
    found = of(w.job_set("llm", [w.replicated("worker", 2, 3)], annotations=note)).one()
    assert sizes(found) == {"worker": (6, 6, 2)}
    assert found.sets[0].slices == (Slice(size=3, required=Level.ZONE),)


def test_a_job_set_wants_no_pods_of_jobs_that_have_completed() -> None:
    body = w.job_set("llm")
    bodies = unfold(body)
    body["status"] = {"replicatedJobsStatus": [{"name": "worker", "succeeded": 1}]}
    scene = Scene()
    scene.add(*(each for each in bodies if "worker-0" not in each["metadata"]["name"]))
    assert sizes(scene.one()) == {"driver": (1, 1, 1), "worker": (3, 3, 3)}
    assert scene.one().lacking == ""


def test_a_train_job_is_the_gang_of_its_job_set_and_is_what_is_suspended() -> None:
    found = of(w.train_job("tune", 4)).one()
    assert sizes(found) == {"node": (4, 4, 4)}
    assert found.owner is not None
    assert (found.owner.kind, found.owner.suspend) == ("TrainJob", ("spec", "suspend"))


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for (_, kind), field in KUBEFLOW.items() if kind != "MPIJob"]
)
def test_training_jobs_of_kubeflow_have_a_set_for_each_type_of_replica(
    kind: str, field: str
) -> None:
    found = of(w.kubeflow(kind, field, "kf", Worker=3, Master=1)).one()
    assert sizes(found) == {"master": (1, 1, 1), "worker": (3, 3, 3)}
    assert seats(found)["kf-worker-2"] == "worker-2"
    assert found.owner is not None
    assert found.owner.suspend == ("spec", "runPolicy", "suspend")
    assert found.owner.path == f"/apis/kubeflow.org/v1/namespaces/default/{kind.lower()}s/kf"


def test_workers_of_an_elastic_pytorch_job_may_be_fewer() -> None:
    body = w.kubeflow("PyTorchJob", "pytorchReplicaSpecs", Worker=8)
    body["spec"]["elasticPolicy"] = {"minReplicas": 2, "maxReplicas": 8}
    assert sizes(of(body).one()) == {"worker": (8, 2, 8)}


def test_an_mpi_job_has_a_launcher_made_by_a_job() -> None:
    found = of(w.mpi_job("mpi", 2)).one()
    assert sizes(found) == {"launcher": (1, 1, 1), "worker": (2, 2, 2)}
    assert seats(found)["mpi-launcher-xa"] == "launcher-0"


def test_a_launcher_that_waits_for_the_workers_is_given_a_place_beforehand() -> None:
    bodies = unfold(w.mpi_job("mpi", 2, launcherCreationPolicy="WaitForWorkersReady"))
    scene = Scene()
    scene.add(*(each for each in bodies if "launcher" not in each["metadata"]["name"]))
    found = scene.one()
    assert sizes(found) == {"launcher": (1, 1, 0), "worker": (2, 2, 2)}
    assert found.lacking == ""
    assert found.sets[0].request.spec.containers[0].resources.requests["cpu"] == "1"


def test_the_first_version_of_mpi_jobs_is_understood() -> None:
    body = w.mpi_job("mpi", 2)
    body["apiVersion"] = "kubeflow.org/v1"
    found = of(body).one()
    assert sizes(found) == {"launcher": (1, 1, 0), "worker": (2, 2, 2)}
    assert seats(found)["mpi-launcher-0"] == "launcher-0"


def test_a_ray_cluster_has_a_head_and_groups_of_workers() -> None:
    found = of(w.ray_cluster("ray", w.ray_group("gpu", 2), w.ray_group("cpu", 3))).one()
    assert sizes(found) == {"head": (1, 1, 1), "gpu": (2, 2, 2), "cpu": (3, 3, 3)}
    assert set(seats(found).values()) == {
        "head-0",
        *("gpu-0", "gpu-1"),
        *("cpu-0", "cpu-1", "cpu-2"),
    }


def test_a_ray_cluster_that_scales_may_do_with_the_fewest_workers() -> None:
    group = w.ray_group("gpu", 4, minReplicas=1, maxReplicas=8)
    scaled = of(w.ray_cluster("ray", group, enableInTreeAutoscaling=True)).one()
    fixed = of(w.ray_cluster("ray", group)).one()
    assert sizes(scaled)["gpu"] == (4, 1, 4)
    assert sizes(fixed)["gpu"] == (4, 4, 4)


def test_workers_of_several_hosts_count_by_host() -> None:
    found = of(w.ray_cluster("ray", w.ray_group("tpu", 2, numOfHosts=4))).one()
    assert sizes(found)["tpu"] == (8, 8, 8)


def test_a_ray_job_keeps_a_place_for_its_submitter() -> None:
    bodies = unfold(w.ray_job("rjob"))
    scene = Scene()
    cluster = [each for each in bodies if "submit" not in str(each.get("spec"))]
    scene.add(*cluster)
    found = scene.one()
    assert sizes(found) == {"head": (1, 1, 1), "gpu": (2, 2, 2), "submitter": (1, 1, 0)}
    assert found.lacking == ""
    assert found.owner is not None
    assert found.owner.kind == "RayJob"
    scene.add(*bodies)
    assert "submitter-0" in seats(scene.one()).values()


def test_a_ray_service_is_a_service_made_of_gangs_of_its_clusters() -> None:
    found = of(w.ray_service("rsvc")).one()
    assert (found.kind, found.name) == (Kind.SERVICE, "rsvc")
    assert found.key == "default/RayCluster/rsvc-vwxyz/raycluster-default-rsvc-vwxyz"
    assert found.workload == "default/RayService/rsvc/rayservice-default-rsvc"
    assert found.owner is not None
    assert found.owner.suspend == ()


def test_every_replica_of_a_leader_worker_set_is_a_gang() -> None:
    one, two = of(w.leader_worker_set("vllm", 2, 3)).gangs()
    assert one.key == "default/LeaderWorkerSet/vllm/leaderworkerset-default-vllm/0"
    assert one.workload == two.workload
    assert (one.index, two.index) == (0, 1)
    assert sizes(one) == {"leader": (1, 1, 1), "worker": (2, 2, 2)}
    assert seats(two) == {"vllm-1": "leader-0", "vllm-1-1": "worker-0", "vllm-1-2": "worker-1"}
    assert one.kind is Kind.SERVICE
    assert one.lacking == two.lacking == ""


@pytest.mark.parametrize("late", ["startupPolicy", "exclusive"])
def test_workers_of_a_leader_may_be_made_after_it(late: str) -> None:
    body = w.leader_worker_set("vllm", 1, 3)
    if late == "startupPolicy":
        body["spec"]["startupPolicy"] = "LeaderReady"
    else:
        key = "leaderworkerset.sigs.k8s.io/exclusive-topology"
        body["metadata"]["annotations"] = {key: "topology.kubernetes.io/zone"}
    scene = Scene()
    scene.add(*unfold(body)[:3])
    found = scene.one()
    assert sizes(found) == {"leader": (1, 1, 1), "worker": (2, 2, 0)}
    assert found.lacking == ""


def test_a_stateful_set_is_a_gang_seated_by_ordinal() -> None:
    found = of(w.stateful_set("db", 3)).one()
    assert sizes(found) == {"main": (3, 3, 3)}
    assert seats(found) == {f"db-{i}": f"main-{i}" for i in range(3)}
    assert found.kind is Kind.SERVICE


def test_a_stateful_set_that_starts_in_order_is_considered_with_its_first_pod() -> None:
    scene = Scene()
    scene.add(*unfold(w.stateful_set("db", 3, "OrderedReady"))[:2])
    assert sizes(scene.one()) == {"main": (3, 3, 1)}
    assert scene.one().lacking == ""


def test_ordinals_may_begin_anywhere() -> None:
    body = w.stateful_set("db", 2)
    body["spec"]["ordinals"] = {"start": 5}
    bodies = unfold(body)
    for index, each in enumerate(pods_of(bodies)):
        each["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = str(5 + index)
    scene = Scene()
    scene.add(*bodies)
    assert set(seats(scene.one()).values()) == {"main-0", "main-1"}


@pytest.mark.parametrize("body", [w.deployment("web", 2), w.inference_service("bert")])
def test_replicas_are_no_gang(body: w.Body) -> None:
    gangs = of(body).gangs()
    assert [sizes(each) for each in gangs] == [{"main": (1, 1, 1)}] * 2
    assert len({each.key for each in gangs}) == 2
    assert {each.name for each in gangs} == {body["metadata"]["name"]}
    assert {each.kind for each in gangs} == {Kind.SERVICE}
    assert {each.owner.suspend for each in gangs if each.owner} == {()}


def test_a_notebook_is_a_workspace() -> None:
    found = of(w.notebook("nb")).one()
    assert (found.kind, found.key) == (
        Kind.WORKSPACE,
        "default/Notebook/nb/notebook-default-nb",
    )
    assert sizes(found) == {"main": (1, 1, 1)}


def test_what_an_app_wrapper_holds_is_one_gang() -> None:
    found = of(w.app_wrapper(w.job("a", 2), w.job_set("b"), w.bare("c"))).one()
    assert sizes(found) == {
        "a": (2, 2, 2),
        "b-driver": (1, 1, 1),
        "b-worker": (6, 6, 6),
        "c": (1, 1, 1),
    }
    assert (found.lacking, len(found.members), found.spare) == ("", 10, ())
    assert found.owner is not None
    assert found.owner.kind == "AppWrapper"


def test_executors_of_spark_have_a_place_before_the_driver_asks_for_them() -> None:
    bodies = unfold(w.spark("etl", 2))
    scene = Scene()
    scene.add(*bodies[:2])
    found = scene.one()
    assert sizes(found) == {"driver": (1, 1, 1), "executor": (2, 2, 0)}
    assert found.lacking == ""
    asked = found.sets[1].request.spec.containers[0].resources.requests
    assert asked == {"cpu": 2, "memory": "4505Mi"}
    scene.add(*bodies)
    assert set(seats(scene.one()).values()) == {"driver-0", "executor-0", "executor-1"}


def test_executors_of_spark_that_scale_have_a_fewest_and_a_most() -> None:
    dynamic = {"enabled": True, "minExecutors": 1, "maxExecutors": 5}
    assert sizes(of(w.spark("etl", 2, dynamicAllocation=dynamic)).one())["executor"] == (5, 1, 0)


def test_pods_of_a_kind_that_is_not_understood_are_each_alone() -> None:
    scene = Scene()
    ref = {"apiVersion": "e.org/v1", "kind": "Farm", "name": "f", "uid": "u", "controller": True}
    for name in ("a", "b"):
        scene.add(w.bare(name, uid=f"uid-{name}", ownerReferences=[ref]))
    assert [each.key for each in scene.gangs()] == ["default/Farm/f/u/a", "default/Farm/f/u/b"]
    assert {each.lacking for each in scene.gangs()} == {""}


def test_a_pod_that_nobody_made_is_alone() -> None:
    scene = Scene()
    scene.add(w.bare("solo", uid="u1"))
    found = scene.one()
    assert (found.key, found.owner, found.kind) == ("default/Pod/solo/u1", None, Kind.BATCH)


def test_a_job_of_a_workflow_is_a_gang_whoever_made_it() -> None:
    ref = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "u", "controller": True}
    found = of(w.job("nightly", 2, ownerReferences=[ref])).one()
    assert found.key == "default/Job/nightly/job-default-nightly"


def test_a_launcher_that_works_has_the_first_index_among_the_workers() -> None:
    bodies = unfold(w.mpi_job("mpi", 2, runLauncherAsWorker=True))
    for each in pods_of(bodies):
        labels = each["metadata"]["labels"]
        key = "training.kubeflow.org/replica-index"
        if key in labels:
            labels[key] = str(int(labels[key]) + 1)
    scene = Scene()
    scene.add(*bodies)
    found = scene.one()
    assert set(seats(found).values()) == {"launcher-0", "worker-0", "worker-1"}
    assert found.spare == ()


def test_jobs_of_a_job_set_with_more_completions_than_pods_share_their_seats() -> None:
    part = w.replicated("trial", 2, 2)
    part["template"]["spec"]["completions"] = 6
    bodies = unfold(w.job_set("llm", [part]))
    ended = next(each for each in pods_of(bodies) if each["metadata"]["name"] == "llm-trial-0-1-x")
    owner = next(each for each in bodies if each["metadata"]["name"] == "llm-trial-0")
    scene = Scene()
    scene.add(*bodies)
    scene.gangs()
    scene.remove(ended)
    scene.add(job_pod(owner, 5))
    found = scene.one()
    assert seats(found) == {
        "llm-trial-0-0-x": "trial-0",
        "llm-trial-0-5-x": "trial-1",
        "llm-trial-1-0-x": "trial-2",
        "llm-trial-1-1-x": "trial-3",
    }
    assert (found.lacking, found.spare) == ("", ())


def test_indexes_of_a_job_that_failed_for_good_are_not_wanted_any_more() -> None:
    body = w.job("train", 4)
    bodies = unfold(body)
    body["status"] = {"failedIndexes": "0,2-3"}
    scene = Scene()
    scene.add(body, pods_of(bodies)[1])
    assert (sizes(scene.one()), scene.one().lacking) == ({"main": (1, 1, 1)}, "")


def test_templates_inside_of_others_may_be_untidy() -> None:
    tidy = w.app_wrapper(w.bare("c"), w.bare("d"))
    wrapper, pod, _ = unfold(tidy)
    spec = wrapper["spec"]["components"][1]["template"]["spec"]
    spec["nodeSelector"] = None
    spec["containers"][0]["resources"]["requests"]["cpu"] = 0.5
    scene = Scene()
    scene.add(wrapper, pod)
    found = scene.one()
    assert (found.refused, found.lacking) == ("", "1 of 2 pods exist; missing: d-0")
    assert found.sets[1].request.spec.containers[0].resources.requests["cpu"] == "0.5"


def test_executors_of_spark_have_their_place_where_they_may_run() -> None:
    toleration = {"key": "spot", "operator": "Exists"}
    executor = {
        "instances": 2,
        "cores": 2,
        "nodeSelector": {"disk": "fast"},
        "tolerations": [toleration],
        "template": {"spec": {"nodeSelector": {"arch": "arm64"}, "tolerations": [{"key": "gpu"}]}},
    }
    body = w.spark("etl", 2, executor=executor, nodeSelector={"pool": "a", "disk": "any"})
    scene = Scene()
    app, driver, *_ = unfold(body)
    scene.add(app, driver)
    (found,) = (each for each in scene.one().sets if each.name == "executor")
    spec = found.request.spec
    assert spec.node_selector == {"pool": "a", "disk": "fast", "arch": "arm64"}
    assert [each.key for each in spec.tolerations] == ["gpu", "spot"]
    assert spec.containers[0].resources.requests["cpu"] == 2
