"""Disruption budgets add up across all victims of a plan, and across plans."""

from ganglion.worlds.kubernetes.cluster_view.orders import (
    Bind,
    BindDone,
    Evict,
    EvictBlocked,
    How,
    Spare,
)
from ganglion.worlds.kubernetes.cluster_view.settings import Settings
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage


def budget(allowed: int, *, healthy: int = 2, app: str = "web") -> Body:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": healthy - allowed,
        },
    }


def _pod(name: str, node: str = "", *, app: str = "", priority: int = 0, gpus: int = 8) -> Body:
    body = manifests.pod(name, gpus=gpus, labels={"app": app}, priority=priority)
    if node:
        body["spec"]["nodeName"] = node
        ready = {"type": "Ready", "status": "True"}
        body["status"] = {"phase": "Running", "conditions": [ready]}
    return body


def _running(stage: Stage, *bodies: Body) -> None:
    """Pods that the scheduler itself has bound, and that run where it put them."""
    stage.show(*bodies)
    stage.turn()
    orders = stage.ordered(Bind)
    nodes = {each.pod.name: each.node for order in orders for each in order.pods}
    assert len(nodes) == len(bodies)
    for body in bodies:
        app = body["metadata"]["labels"]["app"]
        stage.show(_pod(body["metadata"]["name"], nodes[body["metadata"]["name"]], app=app))
    done = ({p.pod.uid: (How.BOUND, "") for p in order.pods} for order in orders)
    stage.turn(*(BindDone(o.gang, o.attempt, d) for o, d in zip(orders, done, strict=True)))


def _gang(size: int) -> list[Body]:
    return manifests.gang("big", size, gpus=8, priority=100)


def _evicted(stage: Stage) -> list[str]:
    return sorted(pod.name for order in stage.ordered(Evict) for pod in order.pods)


def test_a_plan_that_needs_more_than_a_budget_allows_is_not_begun() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    _running(stage, _pod("web-0", app="web"), _pod("web-1", app="web"))
    stage.show(budget(1), *_gang(2))
    for _ in range(5):
        stage.turn()
        assert not stage.ordered(Evict)
    stage.show(budget(2))
    stage.turn()
    assert _evicted(stage) == ["web-0", "web-1"]


def test_where_one_may_go_the_plan_takes_one_and_somebody_else() -> None:
    stage = Stage()
    stage.show(*(manifests.node(each) for each in "abc"))
    _running(stage, _pod("web-0", app="web"), _pod("web-1", app="web"), _pod("other"))
    stage.show(budget(1), *_gang(2))
    stage.turn()
    assert len(_evicted(stage)) == 2
    assert "other" in _evicted(stage)


def test_what_was_told_to_go_and_is_still_there_counts_for_later_plans() -> None:
    stage = Stage()
    stage.show(manifests.node("a"), manifests.node("b"))
    _running(stage, _pod("web-0", app="web"), _pod("web-1", app="web"))
    stage.show(budget(1), _pod("first", priority=100))
    stage.turn()
    assert len(_evicted(stage)) == 1
    stage.show(_pod("second", priority=100))
    for _ in range(3):
        stage.turn()
        assert not stage.ordered(Evict)


def test_a_gang_of_which_a_part_has_gone_goes_on_and_another_one_is_taken() -> None:
    stage = Stage(settings=Settings(blocked_ms=30_000))
    stage.show(manifests.node("a"), manifests.node("b"))
    low = [{**each, "spec": {**each["spec"], "priority": 0}} for each in _gang(2)]
    for each in low:
        each["metadata"]["labels"]["app"] = "low"
    _running_gang(stage, low)
    stage.show(_pod("high", priority=100))
    stage.turn()
    (evict,) = stage.ordered(Evict)
    gone, left = evict.pods
    stage.remove({"kind": "Pod", "metadata": {"name": gone.name, "namespace": "default"}})
    stage.turn(EvictBlocked(evict.gang, evict.attempt, "no disruption is allowed"))
    stage.show(manifests.node("c"))
    stage.turn(after_ms=31_000)
    (spare,) = stage.ordered(Spare)
    assert [pod.name for pod in spare.pods] == [left.name]
    again = next(each for each in low if each["metadata"]["name"] == gone.name)
    again["metadata"]["uid"] = "made-anew"
    stage.show(again)
    orders = stage.orders + stage.turn()
    placed = {p.pod.name: p.node for o in orders if isinstance(o, Bind) for p in o.pods}
    assert placed.keys() == {"high", gone.name}
    assert placed["high"] == "c"


def _running_gang(stage: Stage, bodies: list[Body]) -> None:
    stage.show(*bodies)
    stage.turn()
    (order,) = stage.ordered(Bind)
    nodes = {each.pod.name: each.node for each in order.pods}
    for body in bodies:
        spec = {**body["spec"], "nodeName": nodes[body["metadata"]["name"]]}
        stage.show({**body, "spec": spec, "status": {"phase": "Running"}})
    done = {each.pod.uid: (How.BOUND, "") for each in order.pods}
    stage.turn(BindDone(order.gang, order.attempt, done))


def test_a_victim_that_could_not_be_evicted_is_left_alone_for_a_while() -> None:
    stage = Stage(settings=Settings(blocked_ms=30_000))
    stage.show(manifests.node("a"), manifests.node("b"))
    _running(stage, _pod("one"), _pod("two"))
    stage.show(_pod("high", priority=100))
    stage.turn()
    (evict,) = stage.ordered(Evict)
    stage.turn(EvictBlocked(evict.gang, evict.attempt, "we may not"))
    orders = stage.turn(after_ms=31_000) + stage.turn()
    (other,) = (each for each in orders if isinstance(each, Evict))
    assert other.gang != evict.gang
