"""A scheduler that starts charges what runs, and what is leaving, to the queue that is named."""

from typing import Any

import pytest

from ganglion.model.queue import Queue
from ganglion.worlds.kubernetes import markers, names
from ganglion.worlds.kubernetes.attempts.recover import LEAVING
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage

Body = dict[str, Any]
QUEUES = tuple(Queue(each) for each in ("default", "research", "home"))
LATER = "2026-01-01T00:00:00Z"
KAI_GROUP = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup"}


def job(labels: dict[str, str], annotations: dict[str, str] | None = None) -> Body:
    meta = {"name": "j", "namespace": "default", "uid": "j", "labels": labels}
    spec = {"parallelism": 1, "completions": 1}
    body: Body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
    return body | {"metadata": meta | {"annotations": annotations or {}}, "status": {}}


def pod(*, leaves: bool, owned: bool = True, **more: Any) -> Body:
    """A pod that holds a GPU."""
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    body = manifests.pod("x", owner=ref if owned else None, nodeName="node-0", **more)
    leaving = {"deletionTimestamp": LATER} if leaves else {}
    meta = {**body["metadata"], "uid": "x", **leaving}
    return body | {"metadata": meta, "status": {"phase": "Running"}}


def charged(*bodies: Body, home: str = "", default: str = "default") -> list[str]:
    """Queues of the gangs that hold devices once a scheduler has taken over what is shown."""
    stage = Stage(queues=QUEUES, settings=Settings(default_queue=default))
    labels = {names.QUEUE: home} if home else {}
    meta = {"name": "default", "labels": labels}
    stage.show({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    stage.show(manifests.node("node-0"), *bodies)
    stage.turn()
    state = stage.controller.scene.state
    return [each.gang.queue for each in state.gangs.records.values() if each.placement]


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("key", markers.QUEUES)
def test_every_label_is_read_on_the_pod_and_on_its_owner(key: str, leaves: bool) -> None:
    named = {key: "research"}
    bare = pod(leaves=leaves)
    assert charged(job({}), pod(leaves=leaves, labels=named), home="home") == ["research"]
    assert charged(job({}), pod(leaves=leaves, annotations=named), home="home") == ["research"]
    assert charged(job(named), bare, home="home") == ["research"]
    assert charged(job({}, named), bare, home="home") == ["research"]
    both = charged(job({key: "home"}), pod(leaves=leaves, labels=named))
    assert both == ["research"]


@pytest.mark.parametrize("leaves", [False, True])
def test_what_names_none_has_the_queue_of_its_namespace_then_the_default(leaves: bool) -> None:
    bare = pod(leaves=leaves)
    assert charged(job({}), bare, home="home", default="") == ["home"]
    assert charged(job({}), bare) == ["default"]
    assert charged(pod(leaves=leaves, owned=False), home="home") == ["home"]


@pytest.mark.parametrize("leaves", [False, True])
def test_the_group_of_a_pod_names_its_queue(leaves: bool) -> None:
    meta = {"name": "g", "namespace": "default", "uid": "g"}
    group = KAI_GROUP | {"metadata": meta, "spec": {"queue": "research", "minMember": 1}}
    marked = pod(leaves=leaves, owned=False, annotations={markers.KAI: "g"})
    assert charged(group, marked, home="home") == ["research"]


def test_what_made_a_pod_that_leaves_is_looked_for() -> None:
    stage = Stage(queues=QUEUES)
    ours = pod(leaves=True)
    stage.show(manifests.node("node-0"), ours)
    assert {str(each) for each in stage.controller.wanted_owners("")} == {"Job default/j"}
    stage.show(job({names.KUEUE_QUEUE: "research"}))
    assert stage.controller.wanted_owners("") == set()
    stage.turn()
    record = stage.controller.scene.record(f"{LEAVING}x")
    assert record
    assert record.gang.queue == "research"
    stage.remove(ours, job({}))
    stage.turn()
    assert stage.controller.wanted_owners("") == set()


def test_a_pod_that_leaves_is_not_charged_to_a_queue_with_queues_under_it() -> None:
    stage = Stage(queues=(Queue("acme"), Queue("research", parent="acme")))
    stage.show(manifests.node("node-0"))
    stage.show(pod(leaves=True, owned=False, labels={names.QUEUE: "acme"}))
    stage.turn()
    assert "x" not in stage.controller.scene.attempts.seated
