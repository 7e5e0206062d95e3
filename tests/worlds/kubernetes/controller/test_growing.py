"""Pods that a controller adds to a running elastic gang are bound without a wait."""

from typing import Any

import pytest

from ganglion.engine.upkeep import grow
from ganglion.engine.upkeep.grow_slice import place_beside
from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, Evict, How
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage

GROUP = {"kind": "PodGroup", "apiVersion": "scheduling.x-k8s.io/v1alpha1"}


def pod(number: int, name: str = "g") -> Body:
    return manifests.pod(f"{name}-{number}", labels={"scheduling.x-k8s.io/pod-group": name})


def group(name: str = "g") -> Body:
    meta = {"name": name, "namespace": "default", "uid": f"group-{name}"}
    return GROUP | {"metadata": meta, "spec": {"minMember": 1}}


def obey(stage: Stage) -> list[str]:
    """Carry bindings out: the pods run in the next turn; their names."""
    orders, names = stage.ordered(Bind), []
    for order in orders:
        for each in order.pods:
            found = next(iter(stage.controller.sites.values())).pods[each.pod.uid]
            body = manifests.pod(each.pod.name, labels=dict(found.metadata.labels))
            body["spec"]["nodeName"] = each.node
            body["status"] = {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
            }
            stage.show(body)
            names.append(each.pod.name)
    done = ({each.pod.uid: (How.BOUND, "") for each in order.pods} for order in orders)
    stage.turn(*(BindDone(o.gang, o.attempt, d) for o, d in zip(orders, done, strict=True)))
    return names


def running(stage: Stage, most: int = 8) -> None:
    """A gang of one pod runs on a node with room for `most`."""
    stage.show(manifests.node("a", gpus=most), group(), pod(0))
    stage.turn()
    assert obey(stage) == ["g-0"]


def test_each_pod_that_is_added_is_bound_in_the_next_turn() -> None:
    stage = Stage()
    running(stage)
    for number in range(1, 5):
        stage.show(pod(number))
        stage.turn()
        assert obey(stage) == [f"g-{number}"], "not held for the rest of the last growth"


def test_one_pod_joins_a_gang_however_large_it_is() -> None:
    stage = Stage()
    stage.show(*(manifests.node(name, gpus=50) for name in "ab"), group(), *map(pod, range(80)))
    stage.turn()
    assert len(obey(stage)) == 80
    stage.show(pod(80))
    stage.turn()
    assert obey(stage) == ["g-80"], "nobody starts over for it"


def test_a_gang_that_gave_pods_back_does_not_take_them_again_at_once() -> None:
    stage = Stage()
    running(stage, 4)
    stage.show(*map(pod, range(1, 4)))
    stage.turn()
    assert len(obey(stage)) == 3
    stage.show(manifests.pod("rival", gpus=2, priority=100))
    stage.turn()
    gone = [each for order in stage.ordered(Evict) for each in order.pods]
    assert len(gone) == 2
    for each in gone:
        stage.remove(manifests.pod(each.name))
    stage.turn()
    assert obey(stage) == ["rival"]
    stage.show(*(pod(number) for number in (8, 9)), manifests.node("b", gpus=4))
    stage.turn()
    assert obey(stage) == []
    stage.turn(after_ms=60_000)
    assert sorted(obey(stage)) == ["g-8", "g-9"]


def test_a_flood_of_pods_is_one_resize_a_turn_and_no_look_is_made_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []

    def counted(*arguments: Any) -> Any:
        looks.append(1)
        return place_beside(*arguments)

    monkeypatch.setattr(grow, "place_beside", counted)
    stage = Stage()
    running(stage)
    looks.clear()
    for burst in range(10):
        stage.show(*(pod(1 + 100 * burst + number) for number in range(100)))
        stage.turn()
        assert len(stage.ordered(Bind)) == (not burst)
        obey(stage)
    assert len(looks) <= 8, "1,000 pods; 7 find a GPU, and the full node is seen by arithmetic"
