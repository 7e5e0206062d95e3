"""What queues and policies say of themselves, on a real API server."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ganglion.extensions import load
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import load as endpoint_of
from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.rbac import (
    Right,
    bind_chart_role,
    chart_rights,
    define_kinds,
    without,
)

ROOT = "/apis/ganglion.dev/v1alpha1"
QUEUES, POLICIES = f"{ROOT}/queues", f"{ROOT}/policies"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture(autouse=True)
def kinds(cluster: Cluster) -> None:
    define_kinds(cluster)


@contextmanager
def scheduling(
    cluster: Cluster, may: Callable[[], bool] = lambda: True, lacking: tuple[Right, ...] = ()
) -> Iterator[Scheduler]:
    """A scheduler with the rights of the chart."""
    endpoint = endpoint_of(bind_chart_role(cluster, "scheduler", without(*lacking)))
    scheduler = Scheduler({"": endpoint}, "test", may=may, load=load)
    scheduler.start()
    try:
        yield scheduler
        assert not scheduler.trouble
    finally:
        scheduler.stop()


def add(cluster: Cluster, kind: str, name: str, **spec: Any) -> None:
    version, meta = "ganglion.dev/v1alpha1", {"name": name}
    cluster.apply({"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec})


def status(cluster: Cluster, path: str) -> Object:
    found: Object = cluster.get(path).get("status", {})
    return found


def accepted(cluster: Cluster, path: str) -> Object:
    """The condition `Accepted` once it is about the present spec."""
    generation = cluster.get(path)["metadata"]["generation"]

    def condition() -> Object | None:
        for each in status(cluster, path).get("conditions", ()):
            if each["type"] == "Accepted" and each["observedGeneration"] == generation:
                return dict(each)
        return None

    found: Object = cluster.wait(condition, f"{path} to be judged")
    return found


def columns(cluster: Cluster, path: str, name: str) -> Object:
    """What kubectl would print of an object: column -> cell."""
    table = cluster.call("GET", path, headers={"Accept": TABLE})
    heads = [each["name"] for each in table["columnDefinitions"]]
    rows = {each["object"]["metadata"]["name"]: each["cells"] for each in table["rows"]}
    return dict(zip(heads, rows[name], strict=True))


def test_kubectl_shows_what_a_queue_uses_and_has_waiting(
    cluster: Cluster, quick_figures: None
) -> None:
    cluster.add_nodes(2, gpus=4, labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    add(cluster, "Queue", "acme", quota={"H100": 8})
    add(cluster, "Queue", "team", parent="acme", quota={"H100": 8})
    with scheduling(cluster):
        labels = {"ganglion.dev/queue": "team"}
        cluster.wait_bound(cluster.add_gang("runs", 2, gpus=3, labels=labels))
        cluster.add_gang("waits", 2, gpus=3, labels=labels)
        cluster.wait(lambda: status(cluster, f"{QUEUES}/team").get("pending") == 1, "figures")
        cells = columns(cluster, QUEUES, "team")
        assert cells["Used"] == '{"H100":6}'
        assert (cells["Share"], cells["Pending"], cells["Running"]) == ("75%", 1, 1)
        assert (cells["Accepted"], cells["Message"]) == ("True", "in force")
        above = cluster.wait(lambda: status(cluster, f"{QUEUES}/acme").get("used"), "sums")
        assert above == {"H100": 6}


def test_a_wrong_queue_says_so_and_all_others_go_on(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=1)
    add(cluster, "Queue", "good")
    add(cluster, "Queue", "lost", parent="nowhere")
    with scheduling(cluster):
        told = accepted(cluster, f"{QUEUES}/lost")
        assert (told["status"], told["reason"]) == ("False", "NoParent")
        assert "spec.parent: there is no queue `nowhere`" in told["message"]
        labels = {"ganglion.dev/queue": "good"}
        cluster.wait_bound(cluster.add_pods(1, prefix="fine", labels=labels))
        (waits,) = cluster.add_pods(1, prefix="odd", labels={"ganglion.dev/queue": "lost"})
        said = cluster.wait(lambda: message(cluster, waits), "the reason on its pods")
        assert "there is no queue lost" in said
        assert accepted(cluster, f"{QUEUES}/good")["status"] == "True"
        add(cluster, "Queue", "nowhere")
        cluster.wait_bound([waits])


def message(cluster: Cluster, pod: str) -> str:
    conditions = cluster.pods()[pod]["status"].get("conditions", ())
    return next((c["message"] for c in conditions if c["reason"] == "Unschedulable"), "")


def test_a_malformed_policy_leaves_the_one_before_in_force_also_after_a_restart(
    cluster: Cluster,
) -> None:
    add(cluster, "Policy", "default", evict={"restart": "7m"})
    path = f"{POLICIES}/default"
    with scheduling(cluster) as scheduler:
        assert accepted(cluster, path)["status"] == "True"
        assert restart_ms(scheduler) == 420_000
        cluster.patch(path, {"spec": {"evict": {"restart": "7 lightyears"}}})
        told = accepted(cluster, path)
        assert (told["status"], told["reason"]) == ("False", "Invalid")
        assert told["message"].startswith("spec.evict.restart: ")
        assert told["message"].endswith("generation 1 stays in force")
        assert restart_ms(scheduler) == 420_000
    with scheduling(cluster) as again:
        cluster.wait(lambda: again.turns, "a turn")
        assert restart_ms(again) == 420_000
        assert accepted(cluster, path)["status"] == "False"


def restart_ms(scheduler: Scheduler) -> int:
    with scheduler.read() as controller:
        return controller.scene.state.config.policy.evict.restart_ms


def test_what_was_accepted_counts_before_its_status_says_so(cluster: Cluster) -> None:
    add(cluster, "Policy", "default", evict={"restart": "7m"})
    path = f"{POLICIES}/default"
    with scheduling(cluster) as scheduler:
        cluster.wait(lambda: status(cluster, path), "the first status")
        cluster.patch(path, {"spec": {"evict": {"restart": "8m"}}})
        cluster.wait(lambda: restart_ms(scheduler) == 480_000, "the second policy")
        cluster.patch(path, {"spec": {"evict": {"restart": "8 lightyears"}}})
        assert accepted(cluster, path)["message"].endswith("generation 2 stays in force")
        assert restart_ms(scheduler) == 480_000
        assert status(cluster, path)["inForce"]["spec"] == {"evict": {"restart": "8m"}}


def test_a_queue_moves_once_nothing_runs_in_it(cluster: Cluster, quick_figures: None) -> None:
    cluster.add_nodes(1, gpus=1)
    for name in ("a", "b"):
        add(cluster, "Queue", name)
    add(cluster, "Queue", "team", parent="a")
    with scheduling(cluster) as scheduler:
        (pod,) = cluster.wait_bound(
            cluster.add_pods(1, gpus=1, labels={"ganglion.dev/queue": "team"})
        )
        cluster.patch(f"{QUEUES}/team", {"spec": {"parent": "b"}})
        told = accepted(cluster, f"{QUEUES}/team")
        assert (told["status"], told["reason"]) == ("True", "AcceptedWithWarnings")
        assert told["message"] == "spec.parent: it moves once nothing runs in it"
        cluster.delete(f"/api/v1/namespaces/default/pods/{pod}", grace=0)
        cluster.wait(lambda: parent(scheduler) == "b", "the move")


def parent(scheduler: Scheduler) -> str:
    with scheduler.read() as controller:
        return controller.scene.state.queues.by_name["team"].parent


def test_who_does_not_lead_writes_nothing(cluster: Cluster) -> None:
    add(cluster, "Queue", "team")
    with scheduling(cluster, may=lambda: False) as standby:
        cluster.wait(standby.ready.is_set, "the standby to be warm")
        cluster.wait(gc.isenabled, "garbage to be collected, though it never leads")
        with scheduling(cluster):
            before = accepted(cluster, f"{QUEUES}/team")
        assert before["status"] == "True"
        assert standby.turns == 0


def test_a_status_that_is_right_is_left_alone(cluster: Cluster) -> None:
    add(cluster, "Queue", "team")
    with scheduling(cluster):
        accepted(cluster, f"{QUEUES}/team")
    version = cluster.get(f"{QUEUES}/team")["metadata"]["resourceVersion"]
    with scheduling(cluster) as again:
        cluster.wait(lambda: again.turns > 2, "some turns")
    assert cluster.get(f"{QUEUES}/team")["metadata"]["resourceVersion"] == version


def test_the_plugins_that_a_policy_names_decide(cluster: Cluster) -> None:
    add(cluster, "Policy", "default", scores={"spread": 1})
    cluster.add_nodes(2, gpus=4)
    told: list[str] = []
    endpoint = endpoint_of(bind_chart_role(cluster, "scheduler"))
    scheduler = Scheduler(
        {"": endpoint}, "test", may=lambda: True, load=load, outdated=lambda: told.append("now")
    )
    scheduler.start()
    try:
        cluster.wait_bound(cluster.add_pods(2))
        assert len(set(cluster.bound().values())) == 2, "the usual plugins would have packed them"
        path = f"{POLICIES}/default"
        cluster.patch(path, {"spec": {"scores": {"spread": None, "no-such": 1}}})
        said = accepted(cluster, path)
        assert said["reason"] == "Invalid"
        assert said["message"].startswith("spec.scores: there is no plugin no-such")
        assert not told
        cluster.patch(path, {"spec": {"scores": {"no-such": None, "packing": 1}}})
        cluster.wait(lambda: told, "the scheduler to have itself started anew")
    finally:
        scheduler.stop()


def test_without_the_right_to_write_them_all_goes_on(cluster: Cluster) -> None:
    add(cluster, "Queue", "team")
    lacking = tuple(each for each in chart_rights() if each.resource.endswith("s/status"))
    kept = tuple(each for each in lacking if each.group == "ganglion.dev")
    assert len(kept) == 2
    cluster.add_nodes(1, gpus=1)
    with scheduling(cluster, lacking=kept):
        labels = {"ganglion.dev/queue": "team"}
        cluster.wait_bound(cluster.add_pods(1, labels=labels))
    assert status(cluster, f"{QUEUES}/team") == {}
