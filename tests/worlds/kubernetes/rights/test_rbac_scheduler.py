"""The whole scheduler works with the rights of the manifests."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ganglion.extensions import load
from ganglion.worlds.kubernetes.scheduler import Scheduler
from ganglion.worlds.kubernetes.sign_in.config import load as endpoint_of
from ganglion.worlds.kubernetes.watches import ALWAYS
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.rbac import (
    Right,
    bind_chart_role,
    chart_rights,
    define_kinds,
    without,
)


@contextmanager
def scheduling_with(cluster: Cluster, *lacking: Right) -> Iterator[Scheduler]:
    kubeconfig = bind_chart_role(cluster, "scheduler", without(*lacking))
    scheduler = Scheduler({"": endpoint_of(kubeconfig)}, "test", may=lambda: True, load=load)
    scheduler.start()
    try:
        yield scheduler
    finally:
        scheduler.stop()


def test_gangs_of_jobs_and_of_pods_start(cluster: Cluster) -> None:
    define_kinds(cluster)
    cluster.add_nodes(2, gpus=4)
    cluster.create(
        {
            "apiVersion": "ganglion.dev/v1alpha1",
            "kind": "Queue",
            "metadata": {"name": "default"},
            "spec": {"quota": {"*": 8}},
        }
    )
    with scheduling_with(cluster) as scheduler:
        names = cluster.add_gang("train", 2, gpus=4)
        cluster.wait_bound(names)
        assert not scheduler.trouble
        assert [each for each in scheduler.troubles().values() if "forbidden" in each] == []


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_every_collection_that_it_may_not_follow_is_told_of(cluster: Cluster, verb: str) -> None:
    define_kinds(cluster)
    paths = {each.path for each in ALWAYS}
    gone = [each for each in chart_rights() if each.verb == verb and path_of(each) in paths]
    assert len(gone) == len(paths)
    with scheduling_with(cluster, *gone) as scheduler:
        cluster.wait(
            lambda: set(forbidden(scheduler)) >= paths,
            f"troubles, now {scheduler.troubles()}",
        )


def path_of(right: Right) -> str:
    """The collection that a right is about, in all namespaces."""
    root = f"/apis/{right.group}" if right.group else "/api"
    version = "v1alpha1" if right.group == "ganglion.dev" else "v1"
    return f"{root}/{version}/{right.resource}"


def forbidden(scheduler: Scheduler) -> list[str]:
    """Paths that the scheduler says it may not follow."""
    return [path for path, why in scheduler.troubles().items() if "forbidden" in why]
