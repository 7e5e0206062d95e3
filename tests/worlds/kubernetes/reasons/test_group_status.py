"""PodGroups say what kube-scheduler lets them say: that their pods have nodes, or why not."""

import pytest

from ganglion.worlds.kubernetes.cluster_view.orders import Bind, Describe
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage
from tests.worlds.kubernetes.pod_groups.test_upstream import (
    NEW,
    OLD,
    composite,
    every,
    gang,
    group,
    pods,
)

FULL = "capacity"


def node(name: str) -> Body:
    return manifests.node(name, gpus=8)


def shown(*bodies: Body) -> Stage:
    stage = Stage()
    stage.show(*bodies)
    stage.turn()
    return stage


def told(stage: Stage) -> dict[str, tuple[str, str, str]]:
    """Path of a group -> type, status and reason of the last condition ordered for it."""
    found = {}
    for each in stage.ordered(Describe):
        last = each.patch["conditions"][-1]
        found[each.path] = (last["type"], last["status"], last["reason"])
    return found


def heard(stage: Stage, body: Body) -> Body:
    """The group as it is once what was ordered has been written."""
    (order,) = (e for e in stage.ordered(Describe) if e.path.endswith(body["metadata"]["name"]))
    status = {**body.get("status", {}), **order.patch}
    version = str(int(body["metadata"].get("resourceVersion", "0")) + 1)
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version}, "status": status}


def bound(stage: Stage, *bodies: Body) -> None:
    """The pods that were to be bound are."""
    nodes = {pod.pod.name: pod.node for each in stage.ordered(Bind) for pod in each.pods}
    for each in bodies:
        stage.show({**each, "spec": {**each["spec"], "nodeName": nodes[each["metadata"]["name"]]}})


@pytest.mark.parametrize(
    ("version", "name"), [(OLD, "PodGroupScheduled"), (NEW, "PodGroupInitiallyScheduled")]
)
def test_a_group_says_why_it_waits_and_then_for_ever_that_it_has_nodes(
    version: str, name: str
) -> None:
    members, body = pods("g", 2), group("g", gang(2), version)
    body["metadata"]["generation"] = 3
    stage = shown(node("a"), *members, body)
    path = f"/apis/{version}/namespaces/default/podgroups/g"
    assert told(stage) == {path: (name, "False", "Unschedulable")}
    (order,) = stage.ordered(Describe)
    (condition,) = order.patch["conditions"]
    assert condition["message"].startswith(FULL)
    assert condition["observedGeneration"] == 3
    body = heard(stage, body)
    stage.show(body)
    assert told_after(stage) == {}
    stage.show(node("b"))
    stage.turn()
    bound(stage, *members)
    assert told_after(stage) == {path: (name, "True", "Scheduled")}
    body = heard(stage, body)
    stage.show(body)
    assert [each["status"] for each in body["status"]["conditions"]] == ["True"]
    stage.remove(*members)
    stage.show(*pods("g", 2, gpus=64))
    assert told_after(stage) == {}


def told_after(stage: Stage) -> dict[str, tuple[str, str, str]]:
    stage.turn()
    found = told(stage)
    orders = list(stage.orders)
    stage.turn()
    assert not stage.ordered(Describe), "nothing is written twice for one version"
    stage.orders = orders
    return found


def test_other_conditions_of_a_group_are_kept() -> None:
    other = {"type": "DisruptionTarget", "status": "True", "reason": "x", "message": ""}
    body = {**group("g", gang(1)), "status": {"conditions": [other]}}
    stage = shown(*pods("g", 1), body)
    (order,) = stage.ordered(Describe)
    assert order.patch["conditions"][0] == other


def test_a_group_whose_pods_do_not_exist_yet_says_nothing() -> None:
    stage = shown(node("a"), *pods("g", 1), group("g", gang(2)))
    assert told(stage) == {}


def test_what_is_refused_is_said_on_every_group_of_the_gang_by_its_field() -> None:
    groups = [group(each, gang(1), parent="all") for each in "ab"]
    stage = shown(node("a"), *pods("a", 1), *pods("b", 1), *groups, composite("all", every(1)))
    found = told(stage)
    name, nested = "PodGroupInitiallyScheduled", "/apis/scheduling.k8s.io/v1alpha3/namespaces"
    assert found == {
        f"/apis/{NEW}/namespaces/default/podgroups/a": (name, "False", "SchedulerError"),
        f"/apis/{NEW}/namespaces/default/podgroups/b": (name, "False", "SchedulerError"),
        f"{nested}/default/compositepodgroups/all": (
            "CompositePodGroupInitiallyScheduled",
            "False",
            "SchedulerError",
        ),
    }
    messages = {each.patch["conditions"][-1]["message"] for each in stage.ordered(Describe)}
    assert all("spec.schedulingPolicy.gang.minGroupCount: 1 of 2" in each for each in messages)


def test_a_basic_group_says_which_of_its_pods_waits_and_when_one_has_a_node() -> None:
    first, second = pods("g", 2)
    body = group("g", {"basic": {}})
    stage = shown(first, second, body)
    (order,) = stage.ordered(Describe)
    assert order.patch["conditions"][0]["message"].startswith("pod g-")
    body = heard(stage, body)
    stage.show(body, node("a"))
    stage.turn()
    (started,) = (pod.pod.name for each in stage.ordered(Bind) for pod in each.pods)
    bound(stage, *(each for each in (first, second) if each["metadata"]["name"] == started))
    assert [each[1:] for each in told_after(stage).values()] == [("True", "Scheduled")]
