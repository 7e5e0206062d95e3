"""Taints close nodes; conditions only say why."""

import pytest

from tests.worlds.kubernetes.node_discovery.samples import node, told

NOT_READY = {
    "type": "Ready",
    "status": "False",
    "reason": "KubeletNotReady",
    "message": "container runtime is down",
}


def taint(key: str, effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "effect": effect}


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("node.kubernetes.io/not-ready", "not ready"),
        ("node.kubernetes.io/unreachable", "unreachable"),
        ("node.kubernetes.io/disk-pressure", "short of disk"),
        ("node.kubernetes.io/out-of-service", "out of service"),
        ("karpenter.sh/disrupted", "about to be removed by Karpenter"),
        ("ToBeDeletedByClusterAutoscaler", "about to be removed by the autoscaler"),
    ],
)
def test_a_taint_of_the_control_plane_closes_a_node(key: str, why: str) -> None:
    found = told(node(taints=[taint(key)])).node
    assert found.cordoned.startswith(why)


def test_a_condition_says_why_a_node_is_not_ready() -> None:
    taints = [
        taint("node.kubernetes.io/not-ready"),
        taint("node.kubernetes.io/not-ready", "NoExecute"),
    ]
    found = told(node(taints=taints, conditions=[NOT_READY]))
    assert found.node.cordoned == "not ready (KubeletNotReady: container runtime is down)"
    assert found.troubles == ()


def test_a_condition_alone_closes_nothing_and_is_reported() -> None:
    found = told(node(conditions=[NOT_READY]))
    assert found.node.cordoned == ""
    assert found.troubles == (
        "node n: it is not ready (KubeletNotReady: container runtime is down),"
        " but has no taint that says so",
    )


def test_a_cordoned_node_keeps_its_devices_and_takes_nothing() -> None:
    taints = [taint("node.kubernetes.io/unschedulable")]
    found = told(node(gpus={"nvidia.com/gpu": 8}, taints=taints, unschedulable=True)).node
    assert found.cordoned == "cordoned"
    assert all(device.healthy for device in found.devices)


def test_a_node_is_closed_before_its_taints_have_come() -> None:
    assert told(node(unschedulable=True)).node.cordoned == "cordoned"


@pytest.mark.parametrize(
    "harmless",
    [
        taint("nvidia.com/gpu"),
        taint("node.kubernetes.io/memory-pressure"),
        taint("node.kubernetes.io/not-ready", "PreferNoSchedule"),
    ],
)
def test_what_pods_can_tolerate_is_left_to_their_tolerations(harmless: dict[str, str]) -> None:
    assert told(node(taints=[harmless])).node.cordoned == ""


def test_several_reasons_are_all_named() -> None:
    taints = [taint("node.kubernetes.io/unreachable"), taint("node.kubernetes.io/disk-pressure")]
    assert told(node(taints=taints)).node.cordoned == "short of disk; unreachable"
