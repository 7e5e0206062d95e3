"""What pods say while they wait, and when."""

from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, How, Note, Say
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


def test_a_pod_whose_binding_was_refused_says_so_while_it_waits_for_the_next_try() -> None:
    stage = Stage()
    stage.show(manifests.node("n0"), manifests.pod("p", namespace="kube-system"))
    stage.turn()
    (order,) = stage.ordered(Bind)
    refused = {each.pod.uid: (How.REFUSED, "a policy denies it") for each in order.pods}
    stage.turn(BindDone(order.gang, order.attempt, refused))
    (said,), (event,) = stage.ordered(Say), stage.ordered(Note)
    assert [each.name for each in said.pods] == ["p"]
    assert said.message.startswith("policy: it backs off before the next attempt")
    assert said.message.endswith("last time: could not be bound: a policy denies it")
    assert (event.reason, event.message) == ("FailedScheduling", said.message)


def test_a_pod_that_takes_the_place_of_another_is_told_what_that_was_told() -> None:
    stage = Stage()
    first, second = manifests.gang("g", 2, gpus=8)
    stage.show(manifests.node("n0"), first, second)
    stage.turn()
    (said,) = stage.ordered(Say)
    assert [each.name for each in said.pods] == ["g-0", "g-1"]
    stage.turn()
    assert not stage.ordered(Say)
    stage.remove(second)
    other = {**second, "metadata": {**second["metadata"], "name": "g-2"}}
    stage.show(other)
    stage.turn()
    (again,) = stage.ordered(Say)
    assert ([each.name for each in again.pods], again.message) == (["g-2"], said.message)
