"""Volumes that are made once a node is chosen, and of all pods before any is bound."""

from typing import Any

from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, ChooseNode, How
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.feasibility.volumes import BIND_COMPLETED, SELECTED_NODE
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage

LAZY = {
    "kind": "StorageClass",
    "metadata": {"name": "lazy"},
    "provisioner": "disks.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def claim(name: str, version: int = 1, volume: str = "", node: str = "") -> Body:
    notes = {SELECTED_NODE: node} if node else {}
    notes |= {BIND_COMPLETED: "yes"} if volume else {}
    meta = {"name": name, "namespace": "default", "annotations": notes}
    spec = {"storageClassName": "lazy", "volumeName": volume}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {**meta, "resourceVersion": str(version)},
        "spec": spec,
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(name: str) -> Body:
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": {}}


def pod(name: str, *claims: str, gang: int = 1, **rest: Any) -> Body:
    labels = {"ganglion.dev/gang": name.partition("-")[0]}
    notes = {"ganglion.dev/gang-size": str(gang)}
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return manifests.pod(name, labels=labels, annotations=notes, volumes=volumes, **rest)


def staged(nodes: int = 2, settings: Settings | None = None) -> Stage:
    stage = Stage(settings=settings)
    stage.show(LAZY, *(manifests.node(f"n{i}", gpus=1) for i in range(nodes)))
    return stage


def told(stage: Stage) -> dict[str, str]:
    return {each.claim.name: each.node for each in stage.ordered(ChooseNode)}


def bound(stage: Stage) -> dict[str, str]:
    return {p.pod.name: p.node for order in stage.ordered(Bind) for p in order.pods}


def test_a_claim_is_told_the_node_and_its_pod_is_bound_once_it_has_a_volume() -> None:
    stage = staged()
    stage.show(claim("data"), pod("g-0", "data"))
    stage.turn()
    assert (told(stage), bound(stage)) == ({"data": "n0"}, {})
    stage.turn()
    assert (told(stage), bound(stage)) == ({}, {})
    stage.show(claim("data", 2, node="n0"))
    stage.turn()
    assert (told(stage), bound(stage)) == ({}, {})
    stage.show(volume("pv"), claim("data", 3, "pv", "n0"))
    stage.turn()
    assert (told(stage), bound(stage)) == ({}, {"g-0": "n0"})


def test_no_pod_of_a_gang_is_bound_before_all_volumes_are_there() -> None:
    stage = staged()
    stage.show(claim("a"), claim("b"), pod("g-0", "a", gang=2), pod("g-1", "b", gang=2))
    stage.turn()
    assert told(stage).keys() == {"a", "b"}
    nodes = told(stage)
    stage.show(volume("pv-a"), claim("a", 2, "pv-a", nodes["a"]), claim("b", 2, node=nodes["b"]))
    stage.turn()
    assert not bound(stage)
    stage.show(volume("pv-b"), claim("b", 3, "pv-b", nodes["b"]))
    stage.turn()
    assert bound(stage) == {"g-0": nodes["a"], "g-1": nodes["b"]}


def test_a_volume_that_cannot_be_made_is_made_elsewhere() -> None:
    stage = staged()
    stage.show(claim("data"), pod("g-0", "data"))
    stage.turn()
    stage.show(claim("data", 2, node="n0"))
    stage.turn()
    stage.show(claim("data", 3))
    stage.turn()
    assert not told(stage)
    stage.turn(after_ms=2_000)
    assert told(stage) == {"data": "n1"}


def test_a_node_is_tried_again_when_there_is_no_other() -> None:
    stage = staged(1, Settings(quarantine_ms=60_000))
    stage.show(claim("data"), pod("g-0", "data"))
    stage.turn()
    stage.show(claim("data", 2, node="n0"))
    stage.turn()
    stage.show(claim("data", 3))
    stage.turn()
    stage.turn(after_ms=5_000)
    assert not told(stage)
    stage.turn(after_ms=60_000)
    stage.turn()
    assert told(stage) == {"data": "n0"}


def test_a_volume_that_takes_too_long_gives_the_place_back() -> None:
    stage = staged(1, Settings(provision_ms=30_000))
    stage.show(claim("data"), pod("g-0", "data"))
    stage.turn()
    stage.show(claim("data", 2, node="n0"), manifests.pod("other"))
    stage.turn()
    assert not bound(stage)
    stage.turn(after_ms=31_000)
    stage.turn(after_ms=10)
    assert "g-0" not in bound(stage)
    (gang,) = (each for each in stage.controller.scene.founds if "other" not in each)
    assert stage.controller.scene.failures[gang] == 1


def test_a_claim_that_changed_meanwhile_is_told_again() -> None:
    stage = staged(1)
    stage.show(claim("data"), pod("g-0", "data"))
    stage.turn()
    stage.show(claim("data", 2))
    stage.turn()
    (order,) = stage.ordered(ChooseNode)
    assert order.claim.version == "2"


def test_a_scheduler_that_starts_anew_goes_on_with_the_node_that_was_named() -> None:
    stage = staged(3)
    stage.show(claim("data", 2, node="n2"), pod("g-0", "data"))
    stage.turn()
    stage.turn()
    assert (told(stage), bound(stage)) == ({}, {})
    (gang,) = stage.controller.scene.founds
    assert stage.nodes_of(gang) == ["n2"]
    stage.show(volume("pv"), claim("data", 3, "pv", "n2"))
    stage.turn()
    assert bound(stage) == {"g-0": "n2"}


def test_a_refusal_of_the_server_gives_the_place_back() -> None:
    stage = staged(1)
    stage.show(claim("data"), pod("g-0", "data"))
    stage.turn()
    (order,) = stage.ordered(ChooseNode)
    refused = {order.pod.uid: (How.REFUSED, "forbidden")}
    stage.turn(BindDone(order.gang, order.attempt, refused), after_ms=10)
    assert not stage.controller.scene.attempts
    assert stage.controller.scene.failures[order.gang] == 1


def test_a_pod_that_goes_while_its_volume_is_made_leaves_nothing_behind() -> None:
    stage = staged(1)
    mine = pod("g-0", "data")
    stage.show(claim("data"), mine)
    stage.turn()
    stage.remove(mine)
    stage.show(manifests.pod("other"))
    stage.turn()
    stage.turn(after_ms=60_000)
    assert stage.nodes_of(next(iter(stage.controller.scene.founds))) == ["n0"]


def test_a_claim_of_a_class_that_is_made_at_once_is_waited_for() -> None:
    stage = staged(1)
    stage.show({**LAZY, "volumeBindingMode": "Immediate"}, claim("data"), pod("g-0", "data"))
    stage.turn()
    assert (told(stage), bound(stage)) == ({}, {})
    stage.show(volume("pv"), claim("data", 2, "pv"))
    stage.turn()
    assert bound(stage) == {"g-0": "n0"}
