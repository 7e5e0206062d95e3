"""One object's nonsense stops one object: all others are decided in the same turn."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ganglion.worlds.kubernetes.attempts import admit
from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, How, Nominate, Note
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.controller_state import describing
from ganglion.worlds.kubernetes.reasons import pod_reasons
from tests.controlplane import manifests
from tests.effort import examples
from tests.worlds.kubernetes.controller import nonsense
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.controller.test_rules import bound, node, reason

AGENT = Settings(device_agent=True)
"""Parts of GPUs are read, not refused for what they are."""

GROUPS = st.lists(
    st.one_of(
        nonsense.pods().map(lambda body: [body]),
        nonsense.owned(),
        nonsense.nodes().map(lambda body: [body]),
    ),
    min_size=1,
    max_size=3,
)


def _owned(kind: str, api_version: str, spec: Body, *pods: Body) -> list[Body]:
    meta = {"name": "odd", "namespace": "default", "uid": "odd-owner"}
    reference = {"apiVersion": api_version, "kind": kind, "name": "odd", "uid": "odd-owner"}
    for each in pods:
        each["metadata"]["ownerReferences"] = [reference | {"controller": True}]
    return [{"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}, *pods]


def _template() -> Body:
    return {"spec": manifests.pod("odd")["spec"]}


def _fraction(text: str) -> list[Body]:
    return [manifests.pod("odd", gpus=0, annotations={"ganglion.dev/gpu-fraction": text})]


def _job() -> list[Body]:
    spec = {"parallelism": 0, "template": _template()}
    return _owned("Job", "batch/v1", spec, manifests.pod("odd"))


def _workers() -> list[Body]:
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 0, "template": _template()}}}
    return _owned("PyTorchJob", "kubeflow.org/v1", spec, manifests.pod("odd"))


def _job_set() -> list[Body]:
    job = {"spec": {"parallelism": 0, "template": _template()}}
    spec = {"replicatedJobs": [{"name": "a", "replicas": 0, "template": job}]}
    return _owned("JobSet", "jobset.x-k8s.io/v1alpha2", spec, manifests.pod("odd"))


NAMED: dict[str, list[Body]] = {
    **{f"fraction {each}": _fraction(each) for each in ("0", "0.0001", "1e-9", "1e99", "9" * 5000)},
    "parallelism 0 beside a waiting pod": _job(),
    "Worker.replicas 0": _workers(),
    "JobSet of 0 x 0": _job_set(),
}


@pytest.mark.parametrize("bodies", NAMED.values(), ids=NAMED)
def test_others_are_bound_in_the_same_turn_and_the_odd_one_says_why(bodies: list[Body]) -> None:
    stage = Stage(settings=AGENT)
    stage.show(node(0), manifests.pod("good"), *bodies)
    stage.turn()
    assert bound(stage) == {"good": "n0"}
    assert reason(stage, "odd")
    assert len(reason(stage, "odd")) < 300


@pytest.mark.parametrize("amount", [2**40, 4_097])
def test_a_node_with_more_gpus_than_any_machine_has_is_closed_and_says_so(amount: int) -> None:
    stage = Stage(settings=AGENT)
    stage.show(node(0), manifests.node("odd", gpus=amount), manifests.pod("good"))
    stage.turn()
    assert bound(stage) == {"good": "n0"}
    (event,) = stage.ordered(Note)
    assert (event.regarding.kind, event.regarding.name, event.warning) == ("Node", "odd", True)
    assert f"got {amount}" in event.message
    assert stage.controller.scene.facts.apart["node", "odd"] in event.message
    stage.turn()
    assert not stage.ordered(Note)  # once
    stage.show(manifests.node("odd", gpus=8))
    stage.turn()
    assert not stage.controller.scene.facts.apart


def test_a_node_in_use_that_starts_to_claim_nonsense_keeps_its_pods() -> None:
    stage = Stage(settings=AGENT)
    stage.show(node(0), manifests.pod("good"))
    stage.turn()
    (order,) = stage.ordered(Bind)
    stage.turn(BindDone(order.gang, order.attempt, {order.pods[0].pod.uid: (How.BOUND, "")}))
    stage.show(manifests.node("n0", gpus=2**40), manifests.pod("next"))
    stage.turn()
    assert stage.nodes_of(order.gang) == ["n0"]
    assert not bound(stage)


def _bound_before(name: str, annotations: dict[str, str]) -> Body:
    notes = {"ganglion.dev/devices": "0", **annotations}
    made = manifests.pod(name, gpus=0, annotations=notes, nodeName="n0")
    made["status"] = {"phase": "Running"}
    return made


def test_a_running_pod_whose_marks_became_nonsense_stops_no_restart_and_keeps_its_gpu() -> None:
    stage = Stage(settings=AGENT)
    odd = _bound_before("odd", {"ganglion.dev/gpu-fraction": "a lot"})
    stage.show(node(0, gpus=1), node(1, gpus=1), odd, manifests.pod("good"))
    stage.turn()
    assert bound(stage) == {"good": "n1"}


def test_pods_of_a_gang_that_share_a_node_and_would_not_now_go_on_after_a_restart() -> None:
    stage = Stage(settings=AGENT)
    apart = {
        "labelSelector": {"matchLabels": {"ganglion.dev/gang": "odd"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    pods = manifests.gang("odd", 2, affinity=affinity, nodeName="n0")
    stage.show(node(0), node(1), *pods, manifests.pod("good"))
    stage.turn()
    assert stage.nodes_of("default/ganglion.dev/gang/odd") == ["n0", "n0"]
    assert bound(stage).keys() == {"good"}


@pytest.mark.parametrize("resource", ["amd.com/gpu", "nvidia.com/mig-1g.5gb"])
def test_a_nomination_to_a_node_without_such_gpus_is_taken_back(resource: str) -> None:
    stage = Stage(settings=AGENT)
    odd = manifests.pod("odd", resource=resource) | {"status": {"nominatedNodeName": "n0"}}
    stage.show(node(0), manifests.pod("good"), odd)
    stage.turn()
    assert bound(stage) == {"good": "n0"}
    (order,) = stage.ordered(Nominate)
    assert [node for _, node in order.nodes] == [""]


def test_sets_of_no_pods_are_left_out_of_a_gang_that_has_others() -> None:
    replicas = {
        "Master": {"replicas": 1, "template": _template()},
        "Worker": {"replicas": 0, "template": _template()},
    }
    labels = {
        "training.kubeflow.org/replica-type": "master",
        "training.kubeflow.org/replica-index": "0",
    }
    master = manifests.pod("odd-master-0", labels=labels)
    bodies = _owned("PyTorchJob", "kubeflow.org/v1", {"pytorchReplicaSpecs": replicas}, master)
    stage = Stage(settings=AGENT)
    stage.show(node(0), *bodies)
    stage.turn()
    assert bound(stage) == {"odd-master-0": "n0"}


def test_a_reason_is_no_longer_than_people_read_whatever_it_repeats() -> None:
    stage = Stage(settings=AGENT)
    stage.show(
        node(0), manifests.pod("odd", annotations={"ganglion.dev/topology-required": "x" * 9_000})
    )
    stage.turn()
    assert len(reason(stage, "odd")) == 500
    assert "topology-required" in reason(stage, "odd")


@settings(max_examples=examples(500, nightly=100_000), suppress_health_check=list(HealthCheck))
@given(GROUPS)
def test_whatever_objects_say_others_are_bound_and_nothing_raises(
    groups: Sequence[list[Body]],
) -> None:
    """The first group is there when the scheduler starts, the others come while it runs."""
    stage = Stage(settings=AGENT)
    stage.show(*(node(number, gpus=8) for number in range(6)), manifests.pod("good"))
    stage.show(*groups[0])
    stage.turn()
    good = bound(stage).get("good")
    answers = [
        BindDone(o.gang, o.attempt, {p.pod.uid: (How.BOUND, "") for p in o.pods})
        for o in stage.ordered(Bind)
    ]
    for group in groups[1:]:
        stage.show(*group)
    stage.show(manifests.pod("late"))
    stage.turn(*answers)
    assert good
    assert "late" in bound(stage)
    for why in stage.controller.scene.facts.apart.values():
        assert 0 < len(why) < 1_000


@pytest.mark.parametrize("place", ["gang", "node", "reason"])
def test_what_fails_over_one_object_is_counted_and_shown_and_all_else_is_decided(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = {"gang": admit, "node": describing, "reason": pod_reasons}[place]
    name = {"gang": "gang_of", "node": "_ours", "reason": "_reasons"}[place]
    original = getattr(module, name)

    def fails(*args: Any, **kwargs: Any) -> Any:
        if any("odd" in str(getattr(each, "key", each)) for each in args):
            raise ZeroDivisionError("no such luck")
        return original(*args, **kwargs)

    monkeypatch.setattr(module, name, fails)
    stage = Stage(settings=Settings(isolate=True, device_agent=True))
    odd = manifests.pod("odd", gpus=99 if place == "reason" else 0)
    stage.show(node(0), manifests.node("odd"), odd, manifests.pod("good"))
    stage.turn()
    assert bound(stage)["good"] == "n0"
    defects = list(stage.controller.plan.defects)
    stage.turn()  # what is found after the plan goes with the next one
    defects += stage.controller.plan.defects
    assert any("no such luck" in each.error for each in defects)
    assert any("no such luck" in why for why in stage.controller.scene.facts.apart.values())


def test_a_gang_that_is_half_bound_in_a_queue_that_is_not_there_is_no_failure_of_ours() -> None:
    stage = Stage(settings=AGENT)
    half, rest = manifests.gang("half", 2, labels={"ganglion.dev/queue": "nowhere"})
    half["spec"]["nodeName"] = "nn"
    stage.show(node("n"), half | {"status": {"phase": "Running"}}, rest, manifests.pod("other"))
    stage.turn()
    assert bound(stage) == {"other": "nn"}
    stage.turn()
    assert "nowhere" in reason(stage, "half")
