"""One controller for several clusters: one queue tree, nodes apart."""

from ganglion.model.fleet.levels import Level
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.worlds.kubernetes.cluster_view.orders import Bind
from tests.controlplane import manifests
from tests.worlds.kubernetes.controller.stage import Body, Stage

EAST, WEST = "east", "west"


def node(name: str = "n0", gpus: int = 1) -> Body:
    return manifests.node(name, gpus=gpus, labels={"topology.kubernetes.io/zone": "a"})


def two_clusters(gpus: int = 1, queues: tuple[Queue, ...] = (Queue("default"),)) -> Stage:
    stage = Stage(EAST, WEST, queues=queues)
    for cluster in (EAST, WEST):
        stage.show(node(gpus=gpus), node("n1", gpus), cluster=cluster)
    return stage


def bound(stage: Stage) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for order in stage.ordered(Bind):
        cluster = stage.controller.cluster_of(order)
        found.setdefault(cluster, set()).update(pod.pod.name for pod in order.pods)
    return found


def test_nodes_lie_under_their_cluster() -> None:
    stage = two_clusters()
    stage.turn()
    tree = stage.controller.scene.state.fleet.tree
    assert sorted(tree.names) == ["east/n0", "east/n1", "west/n0", "west/n1"]
    assert tree.node("west/n0").domains == {Level.CLUSTER: WEST, Level.ZONE: "a"}
    assert not stage.controller.scene.sites[WEST].troubles


def test_a_gang_stays_in_its_own_cluster_even_if_it_waits_there() -> None:
    stage = two_clusters()
    stage.show(*manifests.gang("big", 3), cluster=EAST)
    stage.show(*manifests.gang("small", 2), cluster=WEST)
    stage.turn()
    assert bound(stage) == {WEST: {"small-0", "small-1"}}


def test_gangs_of_one_name_are_two() -> None:
    stage = two_clusters()
    for cluster in (EAST, WEST):
        stage.show(*manifests.gang("g", 2), cluster=cluster)
    stage.turn()
    assert bound(stage) == {EAST: {"g-0", "g-1"}, WEST: {"g-0", "g-1"}}


def test_a_limit_holds_for_all_clusters_together() -> None:
    stage = two_clusters(queues=(Queue("default", limit={"*": Amount(gpu_milli=3_000)}),))
    for cluster in (EAST, WEST):
        stage.show(*manifests.gang("g", 2), cluster=cluster)
    stage.turn()
    assert len(bound(stage)) == 1


def test_a_cluster_that_is_set_aside_is_taken_over_as_it_is_when_it_takes_part() -> None:
    stage = two_clusters()
    stage.controller.set_aside([WEST])
    running = [{**pod, "status": {"phase": "Running"}} for pod in manifests.gang("old", 2)]
    for number, pod in enumerate(running):
        pod["spec"]["nodeName"] = f"n{number}"
    stage.show(*running, cluster=WEST)
    stage.show(*manifests.gang("g", 2), cluster=EAST)
    stage.turn()
    assert bound(stage) == {EAST: {"g-0", "g-1"}}
    assert stage.controller.scene.state.fleet.tree.names == ["east/n0", "east/n1"]
    stage.controller.set_aside([])
    stage.show(*manifests.gang("late", 1), cluster=WEST)
    stage.turn()
    assert not bound(stage)
    (gang,) = (each for each in stage.controller.scene.attempts.by_gang if "old" in each)
    assert stage.nodes_of(gang) == ["west/n0", "west/n1"]
    assert len(stage.controller.scene.attempts.by_gang) == 2


def test_a_cluster_that_takes_part_is_never_set_aside_again() -> None:
    stage = two_clusters()
    stage.turn()
    stage.controller.set_aside([WEST])
    assert list(stage.controller.scene.sites) == [EAST, WEST]
