"""What the rules of Kubernetes mean for gangs that wait, while everything around them changes."""

import cProfile
import pstats
from typing import Any

import pytest

from ganglion.worlds.kubernetes.cluster_view.orders import Bind, Evict
from ganglion.worlds.kubernetes.feasibility.volumes import BIND_COMPLETED
from ganglion.worlds.kubernetes.reasons.pod_reasons import why
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(number: int, gpus: int = 4, zone: str = "", **rest: Any) -> Body:
    labels = {ZONE: zone} if zone else {}
    return manifests.node(f"n{number}", gpus=gpus, labels=labels, **rest)


def apart(key: str = "app", *values: str) -> Body:
    selector = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
    return {"podAntiAffinity": {REQUIRED: [{"labelSelector": selector, "topologyKey": HOST}]}}


def port(body: Body, number: int = 80) -> Body:
    body["spec"]["containers"][0]["ports"] = [{"containerPort": number, "hostPort": number}]
    return body


def asks(body: Body, **amounts: str) -> Body:
    body["spec"]["containers"][0]["resources"]["requests"] |= {
        key.replace("_", "-"): amount for key, amount in amounts.items()
    }
    return body


def settled(name: str, node: str, **rest: Any) -> Body:
    """A pod of another owner that runs on a node."""
    spec = {"scheduler": "default-scheduler", "gpus": 0, **rest}
    return manifests.pod(name, nodeName=node, **spec)


def ours(body: Body, node: str) -> Body:
    """A pod of ours as it is once it was bound."""
    return {**body, "spec": {**body["spec"], "nodeName": node}}


def bound(stage: Stage) -> dict[str, str]:
    return {p.pod.name: p.node for order in stage.ordered(Bind) for p in order.pods}


def reason(stage: Stage, name: str) -> str:
    (found,) = (g for g, f in stage.controller.scene.gangs.founds.items() if f.name == name)
    return why(stage.controller.scene, found)


def claim(name: str, volume: str = "") -> Body:
    notes = {BIND_COMPLETED: "yes"} if volume else {}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": notes},
        "spec": {"storageClassName": "now", "volumeName": volume},
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(name: str, zone: str) -> Body:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    affinity = {"required": {"nodeSelectorTerms": [term]}}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"nodeAffinity": affinity},
    }


def mounting(body: Body, name: str) -> Body:
    mount = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    return {**body, "spec": {**body["spec"], "volumes": [mount]}}


def test_a_gang_goes_where_its_volume_turns_out_to_be() -> None:
    stage = Stage()
    stage.show(node(0, zone="a"), node(1, zone="b"))
    stage.show(claim("data"), mounting(manifests.pod("p"), "data"))
    stage.turn()
    assert not bound(stage)
    assert "claim default/data is not bound yet" in reason(stage, "p")
    stage.show(volume("pv", "b"), claim("data", "pv"))
    stage.turn()
    assert bound(stage) == {"p": "n1"}


def test_each_pod_of_a_set_goes_where_its_own_volume_is() -> None:
    stage = Stage()
    stage.show(*(node(i, gpus=1, zone=z) for i, z in enumerate("abc")))
    zones = "cab"
    for number, zone in enumerate(zones):
        stage.show(volume(f"pv-{number}", zone), claim(f"data-{number}", f"pv-{number}"))
    pods = manifests.gang("g", 3)
    stage.show(*(mounting(each, f"data-{number}") for number, each in enumerate(pods)))
    stage.turn()
    assert bound(stage) == {"g-0": "n2", "g-1": "n0", "g-2": "n1"}


def test_volumes_that_come_one_by_one_divide_a_gang_that_waits() -> None:
    stage = Stage()
    stage.show(*(node(i, gpus=1, zone=z) for i, z in enumerate("ab")))
    pods = manifests.gang("g", 2)
    stage.show(*(claim(f"data-{i}") for i in range(2)))
    stage.show(*(mounting(each, f"data-{number}") for number, each in enumerate(pods)))
    stage.turn()
    stage.show(volume("pv-0", "b"), claim("data-0", "pv-0"))
    stage.turn()
    assert not bound(stage)
    stage.show(volume("pv-1", "a"), claim("data-1", "pv-1"))
    stage.turn()
    assert bound(stage) == {"g-0": "n1", "g-1": "n0"}


