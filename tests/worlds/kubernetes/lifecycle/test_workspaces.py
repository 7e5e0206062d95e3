"""Workspaces of a cluster sleep when they are idle, on a real API server."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from ganglion.lifecycle.workspaces.rule import LookPace
from ganglion.seams.clock import SYSTEM_CLOCK
from ganglion.server.cluster.controllers.eyes import sight_of
from ganglion.server.cluster.controllers.keeper import Lives
from ganglion.worlds.kubernetes.sign_in.config import load as endpoint_of
from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.lifecycle.notebooks import Notebooks
from tests.worlds.kubernetes.rbac import Right, bind_chart_role, without
from tests.worlds.kubernetes.scheduling import scheduling
from tests.worlds.kubernetes.workloads import template, thing

PATH = "/apis/apps/v1/namespaces/default/statefulsets/lab"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
SLEEPS = "ganglion.dev/suspended"
PACE = LookPace(stale_ms=10_000, least_ms=500)

pytestmark = pytest.mark.usefixtures("manager", "kubelets")


def workspace(port: int, gpus: int) -> Object:
    notes = {
        "ganglion.dev/idle-timeout": "3s",
        "ganglion.dev/idle": "{warn: 1s}",
        "ganglion.dev/port": str(port),
    }
    pod = template(gpus, labels={"app": "lab"}, annotations={"test/address": "127.0.0.1"})
    pod["spec"]["containers"][0]["env"] = [{"name": "JUPYTER_TOKEN", "value": "secret"}]
    selector = {"matchLabels": {"app": "lab"}}
    spec = {"replicas": 1, "serviceName": "lab", "selector": selector, "template": pod}
    labels = {"ganglion.dev/kind": "workspace"}
    return thing("apps/v1", "StatefulSet", "lab", spec, labels=labels, annotations=notes)


@contextmanager
def working(
    cluster: Cluster, *lacking: Right, gpus: int = 1, exporter: bool = True
) -> Iterator[Notebooks]:
    """A workspace that runs, and its controller with the rights of the manifests."""
    cluster.add_nodes(1, gpus=2)
    with Notebooks("default", "lab-0") as notebooks, scheduling(cluster) as scheduler:
        endpoint = endpoint_of(bind_chart_role(cluster, "lives", without(*lacking)))
        urls = [f"http://127.0.0.1:{notebooks.port}/metrics"] if exporter else []
        sight = replace(sight_of(scheduler, ""), exporters=lambda _node: urls)
        lives = Lives(endpoint, "test", sight, may=lambda: True, pace=PACE)
        cluster.apply(workspace(notebooks.port, gpus))
        lives.start()
        try:
            cluster.wait(lambda: ready(cluster) == 1, "the workspace")
            yield notebooks
        finally:
            lives.stop()


def ready(cluster: Cluster) -> int:
    return int(cluster.get(PATH).get("status", {}).get("readyReplicas", 0))


def replicas(cluster: Cluster) -> int:
    return int(cluster.get(PATH)["spec"]["replicas"])


def told(cluster: Cluster, reason: str) -> list[str]:
    return [each.get("note", "") for each in cluster.list(EVENTS) if each["reason"] == reason]


def test_an_idle_workspace_is_warned_then_suspended_and_can_be_taken_up_again(
    cluster: Cluster,
) -> None:
    with working(cluster) as notebooks:
        cluster.wait(lambda: replicas(cluster) == 0, "the workspace to be suspended")
        assert notebooks.token == "token secret"
        note = cluster.get(PATH)["metadata"]["annotations"][SLEEPS]
        assert note.startswith("suspended: idle for ")
        (warning,) = cluster.wait(lambda: told(cluster, "Idle"), "the warning")
        assert "lost: the variables of 1 kernel" in warning
        cluster.wait(lambda: not cluster.pods(), "its pod to be gone")
        notebooks.state = "busy"
        cluster.patch(PATH, {"metadata": {"annotations": {SLEEPS: None}}, "spec": {"replicas": 1}})
        cluster.wait(lambda: ready(cluster) == 1, "the workspace again")


def test_a_workspace_in_use_stays_whatever_the_others_say(cluster: Cluster) -> None:
    with working(cluster) as notebooks:
        notebooks.engine = 0.8
        notebooks.state = "busy"
        cluster.wait(lambda: notebooks.token, "a look at it")
        looked = SYSTEM_CLOCK.now_ms()
        cluster.wait(lambda: SYSTEM_CLOCK.now_ms() > looked + 5_000, "its timeout to pass")
        assert (replicas(cluster), told(cluster, "Suspended")) == (1, [])


@pytest.mark.parametrize("silent", ["notebooks", "exporter"])
def test_of_what_nobody_knows_nothing_is_done(cluster: Cluster, silent: str) -> None:
    with working(cluster, exporter=silent != "exporter") as notebooks:
        notebooks.state = "" if silent == "notebooks" else "idle"
        cluster.wait(lambda: notebooks.token, "a look at it")
        looked = SYSTEM_CLOCK.now_ms()
        cluster.wait(lambda: SYSTEM_CLOCK.now_ms() > looked + 5_000, "its timeout to pass")
        assert (replicas(cluster), told(cluster, "Idle")) == (1, [])


def test_without_gpus_the_notebook_server_alone_is_asked(cluster: Cluster) -> None:
    with working(cluster, gpus=0, exporter=False):
        cluster.wait(lambda: replicas(cluster) == 0, "the workspace to be suspended")


def test_no_workspace_is_warned_or_suspended_without_the_right_to(cluster: Cluster) -> None:
    with working(cluster, Right("apps", "statefulsets", "patch")):
        cluster.wait(lambda: told(cluster, "CannotSuspend"), "the refusal")
        assert (replicas(cluster), told(cluster, "Idle")) == (1, [])
