"""Victims that cannot be evicted after all."""

from ganglion.worlds.kubernetes.cluster_view.orders import (
    Bind,
    BindDone,
    Evict,
    EvictBlocked,
    How,
    Nominate,
    Spare,
)
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage


def _pod(name: str, *, priority: int, node: str = "") -> manifests.Object:
    made = manifests.pod(name, gpus=8, priority=priority)
    if node:
        made["spec"]["nodeName"] = node
        made["status"] = {"phase": "Running"}
    return made


def test_a_victim_that_a_budget_keeps_lives_on_and_its_place_is_nobody_elses() -> None:
    stage = Stage(settings=Settings(blocked_ms=30_000))
    stage.show(manifests.node("a"), _pod("low", priority=0))
    stage.turn()
    (bind,) = stage.ordered(Bind)
    stage.show(_pod("low", priority=0, node="a"))
    stage.turn(BindDone(bind.gang, bind.attempt, {bind.pods[0].pod.uid: (How.BOUND, "")}))
    stage.show(_pod("high", priority=100))
    stage.turn()
    (evict,) = stage.ordered(Evict)
    assert stage.ordered(Nominate)
    stage.turn(EvictBlocked(evict.gang, evict.attempt, "no disruption is allowed"))
    assert not stage.ordered(Spare)
    stage.turn(after_ms=31_000)
    (spare,) = stage.ordered(Spare)
    assert spare.gang == evict.gang
    assert [pod.name for pod in spare.pods] == ["low"]
    assert stage.nodes_of(evict.gang) == ["a"]
    assert not stage.ordered(Bind)
