"""Pods of a gang that is still being made are not told at once what it lacks."""

from ganglion.worlds.kubernetes.cluster_view.orders import Say
from ganglion.worlds.kubernetes.reasons.pod_reasons import FOLLOW_MS
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage

MADE = "1970-01-01T00:16:40Z"
"""When a stage begins."""


def _stage() -> Stage:
    stage = Stage()
    first, _ = manifests.gang("g", 2, gpus=8)
    first["metadata"]["creationTimestamp"] = MADE
    stage.show(manifests.node("n0"), first)
    return stage


def test_pods_of_an_incomplete_gang_are_told_when_no_other_has_followed_for_a_second() -> None:
    stage = _stage()
    stage.turn(after_ms=FOLLOW_MS - 1)
    assert not stage.ordered(Say)
    stage.turn(after_ms=1)
    (said,) = stage.ordered(Say)
    assert [each.name for each in said.pods] == ["g-0"]


def test_a_gang_that_is_complete_is_told_at_once_why_it_waits() -> None:
    stage = _stage()
    second = manifests.gang("g", 2, gpus=8)[1]
    second["metadata"]["creationTimestamp"] = MADE
    stage.show(second)
    stage.turn(after_ms=1)
    (said,) = stage.ordered(Say)
    assert {each.name for each in said.pods} == {"g-0", "g-1"}
