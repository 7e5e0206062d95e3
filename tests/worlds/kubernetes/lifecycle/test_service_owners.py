"""Services that are no Deployments follow their load as well, on a real API server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.controlplane.cluster import Cluster
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes import controllers
from tests.worlds.kubernetes.crds import definition
from tests.worlds.kubernetes.lifecycle.metered import ADDRESS, Metered
from tests.worlds.kubernetes.lifecycle.test_services import KIND, LWS, living, notes_of, scaling
from tests.worlds.kubernetes.scheduling import scheduling
from tests.worlds.kubernetes.workloads import leader_worker_set, stateful_set, template

NAME = f"{controllers.LWS}/name"
GROUP = f"{controllers.LWS}/group-index"
PLACE = f"{controllers.LWS}/worker-index"
PODS = "/api/v1/namespaces/default/pods"
ANSWERS = {"test/address": ADDRESS}

pytestmark = pytest.mark.usefixtures("kubelets")


@contextmanager
def serving(cluster: Cluster, service: Object, at_work: Callable[[], int]) -> Iterator[Metered]:
    """A service of 1 to 3 replicas that do 8 requests each; all are metered by one server."""
    with Metered(at_work) as metered, scheduling(cluster) as scheduler:
        service["metadata"] |= {"labels": KIND, "annotations": scaling(metered.port, "1..3")}
        cluster.create(service)
        with living(cluster, scheduler):
            yield metered


def wanted(cluster: Cluster, service: Object) -> int:
    return int(cluster.get(cluster.path(service))["spec"]["replicas"])


def running(cluster: Cluster, selector: str) -> list[Object]:
    found = cluster.pods("default", labelSelector=selector).values()
    return [each for each in found if each["status"]["phase"] == "Running"]


@pytest.mark.usefixtures("manager")
def test_a_stateful_set_follows_its_load(cluster: Cluster) -> None:
    cluster.add_nodes(2, gpus=2)
    service = stateful_set("api", 1)
    service["spec"]["template"] = template(1, {"app": "api"}, ANSWERS)

    def at_work() -> int:
        return len(running(cluster, "app=api"))

    with serving(cluster, service, at_work) as metered:
        cluster.wait(lambda: at_work() == 1, "the first replica")
        metered.load = 24
        cluster.wait(lambda: at_work() == 3, "three replicas at work")
        metered.load = 2
        cluster.wait(lambda: wanted(cluster, service) == 1 == at_work(), "one replica again")
        assert any("from 1 to 3 replicas" in each for each in notes_of(cluster, "Scaled"))


def grown(cluster: Cluster, service: Object) -> None:
    """Make groups, as the controller of LeaderWorkerSets does, until there are enough of them."""

    def kept(body: Object) -> Object:
        return cluster.find(cluster.path(body)) or cluster.create(body)[0]

    spec = {**service["spec"], "replicas": wanted(cluster, service)}
    controllers.play(kept, {**service, "spec": spec}, frozenset())


def shrunk(cluster: Cluster, service: Object) -> None:
    """Take groups away, the last first, until there are no more than are wanted."""
    for name, pod in cluster.pods("default", labelSelector=f"{NAME}=chat").items():
        if int(pod["metadata"]["labels"][GROUP]) >= wanted(cluster, service):
            cluster.delete(f"{PODS}/{name}")


def test_groups_of_a_leader_and_workers_come_and_go_whole_with_the_load(cluster: Cluster) -> None:
    cluster.create(definition(*LWS, scale=True))
    cluster.add_nodes(3, gpus=2)
    service = leader_worker_set("chat", 1, 3)
    parts = {"leaderTemplate": template(0, {}, ANSWERS), "workerTemplate": template(1)}
    service["spec"]["leaderWorkerTemplate"] |= parts

    def at_work() -> int:
        return len(running(cluster, f"{NAME}=chat,{PLACE}=0"))

    with serving(cluster, service, at_work) as metered:
        grown(cluster, service)
        cluster.wait(lambda: at_work() == 1, "the first group")
        metered.load = 24
        cluster.wait(lambda: wanted(cluster, service) == 3, "it to be scaled up")
        grown(cluster, service)
        cluster.wait(lambda: len(running(cluster, f"{NAME}=chat")) == 9, "three whole groups")
        metered.load = 2
        cluster.wait(lambda: wanted(cluster, service) == 1, "it to be scaled down")
        shrunk(cluster, service)
        cluster.wait(lambda: len(running(cluster, f"{NAME}=chat")) == 3, "one whole group")
        assert at_work() == 1
