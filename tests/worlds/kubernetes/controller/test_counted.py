"""Extended resources that are no GPUs, as network cards: counted by the engine like GPUs."""

from ganglion.worlds.kubernetes.cluster_view.orders import Bind, Evict, Nominate
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage

HCA = "rdma/hca"


def carded(body: Body, cards: int) -> Body:
    for kind in ("requests", "limits"):
        body["spec"]["containers"][0]["resources"][kind][HCA] = str(cards)
    return body


def gang(name: str, size: int, cards: int, **more: object) -> list[Body]:
    return [carded(each, cards) for each in manifests.gang(name, size, **more)]


def bound(stage: Stage) -> list[str]:
    return sorted(pod.pod.name for order in stage.ordered(Bind) for pod in order.pods)


def running(name: str, node: str, cards: int = 0, **more: object) -> Body:
    body = carded(manifests.pod(name, nodeName=node, **more), cards)
    return body | {"status": {"phase": "Running"}}


def test_victims_are_those_that_hold_what_is_short() -> None:
    stage = Stage()
    stage.show(*(manifests.node(name, gpus=8, extra={HCA: "2"}) for name in "ab"))
    stage.show(running("holds", "a", 2, priority=-5), running("plain", "b", priority=-9))
    stage.turn()
    stage.show(*gang("high", 2, 2, priority=10))
    stage.turn()
    assert [pod.name for order in stage.ordered(Evict) for pod in order.pods] == ["holds"]
    (told,) = stage.ordered(Nominate)
    assert sorted(node for _, node in told.nodes) == ["a", "b"]
    stage.remove(running("holds", "a", 2))
    stage.turn()
    assert bound(stage) == ["high-0", "high-1"]


def test_a_promised_card_is_kept_by_a_scheduler_that_takes_over() -> None:
    stage = Stage()
    stage.show(manifests.node("a", gpus=8, extra={HCA: "2"}))
    leaving = running("holds", "a", 2, priority=-5)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (mine,) = gang("high", 1, 2, priority=10)
    mine["status"] = {"nominatedNodeName": "a"}
    stage.show(leaving, mine, carded(manifests.pod("late"), 1))
    stage.turn()
    assert bound(stage) == []
    stage.remove(leaving)
    stage.turn()
    assert bound(stage) == ["high-0"]


def test_what_others_hold_is_gone_and_comes_back() -> None:
    stage = Stage()
    stage.show(manifests.node("a", gpus=8, extra={HCA: "2"}))
    others = running("other", "a", 2, scheduler="default-scheduler")
    stage.show(others, *gang("mine", 1, 1))
    stage.turn()
    assert bound(stage) == []
    stage.remove(others)
    stage.turn()
    assert bound(stage) == ["mine-0"]


def test_nodes_are_told_apart_by_no_resource_that_nobody_asks_for() -> None:
    stage = Stage()
    for number in range(4):
        stage.show(manifests.node(f"n{number}", extra={HCA: str(number)}))
    stage.show(manifests.pod("plain"))
    stage.turn()
    assert (
        len({each.extras.get(HCA) for each in stage.controller.scene.state.fleet.nodes.values()})
        == 1
    )
    stage.show(carded(manifests.pod("asks"), 3))
    stage.turn()
    assert stage.nodes_of(asks_of(stage)) == ["n3"]


def asks_of(stage: Stage) -> str:
    """The gang of the pod that asks for cards."""
    return next(gang for gang in stage.controller.scene.gangs.founds if "asks" in gang)
