"""What labels, drivers and settings say of the topology decides where gangs are placed."""

from typing import Any

import pytest

from ganglion.model.events import NodeAdded
from ganglion.model.fleet.levels import Level
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.cluster_view.orders import Bind
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from ganglion.worlds.kubernetes.node_discovery.topology import sources_from
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage

RACK, BLOCK = "topology.kubernetes.io/rack", "topology.kubernetes.io/block"
REQUIRED = names.TOPOLOGY_REQUIRED


def node(number: int, gpus: int = 1, **labels: str) -> Body:
    return manifests.node(f"n{number}", gpus=gpus, labels=labels)


def placed(number: int, rack: str, block: str = "", **more: Any) -> Body:
    return manifests.node(f"n{number}", labels={RACK: rack, BLOCK: block}, gpus=1, **more)


def gang(name: str = "g", size: int = 2, required: str = "", **rest: Any) -> list[Body]:
    notes = {REQUIRED: required} if required else {}
    return manifests.gang(name, size, annotations=notes, **rest)


def bound(stage: Stage) -> set[str]:
    return {pod.node for order in stage.ordered(Bind) for pod in order.pods}


def network_cards(node: str, rack: str) -> Body:
    """What a driver publishes about a node's network cards."""
    attributes = {"gce.dra.net/block": {"string": "b"}, "gce.dra.net/subBlock": {"string": rack}}
    return {
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": "dra.net",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "eth0", "attributes": attributes}],
        },
    }


def reason(stage: Stage) -> str:
    (found,) = stage.controller.scene.gangs.founds
    return stage.controller.scene.gangs.complaints.get(found, "")


def test_a_contradicting_level_is_left_out_for_the_nodes_in_question_and_told_of() -> None:
    stage = Stage()
    stage.show(placed(0, "r1", "b1"), placed(1, "r1", "b2"), placed(2, "r2", "b2"))
    stage.show(placed(3, "r2", "b2"), *gang(required="rack"))
    stage.turn()
    assert bound(stage) == {"n2", "n3"}
    (told,) = stage.controller.scene.sites[""].troubles["topology"]
    assert "rack r1 lies in block b1 (n0) and block b2 (n1)" in told
    assert Level.RACK not in stage.controller.scene.state.fleet.tree.node("n0").domains
    assert stage.controller.scene.state.fleet.tree.node("n0").domains[Level.BLOCK] == "b1"


def test_a_level_counts_again_once_its_labels_are_right() -> None:
    stage = Stage()
    stage.show(placed(0, "r1", "b1"), placed(1, "r1", "b2"), *gang(required="rack"))
    stage.turn()
    assert not bound(stage)
    stage.show(placed(1, "r1", "b1"))
    stage.turn()
    assert bound(stage) == {"n0", "n1"}
    assert "topology" not in stage.controller.scene.sites[""].troubles


def test_a_node_that_goes_settles_the_contradiction_for_those_that_stay() -> None:
    stage = Stage()
    stage.show(placed(0, "r1", "b1"), placed(1, "r1", "b1"), placed(2, "r1", "b2"))
    stage.show(*gang(required="rack"))
    stage.turn()
    assert not bound(stage)
    stage.remove(placed(2, "r1", "b2"))
    stage.turn()
    assert bound(stage) == {"n0", "n1"}


def test_levels_are_read_from_the_labels_that_settings_name() -> None:
    sources = sources_from({"example.com/row": "rack"})
    stage = Stage(settings=Settings(sources=sources))
    for number, row in enumerate(("a", "b", "b")):
        stage.show(manifests.node(f"n{number}", gpus=1, labels={"example.com/row": row}))
    stage.show(*gang(required="rack"))
    stage.turn()
    assert bound(stage) == {"n1", "n2"}


@pytest.mark.parametrize("key", [RACK, BLOCK])
def test_an_annotation_may_name_the_label_instead_of_the_level(key: str) -> None:
    stage = Stage()
    stage.show(placed(0, "r1", "b1"), placed(1, "r2", "b2"), placed(2, "r2", "b2"))
    stage.show(*gang(required=key))
    stage.turn()
    assert bound(stage) == {"n1", "n2"}


def test_a_label_that_no_node_has_is_no_level_until_one_has_it() -> None:
    stage = Stage()
    stage.show(node(0), node(1), *gang(required=RACK))
    stage.turn()
    assert "neither a level nor a topology label" in reason(stage)
    stage.show(placed(0, "r1"), placed(1, "r1"))
    stage.turn()
    assert not reason(stage)
    assert bound(stage) == {"n0", "n1"}


