"""Volumes that are made once a node is chosen, and of all pods before any is bound."""

from typing import Any

from ganglion.worlds.kubernetes.cluster_view.orders import (
    Bind,
    BindDone,
    BindVolume,
    ChooseNode,
    How,
)
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.feasibility.volumes import BIND_COMPLETED, SELECTED_NODE
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.feasibility.local import (
    local_claim,
    local_class,
    local_volume,
    reference,
)

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
    (gang,) = (each for each in stage.controller.scene.gangs.founds if "other" not in each)
    assert stage.controller.scene.starts.failures[gang] == 1


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
    (gang,) = stage.controller.scene.gangs.founds
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
    assert not stage.controller.scene.attempts.by_gang
    assert stage.controller.scene.starts.failures[order.gang] == 1


def test_a_pod_that_goes_while_its_volume_is_made_leaves_nothing_behind() -> None:
    stage = staged(1)
    mine = pod("g-0", "data")
    stage.show(claim("data"), mine)
    stage.turn()
    stage.remove(mine)
    stage.show(manifests.pod("other"))
    stage.turn()
    stage.turn(after_ms=60_000)
    assert stage.nodes_of(next(iter(stage.controller.scene.gangs.founds))) == ["n0"]


def test_a_claim_of_a_class_that_is_made_at_once_is_waited_for() -> None:
    stage = staged(1)
    stage.show({**LAZY, "volumeBindingMode": "Immediate"}, claim("data"), pod("g-0", "data"))
    stage.turn()
    assert (told(stage), bound(stage)) == ({}, {})
    stage.show(volume("pv"), claim("data", 2, "pv"))
    stage.turn()
    assert bound(stage) == {"g-0": "n0"}


def local_stage(*volumes: Body, nodes: int = 2) -> Stage:
    """Nodes with two GPUs each, and volumes made by hand."""
    stage = Stage()
    stage.show(local_class(), *(manifests.node(f"n{i}", gpus=2) for i in range(nodes)), *volumes)
    return stage


def waiting(*names: str) -> list[Body]:
    return [local_claim(each, namespace="default") for each in names]


def disk(name: str, node: str, version: int = 1, claim: str = "") -> Body:
    """A volume on one node; one with a claim has it by its UID."""
    claimed = reference(claim, f"uid-{claim}", "default") if claim else {}
    return local_volume(name, node, meta={"resourceVersion": str(version)}, **claimed)


def with_volume(name: str, volume: str) -> Body:
    """A claim that Kubernetes' own controller has bound."""
    body = local_claim(name, namespace="default", volumeName=volume)
    body["metadata"]["annotations"] = {BIND_COMPLETED: "yes"}
    return body


def written(stage: Stage) -> dict[str, str]:
    """Claim -> volume that it is to be written on."""
    return {each.claim.name: each.volume.name for each in stage.ordered(BindVolume)}


def test_a_claim_is_written_on_a_volume_and_its_pod_is_bound_once_it_is_bound() -> None:
    stage = local_stage(disk("v", "n1"))
    stage.show(*waiting("data"), pod("g-0", "data"))
    stage.turn()
    (order,) = stage.ordered(BindVolume)
    assert (order.volume.name, order.volume.version, order.claim.uid) == ("v", "1", "uid-data")
    stage.turn()
    assert (written(stage), bound(stage)) == ({}, {})
    stage.show(disk("v", "n1", 2, "data"))
    stage.turn()
    assert (written(stage), bound(stage)) == ({}, {})
    stage.show(with_volume("data", "v"))
    stage.turn()
    assert (written(stage), bound(stage)) == ({}, {"g-0": "n1"})


def test_a_node_takes_as_many_members_as_it_has_volumes() -> None:
    stage = local_stage(disk("a", "n0"), disk("b", "n1"))
    stage.show(*waiting("x", "y"), pod("g-0", "x", gang=2), pod("g-1", "y", gang=2))
    stage.turn()
    assert sorted(written(stage)) == ["x", "y"]
    assert sorted(written(stage).values()) == ["a", "b"]
    (gang,) = stage.controller.scene.gangs.founds
    assert sorted(stage.nodes_of(gang)) == ["n0", "n1"]


def test_a_gang_with_too_few_volumes_has_none_written() -> None:
    stage = local_stage(disk("a", "n0"))
    stage.show(*waiting("x", "y"), pod("g-0", "x", gang=2), pod("g-1", "y", gang=2))
    stage.turn()
    stage.turn()
    assert (written(stage), stage.controller.scene.attempts.by_gang) == ({}, {})
    stage.show(disk("b", "n0"))
    stage.turn()
    assert sorted(written(stage).values()) == ["a", "b"]


def test_no_pod_of_a_gang_is_bound_before_all_claims_are() -> None:
    stage = local_stage(disk("a", "n0"), disk("b", "n0"))
    stage.show(*waiting("x", "y"), pod("g-0", "x", gang=2), pod("g-1", "y", gang=2))
    stage.turn()
    volume_of = written(stage)
    stage.show(disk(volume_of["x"], "n0", 2, "x"), with_volume("x", volume_of["x"]))
    stage.turn()
    assert not bound(stage)
    stage.show(disk(volume_of["y"], "n0", 2, "y"), with_volume("y", volume_of["y"]))
    stage.turn()
    assert bound(stage) == {"g-0": "n0", "g-1": "n0"}


