"""Gangs go to nodes that hold their images already, among nodes that are equal otherwise."""

from typing import Any

import pytest

from ganglion.model.fleet.images import full_name
from ganglion.worlds.kubernetes.cluster_view import images
from ganglion.worlds.kubernetes.cluster_view.images import HeldImages, images_of
from ganglion.worlds.kubernetes.types.node import Node, NodeImage, NodeStatus
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.controller.test_rules import bound, settled

TRAIN = "docker.io/team/train:1"
SIZE = 12 << 30
SAID = f"n1 holds {TRAIN}: about 96 s saved"


def image(*names: str, size: int = SIZE) -> Body:
    return {"names": [*names], "sizeBytes": size}


def node(name: str, *held: Body) -> Body:
    body: dict[str, Any] = manifests.node(name)
    body["status"]["images"] = [*held, {"names": None, "sizeBytes": 5}]
    return body


def pod(name: str, of: str = "team/train:1", **more: Any) -> Body:
    body: dict[str, Any] = manifests.pod(name, **more)
    body["spec"]["containers"][0]["image"] = of
    return body


def held(stage: Stage, name: str) -> list[str]:
    (gang,) = (g for g, f in stage.controller.scene.gangs.founds.items() if f.name == name)
    record = stage.controller.scene.record(gang)
    assert record
    assert record.placement
    return [str(each) for each in record.placement.held]


def test_of_equal_nodes_a_pod_gets_the_one_that_holds_its_image() -> None:
    stage = Stage()
    stage.show(node("n0"), node("n1", image(TRAIN, f"{TRAIN}@sha256:0")), node("n2"))
    stage.show(pod("p"))
    stage.turn()
    assert bound(stage) == {"p": "n1"}
    assert held(stage, "p") == [SAID]


def test_a_fuller_node_goes_first() -> None:
    stage = Stage()
    stage.show(node("n0"), node("n1", image(TRAIN)), settled("other", "n0", gpus=3))
    stage.show(pod("p"))
    stage.turn()
    assert bound(stage) == {"p": "n0"}
    assert held(stage, "p") == []


def test_only_images_that_gangs_run_are_known_of_nodes_and_news_of_them_cost_little() -> None:
    stage = Stage()
    stage.show(node("n0", image("docker.io/other:1")), node("n1"))
    stage.show(pod("large", gpus=16))  # waits
    stage.turn()
    state = stage.controller.scene.state
    assert [each.holds for each in state.fleet.nodes.values()] == [{}, {}]
    before = state.fleet.tree.version
    stage.show(node("n1", image(TRAIN)))
    stage.turn()
    assert state.fleet.tree.node("n1").holds == {TRAIN: SIZE >> 20}
    assert state.fleet.tree.version == before
    stage.show(pod("p"))
    stage.turn()
    assert bound(stage) == {"p": "n1"}


def test_images_that_no_gang_has_asked_for_longest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(images, "MOST", 2)
    listed = tuple(NodeImage((f"x/{name}",), 1 << 20) for name in "abc")
    nodes = {"n": Node(status=NodeStatus(images=listed)), "m": Node()}
    changed = set[str]()
    known = HeldImages(nodes, changed)
    known.want(("x/a", "x/gone"))
    known.settle()
    assert (changed, known.on("n"), known.on("m")) == ({"n"}, {"x/a": 1}, {})
    changed.clear()
    known.want(("x/a",))
    known.settle()
    assert changed == set()
    known.want(("x/b",))
    assert known.on("n") == {"x/a": 1, "x/b": 1}
    known.want(("x/c",))
    assert known.on("n") == {"x/b": 1, "x/c": 1}


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("team/train:1", TRAIN),
        ("reg.example:5000/a/b", "reg.example:5000/a/b:latest"),
        ("localhost/a:2", "localhost/a:2"),
        ("reg.example/a:1@sha256:0", "reg.example/a@sha256:0"),
        ("nginx@sha256:0", "docker.io/library/nginx@sha256:0"),
    ],
)
def test_an_image_is_called_what_kubelets_call_it(written: str, full: str) -> None:
    assert full_name(written) == full


def test_images_of_pods_are_each_named_once() -> None:
    stage = Stage()
    stage.show(pod("p"), pod("q"), pod("r", "none"))
    pods = stage.controller.scene.sites[""].pods.values()
    assert images_of(pods) == (TRAIN, "docker.io/library/none:latest")
