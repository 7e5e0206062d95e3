"""Owners of victims go on once the gang that they left for runs, or after a while."""

from typing import Any

import pytest

from ganglion.model.errors import InvariantBroken
from ganglion.worlds.kubernetes.attempts.resume import HOLD_MS
from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, Evict, How, Unsuspend
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage

VICTIMS = 3
SUSPENDED_FOR = "ganglion.dev/suspended-for"


class _Story:
    """Jobs on every node, and an urgent gang for which all of them leave one after the other."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.jobs = [_job(f"old-{i}") for i in range(VICTIMS)]
        self.pods = [_pod_of(job, f"node-{i}") for i, job in enumerate(self.jobs)]
        nodes = [manifests.node(f"node-{i}") for i in range(VICTIMS)]
        self.stage.show(*nodes, *self.jobs, *self.pods)
        self.stage.turn()
        asker = manifests.gang("asker", VICTIMS, gpus=8, priority=1000)
        self.asker = {each["metadata"]["name"]: each for each in asker}
        self.stage.show(*asker)
        self.stage.turn()
        self.evicted = self.stage.ordered(Evict)
        assert len(self.evicted) == VICTIMS

    def suspend(self) -> None:
        for job, order in zip(self.jobs, self.evicted, strict=True):
            job["spec"]["suspend"] = True
            job["metadata"]["annotations"] = {SUSPENDED_FOR: order.beneficiary}
            self.stage.show(job)

    def leave(self, count: int, after_ms: int = 10) -> list[str]:
        """This number of pods is gone; the Jobs that are resumed."""
        self.stage.remove(*self.pods[:count])
        self.pods = self.pods[count:]
        return self.pass_(after_ms)

    def pass_(self, after_ms: int) -> list[str]:
        self.stage.turn(after_ms=after_ms)
        return [each.owner.name for each in self.stage.ordered(Unsuspend)]


def _job(name: str) -> dict[str, Any]:
    spec = {"parallelism": 1, "completions": 1, "suspend": False}
    meta = {"name": name, "namespace": "default", "uid": name}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec, "status": {}}


def _pod_of(job: dict[str, Any], node: str) -> dict[str, Any]:
    name = job["metadata"]["name"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name}
    labels = {"job-name": name}
    owner |= {"controller": True}
    pod = manifests.pod(f"{name}-x", gpus=8, owner=owner, labels=labels, nodeName=node)
    return pod | {"status": {"phase": "Running"}}


def test_owners_of_victims_wait_until_the_gang_that_they_left_for_is_bound() -> None:
    story = _Story()
    story.suspend()
    assert story.leave(1) == []
    assert story.leave(VICTIMS - 1) == []
    (bind,) = story.stage.ordered(Bind)
    for each in bind.pods:
        pod = story.asker[each.pod.name]
        pod["spec"]["nodeName"] = each.node
        story.stage.show(pod)
    done = {each.pod.uid: (How.BOUND, "") for each in bind.pods}
    story.stage.turn(BindDone(bind.gang, bind.attempt, done), after_ms=10)
    told = [each.owner.name for each in story.stage.ordered(Unsuspend)]
    assert told == [f"old-{i}" for i in range(VICTIMS)]


def test_an_owner_waits_no_longer_than_it_is_held_for_those_that_stay() -> None:
    story = _Story()
    story.suspend()
    assert story.leave(1) == []
    assert story.pass_(HOLD_MS - 10) == []
    assert story.pass_(10) == ["old-0"]


def test_nothing_is_remembered_of_an_owner_that_is_not_suspended() -> None:
    story = _Story()
    story.suspend()
    assert story.leave(1) == []
    story.jobs[0]["spec"]["suspend"] = False  # by a person; the others still wait
    story.jobs[0]["metadata"]["annotations"] = {}
    story.stage.show(story.jobs[0])
    assert story.pass_(10) == []
    scene = story.stage.controller.scene
    assert {uid for site in scene.sites.values() for uid in site.suspended} == {"old-1", "old-2"}
    suspended = story.stage.controller._suspended
    suspended._emptied["old-0"] = 1
    with pytest.raises(InvariantBroken, match="old-0"):
        story.stage.controller.validate()


def test_owners_go_on_at_once_where_the_gang_that_they_left_for_is_gone() -> None:
    story = _Story()
    story.suspend()
    assert story.leave(2) == []
    story.stage.remove(*story.asker.values())
    assert set(story.pass_(10)) >= {"old-0", "old-1"}