def test_members_that_share_a_claim_have_it_written_once() -> None:
    stage = local_stage(disk("a", "n0"), disk("b", "n1"))
    stage.show(*waiting("x"), pod("g-0", "x", gang=2), pod("g-1", "x", gang=2))
    stage.turn()
    assert len(stage.ordered(BindVolume)) == 1


def test_gangs_of_one_turn_do_not_get_the_same_volume() -> None:
    stage = local_stage(disk("a", "n0"), nodes=1)
    stage.show(*waiting("x", "y"), pod("g-0", "x"), pod("h-0", "y"))
    stage.turn()
    assert len(stage.ordered(BindVolume)) == 1
    stage.turn()
    assert not stage.ordered(BindVolume)
    stage.show(disk("b", "n0"))
    stage.turn()
    assert list(written(stage).values()) == ["b"]


def test_a_volume_that_another_claim_has_by_now_is_given_up_for_one_beside_it() -> None:
    stage = local_stage(disk("a", "n0"), disk("b", "n0"), nodes=1)
    stage.show(*waiting("x"), pod("g-0", "x"))
    stage.turn()
    assert written(stage) == {"x": "a"}
    stage.show(disk("a", "n0", 2, "of-another"))
    stage.turn()
    assert written(stage) == {"x": "b"}


def test_a_gang_whose_volume_is_lost_to_another_claim_goes_elsewhere() -> None:
    stage = local_stage(disk("a", "n0"), disk("b", "n1"))
    stage.show(*waiting("x"), pod("g-0", "x"))
    stage.turn()
    ((claim, volume),) = written(stage).items()
    node, other = {"a": ("n0", "b"), "b": ("n1", "a")}[volume]
    stage.show(disk(volume, node, 2, "of-another"))
    stage.turn()
    assert not written(stage)
    stage.turn(after_ms=2_000)
    assert written(stage) == {claim: other}


def test_a_volume_that_changed_meanwhile_is_written_again() -> None:
    stage = local_stage(disk("a", "n0"))
    stage.show(*waiting("x"), pod("g-0", "x"))
    stage.turn()
    stage.show(disk("a", "n0", 2))
    stage.turn()
    (order,) = stage.ordered(BindVolume)
    assert order.volume.version == "2"


def test_a_scheduler_that_starts_anew_goes_on_with_the_volume_that_names_the_claim() -> None:
    stage = local_stage(disk("a", "n0"), disk("b", "n2", 2, "x"), disk("c", "n1"), nodes=3)
    stage.show(*waiting("x"), pod("g-0", "x"))
    stage.turn()
    stage.turn()
    (gang,) = stage.controller.scene.gangs.founds
    assert (written(stage), stage.nodes_of(gang)) == ({}, ["n2"])
    stage.show(with_volume("x", "b"))
    stage.turn()
    assert bound(stage) == {"g-0": "n2"}


def test_a_volume_that_people_keep_for_a_claim_gets_its_uid() -> None:
    kept = local_volume("a", "n0", **reference("x", namespace="default"))
    stage = local_stage(kept, disk("b", "n1"))
    stage.show(*waiting("x"), pod("g-0", "x"))
    stage.turn()
    (order,) = stage.ordered(BindVolume)
    assert (order.volume.name, order.volume.is_reserved) == ("a", True)


def test_a_claim_that_was_bound_to_a_volume_elsewhere_gives_the_place_back() -> None:
    stage = local_stage(disk("a", "n0"), disk("b", "n1"))
    stage.show(*waiting("x"), pod("g-0", "x"))
    stage.turn()
    other = {"a": ("b", "n1"), "b": ("a", "n0")}[written(stage)["x"]]
    stage.show(disk(*other, 2, "x"), with_volume("x", other[0]))
    stage.turn()
    assert not bound(stage)
    stage.turn(after_ms=2_000)
    assert bound(stage) == {"g-0": other[1]}


def test_a_volume_that_exists_goes_before_one_that_is_made() -> None:
    stage = local_stage(local_class(provisioner="disks.example.com"), disk("a", "n1"))
    stage.show(*waiting("x"), pod("g-0", "x", nodeSelector={"kubernetes.io/hostname": "n1"}))
    stage.show(*waiting("y"), pod("h-0", "y", nodeSelector={"kubernetes.io/hostname": "n0"}))
    stage.turn()
    assert (written(stage), told(stage)) == ({"x": "a"}, {"y": "n0"})


def test_a_pod_behind_the_gate_goes_where_a_volume_is_and_leaves_it_to_others() -> None:
    stage = local_stage(disk("a", "n1"))
    gated = pod("g-0", "x")
    gated["spec"] |= {
        "schedulerName": "default-scheduler",
        "schedulingGates": [{"name": "ganglion.dev/gate"}],
    }
    stage.show(*waiting("x"), gated)
    stage.turn()
    assert (written(stage), bound(stage)) == ({}, {"g-0": "n1"})
