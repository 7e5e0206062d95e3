"""What a training of a cluster has saved is known, and where it lies; on a real API server."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest

from ganglion.model.events import CheckpointCommitted, Event, GangEnded, Outcome
from ganglion.server.cluster.source import ClusterSource
from ganglion.server.state.audience import Audience
from ganglion.worlds.kubernetes.cluster_view.orders import Order
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.submit import compile_workload
from tests.controlplane import manifests
from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.controllers import play
from tests.worlds.kubernetes.crds import definition
from tests.worlds.kubernetes.placement.test_volumes import claims, provisioning
from tests.worlds.kubernetes.scheduling import scheduling
from tests.worlds.kubernetes.submit.make import workload
from tests.worlds.kubernetes.workloads import job_set

PODS = "/api/v1/namespaces/default/pods"
JOB = "/apis/batch/v1/namespaces/default/jobs/llama"
JOB_SET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/llama"
GPUS = 2
FILE = """
{name: llama, image: i, run: [train], gpus: 2, priority: 10,
 checkpoint: {grace: 20s, path: 'pvc://ck/llama'}}
"""

pytestmark = pytest.mark.usefixtures("manager", "kubelets")


class Heard:
    """The events of all turns, and what the views make of them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.audience, self.source = Audience(), ClusterSource()

    def __call__(
        self, controller: ClusterController, orders: Sequence[Order], seconds: float
    ) -> None:
        self.events += [*controller.scene.facts.taken, *controller.plan.decisions]
        self.audience.turned(controller, orders, seconds)

    def steps(self) -> list[tuple[int, str]]:
        found = (each for each in self.events if isinstance(each, CheckpointCommitted))
        return [(each.step, each.path) for each in found]

    def ends(self) -> list[GangEnded]:
        found = (each for each in self.events if isinstance(each, GangEnded))
        return [each for each in found if each.outcome is Outcome.PREEMPTED]


def training() -> Iterator[Object]:
    """What a submit makes; its pods take their time to stop."""
    for each in compile_workload(workload(FILE), namespace="default"):
        if each["kind"] == "Job":
            each["spec"]["template"]["metadata"]["annotations"]["test/stop-seconds"] = "6"
        yield each


def made(cluster: Cluster, kind: str) -> None:
    """Submit it as a Job, or as the one Job of a JobSet."""
    for each in training():
        if kind == "JobSet" and each["kind"] == "Job":
            cluster.create(definition("jobset.x-k8s.io", "v1alpha2", "JobSet"))
            meta = {key: each["metadata"].get(key, {}) for key in ("labels", "annotations")}
            jobs = [{"name": "train", "template": {"spec": each["spec"]}}]
            play(lambda body: cluster.create(body)[0], job_set("llama", jobs, **meta))
        else:
            cluster.create(each)


def mirrored(cluster: Cluster) -> None:
    """Suspend and resume the Job of the JobSet, as the controller of JobSets does."""
    if whole := cluster.find(JOB_SET):
        is_suspended = bool(whole["spec"].get("suspend"))
        cluster.patch(f"{JOB}-train-0", {"spec": {"suspend": is_suspended}})


def the_pod(cluster: Cluster, *others: str) -> Object | None:
    """The pod of the training that is there, unless it is one of these."""
    pods = cluster.pods("default", labelSelector="ganglion.dev/workload=llama").values()
    found = [each for each in pods if each["metadata"]["uid"] not in others]
    running = [each for each in found if each["status"]["phase"] == "Running"]
    return running[0] if running else None


def save(cluster: Cluster, path: str, step: int) -> None:
    """Say of a pod or its Job that a checkpoint is complete, as the program would."""
    notes = {
        "ganglion.dev/checkpointed-at": datetime.now(UTC).isoformat(),
        "ganglion.dev/checkpoint-step": str(step),
        "ganglion.dev/checkpoint-path": f"/ganglion/checkpoints/{step}.pt",
    }
    cluster.patch(path, {"metadata": {"annotations": notes}})


def kept(pod: Object) -> tuple[object, ...]:
    """Where checkpoints lie, by a pod's environment."""
    (container,) = pod["spec"]["containers"]
    env = [each for each in container["env"] if each["name"] == "GANGLION_CHECKPOINT_DIR"]
    mounts = [each for each in container["volumeMounts"] if each["name"] == "checkpoints"]
    volumes = [each for each in pod["spec"]["volumes"] if each["name"] == "checkpoints"]
    assert env
    assert mounts
    assert volumes
    return env, mounts, volumes


@pytest.mark.parametrize(
    ("kind", "teller"), [("Job", ""), ("Job", JOB), ("JobSet", ""), ("JobSet", JOB_SET)]
)
def test_a_preempted_training_goes_on_where_it_saved_and_its_loss_is_measured(
    cluster: Cluster, kind: str, teller: str
) -> None:
    cluster.add_nodes(1, gpus=GPUS)
    heard = Heard()
    with provisioning(cluster), scheduling(cluster, turned=heard) as scheduler:
        heard.source.attach(scheduler)
        with scheduler.read():
            heard.audience.seat(heard.source.took)
        cluster.create(*claims("ck"))
        made(cluster, kind)
        first = cluster.wait(lambda: the_pod(cluster), "the training to run")
        path = f"{PODS}/{first['metadata']['name']}"
        told = teller or path

        def saves() -> bool:
            save(cluster, told, 100)
            return bool(heard.steps())

        cluster.wait(saves, "a checkpoint to be heard")
        assert heard.steps()[-1] == (100, "/ganglion/checkpoints/100.pt")

        notes = {"ganglion.dev/priority": "90"}
        cluster.create(manifests.pod("urgent", gpus=GPUS, annotations=notes))

        def is_told_to_stop() -> bool:
            mirrored(cluster)
            return "deletionTimestamp" in cluster.get(path)["metadata"]

        cluster.wait(is_told_to_stop, "it to be told to stop")
        save(cluster, told, 120)
        cluster.wait_bound(["urgent"])
        # the binding is there a moment before its turn is over and heard
        (end,) = cluster.wait(heard.ends, "its end to be heard")
        assert heard.steps()[-1] == (120, "/ganglion/checkpoints/120.pt")
        saved = [each for each in heard.events if isinstance(each, CheckpointCommitted)][-1]
        assert end.lost_gpu_ms == GPUS * (end.at - saved.at) > 0
        with heard.source.read() as mind:
            trail = mind.book.trails[end.gang]
            assert (trail.preemptions, trail.lost_gpu_ms) == (1, end.lost_gpu_ms)
            assert (trail.saved[0].step, trail.saved[0].path) == heard.steps()[-1]

        cluster.delete(f"{PODS}/urgent")
        uid = first["metadata"]["uid"]

        def another() -> Object | None:
            mirrored(cluster)
            return the_pod(cluster, uid)

        second = cluster.wait(another, "the training to run again")
        assert kept(second) == kept(first)
