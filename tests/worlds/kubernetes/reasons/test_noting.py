"""Events about gangs: one for each, when something happens to it, and not again."""

from typing import Any

from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, How, Note
from ganglion.worlds.kubernetes.reasons.noting import spread_over
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Stage


def noted(stage: Stage, reason: str) -> list[tuple[str, str]]:
    found = [each for each in stage.ordered(Note) if each.reason == reason]
    return [(each.regarding.name, each.message) for each in found]


def bind(stage: Stage) -> None:
    """Let what was ordered be done."""
    answers = [
        BindDone(each.gang, each.attempt, {p.pod.uid: (How.BOUND, "") for p in each.pods})
        for each in stage.ordered(Bind)
    ]
    stage.turn(*answers)


def gang(name: str, size: int, **more: Any) -> list[dict[str, Any]]:
    return manifests.gang(name, size, **more)


def test_a_gang_that_is_bound_says_so_once() -> None:
    stage = Stage()
    stage.show(*(manifests.node(f"n{number}", gpus=2) for number in range(2)))
    stage.show(*gang("train", 4))
    stage.turn()
    assert noted(stage, "Scheduled") == []
    bind(stage)
    assert noted(stage, "Scheduled") == [("train-0", "4 pods on n0, n1")]
    stage.turn()
    assert noted(stage, "Scheduled") == []


def test_a_gang_that_was_found_running_is_no_news() -> None:
    stage = Stage()
    stage.show(manifests.node("n0", gpus=4))
    stage.show(*gang("train", 2, nodeName="n0"))
    stage.turn()
    stage.turn()
    assert stage.controller.scene.attempts.by_gang
    assert noted(stage, "Scheduled") == []


def test_a_gang_that_waits_says_why_once_for_each_sort_of_reason() -> None:
    stage = Stage()
    stage.show(manifests.node("n0", gpus=1))
    stage.show(*gang("train", 2))
    stage.turn()
    ((about, message),) = noted(stage, "FailedScheduling")
    assert about == "train-0"
    assert message.startswith("capacity: ")
    for _ in range(3):
        stage.turn(after_ms=400_000)
        assert noted(stage, "FailedScheduling") == []
    stage.remove(manifests.gang("train", 2)[1])
    seen: list[tuple[str, str]] = []
    for _ in range(3):
        stage.turn()
        seen += noted(stage, "FailedScheduling")
    assert [message for _, message in seen] == ["1 of 2 pods exist"]


def test_few_nodes_are_named_and_many_are_counted() -> None:
    assert spread_over(["n1"]) == "1 pod on n1"
    assert spread_over([f"n{each}" for each in range(5)] * 2) == "10 pods on n0, n1, n2 and 2 more"
