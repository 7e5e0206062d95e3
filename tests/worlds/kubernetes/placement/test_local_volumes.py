"""Local volumes made by hand, with the controller that binds them, on a real API server."""

from collections.abc import Iterator

import pytest

from ganglion.worlds.kubernetes.cluster_view.orders import ClaimRef, VolumeRef
from ganglion.worlds.kubernetes.writes.choose import bind_volume
from ganglion.worlds.kubernetes.writes.outcome import WriteVerdict
from tests.controlplane.cluster import Cluster
from tests.controlplane.fixtures import MANAGER
from tests.controlplane.manifests import Object
from tests.worlds.kubernetes.feasibility.local import local_claim, local_class, local_volume
from tests.worlds.kubernetes.scheduling import scheduling, why
from tests.worlds.kubernetes.writes.real import QUICK, on

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def binder(cluster: Cluster) -> Iterator[None]:
    """The controller of Kubernetes that binds volumes and claims, and no other of its own."""
    if not cluster.plane.programs.has(MANAGER):
        pytest.skip(f"{cluster.plane.programs.path} has no {MANAGER}")
    cluster.plane.launch(MANAGER, ["--controllers=persistentvolume-binder-controller"])
    yield
    cluster.plane.end(MANAGER)


def make(cluster: Cluster, **where: str) -> None:
    """The class, and volumes by name on their nodes; each is free."""
    cluster.create(local_class())
    for name, node in where.items():
        add_volume(cluster, name, node)


def add_volume(cluster: Cluster, name: str, node: str) -> None:
    """The controller says that a volume is available; where it does not run, this does."""
    cluster.create(local_volume(name, node))
    path = f"{VOLUMES}/{name}/status"
    cluster.patch(path, {"status": {"phase": "Available"}})


def gang(cluster: Cluster, *names: str) -> list[str]:
    """A gang of one pod for each claim."""
    cluster.create(*(local_claim(each, namespace="default") for each in names))
    notes = {"ganglion.dev/gang-size": str(len(names))}
    found = []
    for name in names:
        found += cluster.add_pods(
            1,
            prefix=name,
            labels={"ganglion.dev/gang": "g"},
            annotations=notes,
            volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
        )
    return found


def owners(cluster: Cluster) -> dict[str, str]:
    """Volume -> claim that it names."""
    return {
        each["metadata"]["name"]: each["spec"]["claimRef"]["name"]
        for each in cluster.list(VOLUMES)
        if "claimRef" in each["spec"]
    }


def volume_of(cluster: Cluster, claim: str) -> str:
    return str(cluster.get(f"{CLAIMS}/{claim}")["spec"].get("volumeName", ""))


def test_members_are_bound_where_each_has_a_volume_of_its_own(
    cluster: Cluster, binder: None
) -> None:
    cluster.add_nodes(4, gpus=4)
    make(cluster, v1="node-1", v2="node-2", w2="node-2")
    with scheduling(cluster):
        nodes = cluster.wait_bound(gang(cluster, "a", "b", "c"))
    assert sorted(nodes.values()) == ["node-1", "node-2", "node-2"]
    bound = {name: volume_of(cluster, name) for name in "abc"}
    assert sorted(bound.values()) == ["v1", "v2", "w2"]
    assert {f"{name}-0": f"node-{volume[1]}" for name, volume in bound.items()} == nodes


def test_a_gang_waits_until_there_is_a_volume_for_each_member(
    cluster: Cluster, binder: None
) -> None:
    cluster.add_nodes(2, gpus=4)
    make(cluster, v1="node-1")
    with scheduling(cluster):
        pods = gang(cluster, "a", "b")
        cluster.wait(lambda: why(cluster.get(f"{PODS}/a-0")), "a reason")
        assert (cluster.bound(), owners(cluster)) == ({}, {})
        add_volume(cluster, "w1", "node-1")
        assert set(cluster.wait_bound(pods).values()) == {"node-1"}
    assert sorted(owners(cluster).values()) == ["a", "b"]


def test_a_scheduler_that_takes_over_keeps_to_what_was_written(cluster: Cluster) -> None:
    """No controller binds anything until the first scheduler is gone."""
    cluster.add_nodes(3, gpus=4)
    make(cluster, v1="node-1", v2="node-2")
    with scheduling(cluster):
        pods = gang(cluster, "a", "b")
        cluster.wait(lambda: len(owners(cluster)) == len(pods), "both are written")
        written = owners(cluster)
        assert not cluster.bound()
    cluster.create(*(local_volume(name, "node-0") for name in ("u0", "u1")))
    with scheduling(cluster) as scheduler:
        cluster.wait(lambda: scheduler.turns > 1, "it decides")
        assert not cluster.bound()
        cluster.plane.launch(MANAGER, ["--controllers=persistentvolume-binder-controller"])
        try:
            nodes = cluster.wait_bound(pods)
        finally:
            cluster.plane.end(MANAGER)
    assert owners(cluster) == written
    assert nodes == {f"{claim}-0": f"node-{name[1]}" for name, claim in written.items()}


def test_a_volume_that_somebody_else_takes_is_left_to_them(cluster: Cluster, binder: None) -> None:
    cluster.add_nodes(1, gpus=4)
    make(cluster, v0="node-0")
    cluster.create(local_claim("theirs", namespace="default", volumeName="v0"))
    cluster.wait(lambda: owners(cluster) == {"v0": "theirs"}, "it is theirs")
    with scheduling(cluster):
        pods = gang(cluster, "a")
        cluster.wait(lambda: why(cluster.get(f"{PODS}/a-0")), "a reason")
        assert owners(cluster) == {"v0": "theirs"}
        add_volume(cluster, "w0", "node-0")
        cluster.wait_bound(pods)
    assert owners(cluster) == {"v0": "theirs", "w0": "a"}


def test_a_volume_is_written_only_as_it_was_seen(cluster: Cluster) -> None:
    make(cluster, v0="node-0")
    cluster.create(*(local_claim(each, namespace="default") for each in ("a", "b")))
    seen = cluster.get(f"{VOLUMES}/v0")

    def write(claim: str, volume: Object) -> WriteVerdict:
        meta, own = cluster.get(f"{CLAIMS}/{claim}")["metadata"], volume["metadata"]
        to = VolumeRef(own["name"], own["uid"], own["resourceVersion"])
        who = ClaimRef("default", claim, meta["uid"], meta["resourceVersion"])
        return on(cluster.kubeconfig, lambda api: bind_volume(api, to, who, QUICK)).verdict

    assert write("a", seen) is WriteVerdict.DONE
    assert write("b", seen) is WriteVerdict.UNCHANGED
    assert owners(cluster) == {"v0": "a"}
    notes = cluster.get(f"{VOLUMES}/v0")["metadata"]["annotations"]
    assert notes["pv.kubernetes.io/bound-by-controller"] == "yes"