def test_a_zone_may_be_asked_for_before_there_are_nodes() -> None:
    stage = Stage()
    zone = "topology.kubernetes.io/zone"
    stage.show(*gang(required=zone))
    stage.turn()
    assert not reason(stage)
    stage.show(*(manifests.node(f"n{i}", gpus=1, labels={zone: "z"}) for i in range(2)))
    stage.turn()
    assert bound(stage) == {"n0", "n1"}


def test_affinity_to_its_own_kind_is_a_level_of_the_search() -> None:
    stage = Stage()
    term = {"topologyKey": RACK, "labelSelector": {"matchLabels": {"app": "g"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    stage.show(placed(0, "r1"), placed(1, "r2"), placed(2, "r2"))
    stage.show(*gang(labels={"app": "g"}, affinity=near))
    stage.turn()
    assert bound(stage) == {"n1", "n2"}
    (record,) = stage.controller.scene.state.gangs.records.values()
    assert record.gang.pod_sets[0].topology.required is Level.RACK


def test_drivers_of_dynamic_resource_allocation_tell_places_too() -> None:
    stage = Stage()
    stage.show(node(0), node(1), node(2))
    for number, rack in enumerate(("r1", "r2", "r2")):
        stage.show(network_cards(f"n{number}", rack))
    stage.show(*gang(required="rack"))
    stage.turn()
    assert bound(stage) == {"n1", "n2"}
    assert "left to kube-scheduler" in str(stage.controller.scene.sites[""].troubles["node n0"])


def test_a_pod_that_waits_gets_a_device_of_a_type_that_is_new() -> None:
    stage = Stage()
    (pod,) = manifests.gang("g", 1, resource="amd.com/gpu")
    stage.show(node(0), pod)
    stage.turn()
    assert not bound(stage)
    stage.show(manifests.node("n1", gpus=1, resource="amd.com/gpu"))
    stage.turn()
    assert bound(stage) == {"n1"}


def test_a_pod_that_asks_for_whole_devices_never_gets_a_slice_that_came_later() -> None:
    stage = Stage()
    taken = manifests.pod("other", scheduler="default-scheduler", nodeName="n0")
    stage.show(node(0), taken, *gang(size=1))
    stage.turn()
    stage.show(manifests.node("n1", gpus=0, extra={"nvidia.com/mig-1g.5gb": "7"}))
    stage.turn()
    assert not bound(stage)
    stage.remove(taken)
    stage.turn()
    assert bound(stage) == {"n0"}


def test_two_devices_are_never_two_shares_of_one() -> None:
    stage = Stage()
    shared = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
    stage.show(manifests.node("n0", gpus=4, labels=shared))
    stage.show(*gang(name="two", size=1, gpus=2), *gang(name="one", size=1, gpus=1))
    stage.turn()
    assert [pod.pod.name for order in stage.ordered(Bind) for pod in order.pods] == ["one-0"]


@pytest.mark.parametrize("moved", [0, 8])
def test_a_thousand_changed_nodes_are_described_once_each(moved: int) -> None:
    stage = Stage()
    stage.show(*fleet("512Gi"), *gang(required=RACK))
    stage.turn()
    stage.show(*fleet("256Gi", moved))
    stage.turn()
    told = [each for each in stage.controller.scene.facts.taken if isinstance(each, NodeAdded)]
    assert len(told) == len({each.node.name for each in told}) == 1000


def fleet(memory: str, moved: int = 0) -> list[Body]:
    """A thousand nodes, each with a label of its own."""
    return [
        manifests.node(
            f"n{i:04}",
            labels={
                RACK: f"r{(i + moved) // 16}",
                BLOCK: f"b{(i + moved) // 128}",
                "example.com/slot": str(i),
            },
            memory=memory,
        )
        for i in range(1_000)
    ]


def test_only_nodes_that_changed_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.show(*(placed(i, f"r{i // 4}") for i in range(16)))
    stage.turn()
    site, seen = stage.controller.scene.sites[""], list[str]()
    described = site.described

    def count(name: str, ours: Any) -> Any:
        seen.append(name)
        return described(name, ours)

    monkeypatch.setattr(site, "described", count)
    stage.show(placed(3, "r0", cpu="32"))
    stage.turn()
    assert seen == ["n3"]
