"""A preemption that another scheduler had begun is found again in what it wrote."""

from typing import Any

import pytest

from ganglion.worlds.kubernetes.cluster_view.orders import Evict, Nominate, Spare, Unsuspend
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage

SUSPENDED_FOR = "ganglion.dev/suspended-for"
ASKER = "default/ganglion.dev/gang/asker"
MARK = "ganglion.dev/victim-of"
NODES = 2


def _stage(suspended: int, nominated: int, asker: int = NODES) -> Stage:
    """Jobs on every node, some suspended for a gang, of which a number of pods say where."""
    stage = Stage()
    stage.show(*(manifests.node(f"node-{i}") for i in range(NODES)))
    for i in range(NODES):
        stage.show(*_job(f"old-{i}", f"node-{i}", is_suspended=i < suspended))
    pods = manifests.gang("asker", asker, gpus=8, priority=1000) if asker else []
    for i, pod in enumerate(pods[:nominated]):
        pod["status"] = {"nominatedNodeName": f"node-{i}"}
    stage.show(*pods)
    stage.turn()
    return stage


def _job(name: str, node: str, *, is_suspended: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    meta: dict[str, Any] = {"name": name, "namespace": "default", "uid": name}
    if is_suspended:
        meta["annotations"] = {SUSPENDED_FOR: ASKER}
    spec = {"parallelism": 1, "completions": 1, "suspend": is_suspended}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec, "status": {}}
    owner: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name}
    owner["controller"] = True
    pod = manifests.pod(f"{name}-x", gpus=8, owner=owner, labels={"job-name": name}, nodeName=node)
    return job, pod | {"status": {"phase": "Running"}}


def test_pods_of_an_owner_that_is_suspended_for_a_gang_go_on_leaving_for_it() -> None:
    stage = _stage(suspended=NODES, nominated=NODES)
    found = {each.owner.name: each.beneficiary for each in stage.ordered(Evict) if each.owner}
    assert found == dict.fromkeys(("old-0", "old-1"), ASKER)
    assert not stage.ordered(Nominate)
    assert not stage.ordered(Unsuspend)


def test_victims_that_were_not_suspended_yet_are_chosen_again() -> None:
    stage = _stage(suspended=1, nominated=NODES)
    assert {each.owner.name for each in stage.ordered(Evict) if each.owner} == {"old-0", "old-1"}


def test_an_owner_that_is_suspended_for_a_gang_that_is_gone_goes_on() -> None:
    stage = _stage(suspended=NODES, nominated=0, asker=0)
    assert [each.owner.name for each in stage.ordered(Unsuspend)] == ["old-0", "old-1"]
    assert not stage.ordered(Evict)
    assert not stage.ordered(Spare)


def _marked(pod: dict[str, Any], asker: str = ASKER) -> dict[str, Any]:
    """A pod that runs and was marked as a victim for a gang."""
    meta = {**pod["metadata"], "annotations": {**pod["metadata"]["annotations"], MARK: asker}}
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    return pod | {"metadata": meta, "status": {"phase": "Running", "conditions": [condition]}}


def _spared(stage: Stage) -> list[str]:
    return [pod.name for order in stage.ordered(Spare) for pod in order.pods]


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_no_pod_stays_marked_for_a_gang_that_is_gone(bound: int) -> None:
    """Some pods of the victim had left, and were made anew, when the scheduler was killed."""
    stage = Stage()
    stage.show(*(manifests.node(f"node-{i}") for i in range(NODES)))
    pods = manifests.gang("victim", 3, gpus=1)
    for pod in pods[:bound]:
        pod["spec"]["nodeName"] = "node-0"
    stage.show(*map(_marked, pods[:bound]), *pods[bound:])
    stage.turn()
    assert sorted(_spared(stage)) == [f"victim-{i}" for i in range(bound)]
    assert not stage.ordered(Evict)


def test_a_marked_pod_that_cannot_be_taken_over_is_spared() -> None:
    stage = Stage()
    stage.show(manifests.node("node-0"))
    labels = {"ganglion.dev/queue": "unknown"}
    stage.show(_marked(manifests.pod("victim", gpus=1, labels=labels, nodeName="node-0")))
    stage.turn()
    assert _spared(stage) == ["victim"]