def test_pods_of_one_set_with_different_selectors_all_get_what_they_want() -> None:
    stage = Stage()
    stage.show(*(node(i, gpus=1, zone=z) for i, z in enumerate("abcd")))
    pods = manifests.gang("g", 3)
    for each, zone in zip(pods, "dca", strict=True):
        each["spec"]["nodeSelector"] = {ZONE: zone}
    stage.show(*pods)
    stage.turn()
    assert bound(stage) == {"g-0": "n3", "g-1": "n2", "g-2": "n0"}


def test_a_divided_gang_stays_what_it_is_while_it_runs() -> None:
    stage = Stage()
    stage.show(*(node(i, gpus=1, zone=z) for i, z in enumerate("ab")))
    pods = manifests.gang("g", 2)
    for each, zone in zip(pods, "ba", strict=True):
        each["spec"]["nodeSelector"] = {ZONE: zone}
    stage.show(*pods)
    stage.turn()
    where = bound(stage)
    running = [
        {**ours(each, where[each["metadata"]["name"]]), "status": {"phase": "Running"}}
        for each in pods
    ]
    stage.show(*running)
    stage.turn()
    (attempt,) = stage.controller.scene.attempts.by_gang.values()
    assert attempt.running
    stage.remove(running[0])
    stage.turn()
    stage.show(pods[0] | {"metadata": pods[0]["metadata"] | {"uid": "again"}})
    stage.turn()
    assert bound(stage) == {"g-0": "n1"}


def test_pods_that_waited_before_keep_away_from_those_that_came_later() -> None:
    stage = Stage()
    stage.show(node(0, gpus=0), node(1, gpus=0))
    stage.show(manifests.pod("p", labels={"app": "web"}, nodeSelector={"free": "yes"}))
    stage.turn()
    stage.show(settled("guard", "n0", affinity=apart("app", "web")))
    stage.turn()
    stage.show(*(manifests.node(f"n{i}", gpus=4, labels={"free": "yes"}) for i in range(2)))
    stage.turn()
    assert bound(stage) == {"p": "n1"}


def test_they_go_there_once_whoever_kept_them_away_is_gone() -> None:
    stage = Stage()
    guard = settled("guard", "n0", affinity=apart("app", "web"))
    stage.show(node(0), guard, manifests.pod("p", labels={"app": "web"}))
    stage.turn()
    assert not bound(stage)
    assert not reason(stage, "p")
    assert stage.controller.next_wake(stage.now) == stage.now
    stage.turn()
    assert reason(stage, "p") == ("constraint: no node is allowed now: other pods block it on 1")
    stage.remove(guard)
    stage.turn()
    assert bound(stage) == {"p": "n0"}


def test_two_pods_that_keep_apart_decided_in_one_turn_get_a_node_each() -> None:
    stage = Stage()
    stage.show(node(0), node(1))
    rule = apart("app", "web")
    stage.show(*(manifests.pod(f"p{i}", labels={"app": "web"}, affinity=rule) for i in range(2)))
    first = bound(stage) if stage.turn() else {}
    second = bound(stage) if stage.turn() else {}
    assert sorted((first | second).values()) == ["n0", "n1"]


def test_a_plain_pod_and_its_guard_decided_in_one_turn_do_not_meet() -> None:
    stage = Stage()
    stage.show(node(0))
    guard = manifests.pod("b-guard", labels={"app": "db"}, affinity=apart("app", "web"))
    stage.show(manifests.pod("a-plain", labels={"app": "web"}), guard)
    stage.turn()
    assert len(bound(stage)) == 1
    stage.turn()
    assert not bound(stage)


@pytest.mark.parametrize("passing", ["taint", "bar", "label"])
def test_people_are_told_never_only_where_waiting_is_no_use(passing: str) -> None:
    stage = Stage()
    taints = [{"key": "repair", "effect": "NoSchedule"}] if passing == "taint" else []
    stage.show(node(0, taints=taints))
    body = port(manifests.pod("p"))
    if passing == "bar":
        stage.show(port(settled("other", "n0")))
    if passing == "label":
        body["spec"]["nodeSelector"] = {"gpu": "h100"}
    stage.show(body)
    stage.turn()
    (gang,) = stage.controller.scene.gangs.founds
    found = stage.controller.scene.state.gangs.reason(gang)
    assert found
    assert found.never is (passing == "label")


def test_a_resize_in_place_counts_from_when_the_kubelet_has_done_it() -> None:
    stage = Stage()
    stage.show(manifests.node("n0", gpus=4, cpu="8"))
    body = settled("other", "n0", cpu="1")
    stage.show(body)
    stage.turn()
    grown = {"name": "main", "allocatedResources": {"cpu": "7"}}
    stage.show({**body, "status": {"phase": "Running", "containerStatuses": [grown]}})
    stage.show(manifests.pod("p", cpu="2"))
    stage.turn()
    assert not bound(stage)
    stage.show({**body, "status": {"phase": "Running", "containerStatuses": []}})
    stage.turn()
    assert bound(stage) == {"p": "n0"}


