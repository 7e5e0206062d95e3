"""Services of a cluster follow their load, on a real API server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ganglion.seams.clock import SYSTEM_CLOCK
from ganglion.server.cluster.controllers.eyes import sight_of
from ganglion.server.cluster.controllers.keeper import Lives
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.sign_in.config import load as endpoint_of
from ganglion.worlds.kubernetes.types.times import read_ms, seconds
from tests.controlplane.cluster import Cluster, wait
from tests.controlplane.manifests import Object
from tests.faults.clock import HandClock
from tests.worlds.kubernetes.crds import definition
from tests.worlds.kubernetes.lifecycle.metered import ADDRESS, Metered
from tests.worlds.kubernetes.rbac import LIVES, Right, bind_chart_role, without
from tests.worlds.kubernetes.scheduling import scheduling
from tests.worlds.kubernetes.workloads import deployment, leader_worker_set, stateful_set

now_ms = SYSTEM_CLOCK.now_ms
PATH = "/apis/apps/v1/namespaces/default/deployments/api"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LWS = ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")
KIND = {"ganglion.dev/kind": "service"}
PROMPT = "window: 2s, panic_window: 1s, hold_down: 1s, up: any, down: any"

pytestmark = pytest.mark.usefixtures("manager", "kubelets")


def scaling(port: int, replicas: str) -> dict[str, str]:
    """Annotations of a service whose replicas do 8 requests each and report them on a port."""
    return {
        "ganglion.dev/replicas": replicas,
        "ganglion.dev/scale": f"{{requests: 8, source: metrics, {PROMPT}}}",
        "ganglion.dev/port": str(port),
    }


def service(port: int, replicas: str = "1..4", **notes: str) -> Object:
    """A Deployment whose pods are all metered by one server."""
    floor = replicas.partition("..")[0]
    pod = {"test/address": ADDRESS, "ganglion.dev/floor": floor}
    said = {**scaling(port, replicas), **notes}
    return deployment("api", 1, pod, 1, labels=KIND, annotations=said)


@contextmanager
def living(cluster: Cluster, scheduler: Scheduler, *lacking: Right) -> Iterator[None]:
    """A controller of services, with the rights of the manifests, or all but some."""
    endpoint = endpoint_of(bind_chart_role(cluster, "lives", without(*lacking)))
    lives = Lives(endpoint, "test", sight_of(scheduler, ""), may=lambda: True)
    lives.start()
    try:
        yield
    finally:
        lives.stop()


@contextmanager
def serving(cluster: Cluster, **notes: str) -> Iterator[Metered]:
    """A service at work on four GPUs."""
    cluster.add_nodes(2, gpus=2)
    with Metered(lambda: ready(cluster)) as metered, scheduling(cluster) as scheduler:
        cluster.apply(service(metered.port, **notes))
        with living(cluster, scheduler):
            yield metered


def of_kind(cluster: Cluster, kind: str) -> Object:
    """A service of one replica that has to have two."""
    if kind == "LeaderWorkerSet":
        cluster.create(definition(*LWS, scale=True))
    make = {"Deployment": deployment, "StatefulSet": stateful_set}.get(kind, leader_worker_set)
    body = make("api", 1)
    notes = {"ganglion.dev/replicas": "2..4", "ganglion.dev/scale": "{requests: 8}"}
    body["metadata"] |= {"labels": KIND, "annotations": notes}
    return body


def ready(cluster: Cluster) -> int:
    return int(cluster.get(PATH).get("status", {}).get("readyReplicas", 0))


def wanted(cluster: Cluster) -> int:
    return int(cluster.get(PATH)["spec"]["replicas"])


def notes_of(cluster: Cluster, reason: str) -> list[str]:
    return [each.get("note", "") for each in cluster.list(EVENTS) if each["reason"] == reason]


def test_a_service_follows_its_load_up_and_down(cluster: Cluster) -> None:
    with serving(cluster) as metered:
        cluster.wait(lambda: ready(cluster) == 1, "the first replica")
        metered.load = 30
        cluster.wait(lambda: ready(cluster) == 4, "four replicas at work")
        metered.load = 2
        cluster.wait(lambda: wanted(cluster) == 1 == ready(cluster), "one replica again")
        told = notes_of(cluster, "Scaled")
        assert any(each.startswith("from 1 to 4 replicas: ") for each in told)


def test_a_service_whose_load_nobody_knows_stays_as_it_is_and_says_so(cluster: Cluster) -> None:
    with serving(cluster) as metered:
        cluster.wait(lambda: ready(cluster) == 1, "the first replica")
        metered.load = 20
        cluster.wait(lambda: ready(cluster) == 3, "three replicas")
        metered.load = -1
        cluster.wait(lambda: notes_of(cluster, "CannotScale"), "the alarm")
        assert wanted(cluster) == 3
        assert "metrics.lost" in notes_of(cluster, "CannotScale")[0]


def test_a_service_that_says_nonsense_is_told_and_hurts_no_other(cluster: Cluster) -> None:
    with serving(cluster) as metered:
        odd = service(metered.port, **{"ganglion.dev/replicas": "8..1"})
        odd["metadata"]["name"] = "odd"
        cluster.apply(odd)
        cluster.wait(lambda: notes_of(cluster, "Odd"), "the complaint")
        assert "8..1" in notes_of(cluster, "Odd")[0]
        metered.load = 16
        cluster.wait(lambda: wanted(cluster) == 2, "the other service to follow its load")


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "LeaderWorkerSet"])
@pytest.mark.parametrize("is_allowed", [True, False])
def test_no_service_is_scaled_without_the_right_to(
    cluster: Cluster, kind: str, is_allowed: bool
) -> None:
    body = of_kind(cluster, kind)
    (right,) = (each for each in LIVES if each.resource == f"{kind.lower()}s/scale")
    lacking = () if is_allowed else (right,)
    with scheduling(cluster) as scheduler, living(cluster, scheduler, *lacking):
        cluster.apply(body)
        reason = "Scaled" if is_allowed else "CannotScale"
        cluster.wait(lambda: notes_of(cluster, reason), "the floor to be tried")
        replicas = cluster.get(cluster.path(body))["spec"]["replicas"]
        assert replicas == (2 if is_allowed else 1)


def test_a_number_by_hand_stays_until_its_time_is_over(cluster: Cluster) -> None:
    with serving(cluster) as metered:
        cluster.wait(lambda: ready(cluster) == 1, "the first replica")
        until = seconds(now_ms() + 12_000)
        note = {"metadata": {"annotations": {"ganglion.dev/held-until": until}}}
        cluster.patch(PATH, {**note, "spec": {"replicas": 3}})
        cluster.wait(lambda: ready(cluster) == 3, "the number that was set")
        metered.load = 2
        assert now_ms() < read_ms(until) - 1_000, "the number is observed before its time is over"
        while now_ms() < read_ms(until) - 1_000:
            assert wanted(cluster) == 3
        cluster.wait(lambda: wanted(cluster) == 1, "load to count again")
        assert now_ms() >= read_ms(until)


def test_what_a_person_changes_in_the_same_moment_is_not_undone(cluster: Cluster) -> None:
    with serving(cluster) as metered:
        cluster.wait(lambda: ready(cluster) == 1, "the first replica")
        cluster.patch(PATH, {"metadata": {"annotations": {"ganglion.dev/replicas": "2..4"}}})
        cluster.wait(lambda: wanted(cluster) == 2, "the new floor")
        assert metered.load == 0


def test_a_controller_that_failed_can_be_stopped() -> None:
    failed = threading.Event()

    def fails() -> bool:
        failed.set()
        raise ValueError("a defect")

    nothing = ClusterSight(lambda _: {}, lambda *_: [], lambda _: [])
    endpoint = ApiEndpoint(name="none", url="http://127.0.0.1:9")
    lives = Lives(endpoint, "test", nothing, may=fails, clock=HandClock())
    lives.start()
    assert failed.wait(30)
    wait(lambda: "lives" not in {each.name for each in threading.enumerate()}, "its thread ends")
    lives.stop()
