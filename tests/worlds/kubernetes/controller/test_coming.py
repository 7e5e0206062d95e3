"""Places are made for the pods of a Job while its controller makes them."""

from datetime import UTC, datetime

from ganglion.worlds.kubernetes.attempts.admit import COMING_MS
from ganglion.worlds.kubernetes.cluster_view.attempt import AttemptStage
from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, Evict, How
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.controller.test_rules import bound
from tests.worlds.kubernetes.controllers import pod_of

JOB = manifests.job("j", count=3, gpus=2, priority=100)
JOB["metadata"]["uid"] = "j-uid"
ASSEMBLE_MS = Settings().assemble_ms


def pods(stage: Stage) -> list[Body]:
    """The pods of the Job, made when the stage has come to now."""
    made = datetime.fromtimestamp(stage.now // 1000, UTC).isoformat().replace("+00:00", "Z")
    found = []
    for index in range(3):
        one = pod_of(JOB, f"j-{index}", JOB["spec"]["template"])
        one["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] = str(index)
        one["metadata"]["creationTimestamp"] = made
        found.append(one)
    return found


def attempt_of(stage: Stage) -> AttemptStage | None:
    found = stage.controller.scene.attempts.by_gang.values()
    return next((each.stage for each in found if "/Job/j/" in each.gang), None)


def test_victims_leave_for_the_first_pod_and_none_is_bound_before_all_are_there() -> None:
    stage = Stage()
    stage.show(manifests.node("n0", gpus=6), JOB, manifests.pod("low", gpus=6))
    stage.turn()
    (bind,) = stage.ordered(Bind)
    stage.turn(BindDone(bind.gang, bind.attempt, {p.pod.uid: (How.BOUND, "") for p in bind.pods}))
    low = manifests.pod("low", gpus=6, nodeName="n0", status={"phase": "Running"})
    stage.show(low)
    stage.turn()
    first, *others = pods(stage)
    stage.show(first)
    stage.turn()
    (evict,) = stage.ordered(Evict)
    assert [each.name for each in evict.pods] == ["low"]
    stage.remove(low)
    stage.turn()
    assert attempt_of(stage) is AttemptStage.ASSEMBLING
    assert not bound(stage)
    stage.show(*others)
    stage.turn()
    assert bound(stage) == {"j-0": "n0", "j-1": "n0", "j-2": "n0"}


def test_the_place_is_given_back_where_the_others_do_not_come_and_is_not_looked_for_again() -> None:
    stage = Stage()
    stage.show(manifests.node("n0", gpus=6), JOB, pods(stage)[0])
    stage.turn()
    assert attempt_of(stage) is AttemptStage.ASSEMBLING
    stage.turn(after_ms=ASSEMBLE_MS)
    stage.show(manifests.pod("other", gpus=6))
    stage.turn()
    assert attempt_of(stage) is None
    assert bound(stage) == {"other": "n0"}


def test_a_job_whose_pods_have_stopped_coming_waits_for_them_and_gets_no_place() -> None:
    stage = Stage()
    early = pods(stage)[0]
    stage.show(manifests.node("n0", gpus=6), JOB, manifests.pod("low", gpus=6, priority=1_000))
    stage.turn()
    stage.show(early)
    stage.turn(after_ms=1)
    gang = next(each for each in stage.controller.scene.gangs.founds if "/Job/j/" in each)
    assert gang not in stage.controller.scene.gangs.complaints
    stage.turn(after_ms=COMING_MS)
    assert stage.controller.scene.gangs.complaints[gang].startswith("1 of 3 pods exist")
    record = stage.controller.scene.record(gang)
    assert record
    assert record.gang.held


def test_a_gang_of_several_sets_is_looked_at_when_a_pod_of_each_is_there() -> None:
    stage = Stage()
    spec = {"template": {"spec": JOB["spec"]["template"]["spec"]}}
    replicas = {"Master": {"replicas": 1, **spec}, "Worker": {"replicas": 2, **spec}}
    owner = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "p", "namespace": "default", "uid": "p-uid"},
        "spec": {"pytorchReplicaSpecs": replicas},
    }

    def made(role: str) -> Body:
        one = pod_of(owner, f"p-{role}-0", spec["template"])
        one["metadata"]["creationTimestamp"] = pods(stage)[0]["metadata"]["creationTimestamp"]
        one["metadata"]["labels"] = {
            "training.kubeflow.org/replica-type": role,
            "training.kubeflow.org/replica-index": "0",
        }
        return one

    stage.show(manifests.node("n0", gpus=6), owner, made("master"))
    stage.turn()
    assert not stage.controller.scene.attempts.by_gang
    stage.show(made("worker"))
    stage.turn()
    (attempt,) = stage.controller.scene.attempts.by_gang.values()
    assert attempt.stage is AttemptStage.ASSEMBLING
