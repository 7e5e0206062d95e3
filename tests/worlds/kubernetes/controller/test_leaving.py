"""Pods that are on their way out when a scheduler starts."""

import pytest

from ganglion.model.causes import sentence
from ganglion.model.queue import Queue
from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, Evict, How
from tests.controlplane import manifests
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.controller.stage import Stage
from tests.worlds.kubernetes.controllers import made_by


@pytest.mark.parametrize("label", markers.QUEUES)
def test_a_pod_that_leaves_is_charged_to_its_queue_whichever_label_names_it(label: str) -> None:
    stage = Stage(queues=(Queue("default"), Queue("team")))
    pod = manifests.pod("p", labels={label: "team"}, nodeName="n0")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    stage.show(manifests.node("n0"), pod)
    stage.turn()
    (record,) = stage.controller.scene.state.gangs.records.values()
    assert record.gang.queue == "team"


def test_the_rest_of_a_gang_that_lost_a_node_leaves_for_nobody() -> None:
    stage = Stage()
    nodes, pods = [manifests.node("a"), manifests.node("b")], manifests.gang("g", 2, gpus=8)
    stage.show(*nodes, *pods)
    stage.turn()
    (bind,) = stage.ordered(Bind)
    where = {each.pod.name: each.node for each in bind.pods}
    for pod in pods:
        pod["spec"]["nodeName"] = where[pod["metadata"]["name"]]
        pod["status"] = {"phase": "Running"}
    stage.show(*pods)
    stage.turn(
        BindDone(bind.gang, bind.attempt, {each.pod.uid: (How.BOUND, "") for each in bind.pods})
    )
    stage.remove(nodes[1])
    stage.turn()
    (evict,) = stage.ordered(Evict)
    assert sentence(evict.cause) == "lost b, and there is no place for those pods alone"
    assert evict.beneficiary == ""


@pytest.mark.parametrize("told", [{}, {"ganglion.dev/devices": "0,1"}])
def test_pods_that_leave_one_node_hold_different_devices(told: dict[str, str]) -> None:
    stage = Stage()
    pods = [manifests.pod("p", gpus=2, nodeName="a")]
    pods.append(manifests.pod("q", gpus=2, nodeName="a", annotations=told))
    for pod in pods:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    stage.show(manifests.node("a", gpus=4), *pods)
    stage.turn()  # checks the invariants
    attempts = stage.controller.scene.attempts.by_gang.values()
    devices = [place.devices for each in attempts for place in each.places.values()]
    assert sorted(devices) == [(0, 1), (2, 3)]


def test_a_pod_that_is_bound_only_while_its_gang_leaves_has_to_leave_too() -> None:
    stage = Stage()
    low = manifests.gang("low", 2, gpus=4)
    stage.show(manifests.node("a", gpus=8), *low)
    stage.turn()
    (bind,) = stage.ordered(Bind)
    first, second = (each | {"spec": each["spec"] | {"nodeName": "a"}} for each in low)
    stage.show(first, *manifests.gang("high", 1, gpus=8, priority=1000))
    stage.turn()
    assert [pod.name for each in stage.ordered(Evict) for pod in each.pods] == ["low-0"]
    stage.show(second)
    answer = {each.pod.uid: (How.BOUND, "") for each in bind.pods}
    stage.turn(BindDone(bind.gang, bind.attempt, answer))
    (late,) = stage.ordered(Evict)
    assert ([pod.name for pod in late.pods], late.beneficiary) == (
        ["low-1"],
        "default/ganglion.dev/gang/high",
    )
    assert not [each for each in stage.turn() if isinstance(each, Evict)]


def test_a_pod_made_later_is_not_bound_where_its_own_rules_forbid_it() -> None:
    stage = Stage()
    app = w.spark("etl", 1)
    app["metadata"] |= {"namespace": "default", "uid": "app"}
    (driver,) = made_by(app)
    driver["metadata"]["uid"] = "driver"
    (executor,) = made_by(driver)
    del driver["executors"]
    stage.show(manifests.node("a"), app, driver)
    stage.turn()
    (bind,) = stage.ordered(Bind)  # the executor has a place, by what the application says
    driver["spec"]["nodeName"], driver["status"] = "a", {"phase": "Running"}
    stage.show(driver)
    stage.turn(BindDone(bind.gang, bind.attempt, {bind.pods[0].pod.uid: (How.BOUND, "")}))
    executor["spec"]["nodeSelector"] = {"zone": "z"}
    stage.show(executor)
    orders = stage.turn()
    assert not [each for each in orders if isinstance(each, Bind)]
    (evict,) = (each for each in orders if isinstance(each, Evict))
    assert [pod.name for pod in evict.pods] == ["etl-driver"]
    assert sentence(evict.cause).endswith(
        "may not run on node a, which was kept for it: wanted: zone is z"
    )
