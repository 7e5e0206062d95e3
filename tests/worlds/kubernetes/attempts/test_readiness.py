"""Gangs that never become ready give their place back, and say which container kept them."""

import pytest

from ganglion.worlds.kubernetes.attempts.readiness import STEADY_MS, SUSPECT_MS
from ganglion.worlds.kubernetes.cluster_view.orders import Bind, BindDone, Evict, How, Note, Say
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.controller.test_rules import reason

LIMIT_MS = 15 * 60_000
PULL = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
CRASH = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
ENDED = {"terminated": {"reason": "Error", "exitCode": 137}}


def _job(name: str = "job", namespace: str = "default", **notes: str) -> Body:
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "annotations": notes}
    spec = {"parallelism": 2, "template": {"spec": manifests.pod("x")["spec"]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def _pods(
    name: str = "job", namespace: str = "default", count: int = 2, again: str = ""
) -> list[Body]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"uid-{name}"}
    return [
        manifests.pod(
            f"{name}-{n}{again}", namespace=namespace, gpus=8, owner=owner | {"controller": True}
        )
        for n in range(count)
    ]


def _status(state: Body | None, last: Body | None = None) -> Body:
    ready = {"type": "Ready", "status": "False" if state else "True"}
    container = {"name": "main", "state": state or {"running": {}}, "lastState": last or {}}
    phase = "Pending" if state is PULL else "Running"
    return {"phase": phase, "conditions": [ready], "containerStatuses": [container]}


class Play:
    """Pods of one gang, as they are bound and as their kubelets say they are."""

    def __init__(self, stage: Stage, pods: list[Body]) -> None:
        self.stage, self.pods = stage, pods
        self.nodes: dict[str, str] = {}

    def bind(self) -> None:
        """All of them are bound where the scheduler said."""
        orders = self.stage.ordered(Bind)
        self.nodes = {each.pod.name: each.node for order in orders for each in order.pods}
        self.say(*[PULL] * len(self.pods))
        done = ({p.pod.uid: (How.BOUND, "") for p in order.pods} for order in orders)
        self.stage.turn(
            *(BindDone(o.gang, o.attempt, d) for o, d in zip(orders, done, strict=True))
        )

    def say(self, *states: Body | None, last: Body | None = None) -> None:
        """What their containers do; None = they are ready."""
        for pod, state in zip(self.pods, states, strict=True):
            spec = {**pod["spec"], "nodeName": self.nodes[pod["metadata"]["name"]]}
            self.stage.show({**pod, "spec": spec, "status": _status(state, last)})

    def leave(self) -> None:
        """They are gone."""
        self.stage.remove(*self.pods)


def _bound(stage: Stage, job: Body, pods: list[Body]) -> Play:
    stage.show(job, *pods)
    stage.turn()
    play = Play(stage, pods)
    play.bind()
    return play


def test_a_gang_whose_image_cannot_be_pulled_leaves_in_time_and_says_why() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    play = _bound(stage, _job(), _pods())
    play.say(None, PULL)
    stage.turn(after_ms=LIMIT_MS - 60_000)
    assert not stage.ordered(Evict)
    stage.turn(after_ms=61_000)
    (evict,) = stage.ordered(Evict)
    assert len(evict.pods) == 2
    (event,) = (each for each in stage.ordered(Note) if each.reason == "NotReady")
    told = "not ready within 15m: container main of pod job-1: ImagePullBackOff: no such image"
    assert event.message == told
    assert (event.regarding.kind, event.regarding.name) == ("Job", "job")
    play.leave()
    stage.show(*_pods(again="-x"))
    stage.turn()
    assert not stage.ordered(Bind)  # it waits a minute
    assert told in reason(stage, "job")
    stage.turn(after_ms=70_000)
    stage.turn()  # there is no other node: it goes back
    assert stage.ordered(Bind)


def test_the_brain_wakes_when_the_time_is_over() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    _bound(stage, _job(), _pods())
    wake = stage.controller.next_wake(stage.now)
    assert wake is not None
    assert wake <= stage.now + LIMIT_MS


def test_a_container_that_crashes_again_and_again_is_not_ready_for_the_moments_between() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    play = _bound(stage, _job(), _pods())
    for _ in range(8):
        play.say(None, None)
        stage.turn(after_ms=STEADY_MS // 2)
        play.say(None, CRASH, last=ENDED)
        stage.turn(after_ms=1)
        stage.turn(after_ms=120_000)
    orders = stage.controller.scene.starts.unready
    (late,) = orders.values()
    assert "CrashLoopBackOff: back-off 5m0s (exit code 137)" in late.why


def test_a_gang_that_was_ready_for_a_minute_is_left_alone_whatever_comes() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    play = _bound(stage, _job(), _pods())
    play.say(None, None)
    stage.turn()
    stage.turn(after_ms=STEADY_MS)
    play.say(None, CRASH)
    for _ in range(3):
        stage.turn(after_ms=LIMIT_MS)
        assert not stage.ordered(Evict)


@pytest.mark.parametrize(
    ("note", "goes_after_ms"), [("2m", 121_000), ("0", 0), ("", LIMIT_MS + 1_000)]
)
def test_the_annotation_outranks_the_policy(note: str, goes_after_ms: int) -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    _bound(stage, _job(**({"ganglion.dev/ready-within": note} if note else {})), _pods())
    stage.turn(after_ms=goes_after_ms or 10 * LIMIT_MS)
    assert bool(stage.ordered(Evict)) is bool(goes_after_ms)


def test_pods_that_nobody_makes_anew_and_services_stay_unless_they_name_a_time() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    stage.show(*manifests.gang("bare", 2, gpus=8))
    stage.turn()
    play = Play(stage, manifests.gang("bare", 2, gpus=8))
    play.bind()
    stage.turn(after_ms=10 * LIMIT_MS)
    assert not stage.ordered(Evict)


def _quarantined(stage: Stage) -> list[str]:
    return [each.regarding.name for each in stage.ordered(Note) if each.reason == "Quarantined"]


def _late(stage: Stage, play: Play, *states: Body | None) -> list[str]:
    """The gang is not ready in time and leaves; nodes that are quarantined for it."""
    play.say(*states)
    stage.turn(after_ms=LIMIT_MS + 1_000)
    assert stage.ordered(Evict)
    found = _quarantined(stage)
    play.leave()
    stage.turn()
    return found


def test_a_node_is_blamed_when_the_gang_becomes_ready_elsewhere() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    play = _bound(stage, _job(), _pods())
    bad = play.nodes["job-1"]
    assert _late(stage, play, None, PULL) == []
    stage.show(manifests.node(bad, taints=[{"key": "other", "effect": "NoSchedule"}]))
    stage.show(manifests.node("c"), *_pods(again="-x"))
    stage.turn()
    stage.turn(after_ms=70_000)
    again = Play(stage, _pods(again="-x"))
    again.bind()
    again.say(None, None)
    stage.turn()
    stage.turn(after_ms=STEADY_MS)
    assert _quarantined(stage) == [bad]


def test_a_node_is_blamed_for_gangs_of_two_namespaces_and_for_none_of_one() -> None:
    stage = Stage()
    stage.show(manifests.node("a", gpus=16))
    for name in ("one", "two"):
        play = _bound(stage, _job(name), _pods(name))
        assert _late(stage, play, PULL, PULL) == []
    play = _bound(stage, _job("three", "other"), _pods("three", "other"))
    assert _late(stage, play, PULL, PULL) == ["a"]


def test_where_all_nodes_of_several_fail_none_is_blamed() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    for name, namespace in (("one", "default"), ("two", "other")):
        play = _bound(stage, _job(name, namespace), _pods(name, namespace))
        assert _late(stage, play, PULL, PULL) == []


def test_pods_that_wait_before_the_next_try_say_so() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    play = _bound(stage, _job(), _pods())
    play.say(None, PULL)
    stage.turn(after_ms=LIMIT_MS + 1_000)
    play.leave()
    stage.show(*_pods(again="-x"))
    said = [each for _ in range(3) for each in stage.turn() if isinstance(each, Say)]
    assert {pod.name for each in said for pod in each.pods} == {"job-0-x", "job-1-x"}
    assert all("ImagePullBackOff: no such image" in each.message for each in said)


def _again(stage: Stage, after_ms: int = 70_000) -> list[str]:
    """The second try of a gang of which one pod was not ready on node b; its nodes."""
    play = _bound(stage, _job(), _pods())
    play.say(*(PULL if play.nodes[f"job-{number}"] == "b" else None for number in range(2)))
    stage.turn(after_ms=LIMIT_MS + 1_000)
    play.leave()
    stage.show(*_pods(again="-x"))
    stage.turn()
    stage.turn(after_ms=after_ms)
    if not stage.ordered(Bind):
        assert stage.controller.next_wake(stage.now) == stage.now
        stage.turn()
    assert not stage.ordered(Evict)
    return sorted(pod.node for order in stage.ordered(Bind) for pod in order.pods)


def test_the_next_try_keeps_off_the_node_where_one_pod_was_not_ready() -> None:
    stage = Stage()
    stage.show(*(manifests.node(name) for name in "abc"))
    assert _again(stage) == ["a", "c"]


def test_the_next_try_goes_back_where_no_other_node_has_room_and_stops_nobody() -> None:
    stage = Stage()
    taken = manifests.pod("low", gpus=8, nodeName="c", priority=-10)
    stage.show(*(manifests.node(name) for name in "abc"), taken | {"status": {"phase": "Running"}})
    assert _again(stage) == ["a", "b"]


def test_a_node_is_avoided_for_an_hour_at_most() -> None:
    stage = Stage()
    stage.show(*(manifests.node(name) for name in "abc"))
    assert _again(stage, after_ms=SUSPECT_MS) == ["a", "b"]


def test_a_gang_that_wants_more_pods_while_the_first_are_bound_runs_with_them_and_grows() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    job = _job()
    stage.show(job, *_pods())
    stage.turn()
    play = Play(stage, _pods())
    (orders,) = stage.ordered(Bind)
    play.nodes = {each.pod.name: each.node for each in orders.pods}
    larger = {**job, "spec": {**job["spec"], "parallelism": 3}}
    stage.show(larger, *_pods(count=3)[2:])
    play.say(None, None)
    bound = {each.pod.uid: (How.BOUND, "") for each in orders.pods}
    stage.turn(BindDone(orders.gang, orders.attempt, bound))
    assert not stage.ordered(Bind)
    stage.show(manifests.node("c"))
    stage.turn()
    (more,) = stage.ordered(Bind)
    assert [(each.pod.name, each.node) for each in more.pods] == [("job-2", "c")]