def test_what_a_pod_of_ours_grows_by_is_not_given_to_another() -> None:
    stage = Stage()
    stage.show(manifests.node("n0", gpus=4, cpu="8"))
    body = manifests.pod("a", cpu="1")
    stage.show(body)
    stage.turn()
    grown = {"name": "main", "allocatedResources": {"cpu": "7"}}
    status = {"phase": "Running", "containerStatuses": [grown]}
    stage.show({**ours(body, "n0"), "status": status}, manifests.pod("b", cpu="2"))
    stage.turn()
    assert not bound(stage)
    stage.show({**ours(body, "n0"), "status": {"phase": "Running"}})
    stage.turn()
    assert bound(stage) == {"b": "n0"}


def test_pods_that_nobody_tells_apart_are_looked_at_once() -> None:
    stage = Stage()
    stage.show(*(node(i, gpus=1) for i in range(4)))
    many = 2_000
    stage.show(
        *(
            asks(manifests.pod(f"p{i}", labels={"name": f"p{i}"}), ephemeral_storage="1Gi")
            for i in range(many)
        )
    )
    calls = _calls(stage, "barred", turns=3)
    assert calls <= 6
    for key in ("app", "name"):
        guard = settled("guard", "n3", affinity=apart(key, "web"))
        stage.show(guard)
        assert _calls(stage, "barred", turns=1) <= 6
        stage.remove(guard)
        assert _calls(stage, "barred", turns=1) <= 6


def _calls(stage: Stage, name: str, turns: int) -> int:
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(turns):
        stage.turn()
    profile.disable()
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return sum(found[0] for (_, _, function), found in stats.items() if function == name)


@pytest.mark.parametrize("uneven", [False, True])
def test_nobody_is_evicted_for_a_gang_that_could_not_start_afterwards(uneven: bool) -> None:
    stage = Stage()
    stage.show(*(node(i, gpus=1, zone="a") for i in range(3)), node(3, gpus=0, zone="b"))
    low = [manifests.pod(f"low-{i}") for i in range(3)]
    stage.show(*low)
    stage.turn()
    where = bound(stage)
    for each in low:
        at = where[each["metadata"]["name"]]
        stage.show({**ours(each, at), "status": {"phase": "Running"}})
    stage.turn()
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    rest = {"topologySpreadConstraints": [spread]} if uneven else {}
    stage.show(*manifests.gang("high", 3, priority=1000, labels={"app": "x"}, **rest))
    evicted = 0
    for _ in range(5):
        stage.turn()
        evicted += len(stage.ordered(Evict))
    assert evicted == (0 if uneven else 3)


def cordoned(number: int, **rest: Any) -> Body:
    body = node(number, **rest)
    body["spec"] = {**body.get("spec", {}), "unschedulable": True}
    return body


BEARS_ALL = [{"operator": "Exists"}]
BEARS_CORDONS = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]


@pytest.mark.parametrize("tolerations", [BEARS_ALL, BEARS_CORDONS], ids=["all", "cordons"])
def test_a_pod_that_tolerates_cordons_uses_a_cordoned_node_and_no_other_pod_does(
    tolerations: list[Body],
) -> None:
    stage = Stage()
    stage.show(cordoned(0), manifests.pod("other"))
    stage.turn()
    assert not bound(stage)
    stage.show(manifests.pod("bears", tolerations=tolerations))
    stage.turn()
    assert bound(stage) == {"bears": "n0"}
    assert "n0" not in stage.nodes_of("other")


def test_a_cordoned_node_is_closed_again_when_no_pod_is_left_that_tolerates_it() -> None:
    stage = Stage()
    bears = manifests.pod("bears", gpus=8, tolerations=BEARS_ALL)
    stage.show(cordoned(0), bears)
    stage.turn()
    assert not stage.controller.scene.state.fleet.nodes["n0"].cordoned
    stage.remove(bears)
    for _ in range(3):
        stage.turn()
    assert stage.controller.scene.state.fleet.nodes["n0"].cordoned == "cordoned"


def test_a_node_that_is_not_ready_stays_closed_whatever_pods_tolerate() -> None:
    stage = Stage()
    body = cordoned(0)
    body["spec"]["taints"] = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    stage.show(body, manifests.pod("bears", tolerations=BEARS_ALL))
    stage.turn()
    assert not bound(stage)
