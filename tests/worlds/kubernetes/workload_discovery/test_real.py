"""Gangs of objects on a real API server, made by real controllers where there are any.

`manager` comes after `cluster`, so that it has ended before the cluster is emptied.
"""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import convert

from benchmarks.controlplane.flags import Options
from ganglion.worlds.kubernetes.types.meta import Anything, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from ganglion.worlds.kubernetes.workload_discovery.grouping import Grouping
from ganglion.worlds.kubernetes.workload_kinds.kinds import UPSTREAM_GROUP
from ganglion.worlds.kubernetes.workload_kinds.owners import WantedOwner
from tests.controlplane.cluster import Cluster, Refused
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.controllers import play
from tests.worlds.kubernetes.crds import definitions
from tests.worlds.kubernetes.workload_discovery.scene import sizes

Body = dict[str, Any]


class Eyes:
    """Sees a cluster by asking for what a Grouping wants to know."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.things: dict[tuple[str, str, str], Anything] = {}
        self.grouping = Grouping(self.look)
        self.seen: set[str] = set()

    def look(self, ref: OwnerReference, namespace: str) -> Anything | None:
        """What was fetched so far."""
        return self.things.get((ref.kind, namespace, ref.name))

    def refresh(self) -> dict[str, FoundGang]:
        """All gangs as they are now."""
        pods = {each["metadata"]["uid"]: each for each in self.cluster.list("/api/v1/pods")}
        for uid in self.seen - pods.keys():
            self.grouping.drop(uid)
        self.seen = set(pods)
        for each in pods.values():
            self.grouping.put(convert(each, Pod, strict=False))
        for known in list(self.things.values()):
            self._fetch(known.api_version, known.kind, known.metadata)
        while any(self._want(each) for each in self.grouping.wanted_owners()):
            """What was found may itself have an owner."""
        found = (self.grouping.found(key) for key in self.grouping.all_keys())
        return {each.key: each for each in found if each}

    def _want(self, wanted: WantedOwner) -> bool:
        """Fetch an object by the path that was named; whether it was there and news."""
        path, group = wanted.path, UPSTREAM_GROUP[0]
        if path.startswith(f"/apis/{group}/"):
            rest = path.split("/", 4)[4]
            served = self.cluster.get(f"/apis/{group}")["versions"]
            paths = [f"/apis/{each['groupVersion']}/{rest}" for each in served]
        else:
            paths = [path]
        body = next(filter(None, map(self.cluster.find, paths)), None)
        return body is not None and self._take(body)

    def _fetch(self, api_version: str, kind: str, meta: Any) -> None:
        head = {"name": meta.name, "namespace": meta.namespace}
        body = {"apiVersion": api_version, "kind": kind, "metadata": head}
        now = self.cluster.find(self.cluster.path(body))
        if now is None:
            thing = self.things.pop((kind, meta.namespace, meta.name))
            self.grouping.owner_changed(thing)
        else:
            self._take(now)

    def _take(self, body: Body) -> bool:
        thing = convert(body, Anything, strict=False)
        key = (thing.kind, thing.metadata.namespace, thing.metadata.name)
        if self.things.get(key) == thing:
            return False
        self.things[key] = thing
        self.grouping.owner_changed(thing)
        return True


def wait_for(eyes: Eyes, expected: int) -> dict[str, FoundGang]:
    """Gangs once there are as many as expected and all are complete."""

    def ready() -> dict[str, FoundGang] | None:
        found = eyes.refresh()
        done = len(found) == expected and not any(each.lacking for each in found.values())
        return found if done else None

    try:
        return dict(eyes.cluster.wait(ready, "complete gangs"))
    except AssertionError:
        found = {key: (each.lacking, sizes(each)) for key, each in eyes.refresh().items()}
        raise AssertionError(f"{len(found)} gangs of {expected}: {found}") from None


def test_jobs_stateful_sets_and_deployments_of_the_real_controllers_are_gangs(
    cluster: Cluster,
    manager: None,
) -> None:
    train = w.job("train", 3)
    queue = w.job("many", 2, completions=5)
    cluster.create(train, queue)
    cluster.create(w.stateful_set("db", 2))
    cluster.create(w.stateful_set("ordered", 2, "OrderedReady"))
    cluster.create(w.deployment("web", 2))
    eyes = Eyes(cluster)
    found = wait_for(eyes, 6)
    by_name = {each.name: sizes(each)["main"] for each in found.values()}
    assert by_name == {
        "train": (3, 3, 3),
        "many": (2, 2, 2),
        "db": (2, 2, 2),
        "ordered": (2, 2, 1),
        "web": (1, 1, 1),
    }
    assert {each.refused for each in found.values()} == {""}


def test_pods_that_the_real_controllers_make_anew_take_the_seats_of_the_old(
    cluster: Cluster,
    manager: None,
) -> None:
    cluster.create(w.job("train", 3))
    cluster.create(w.stateful_set("db", 2))
    eyes = Eyes(cluster)
    before = wait_for(eyes, 2)
    old = {each.pod.metadata.uid for gang in before.values() for each in gang.members}
    for gang in before.values():
        name = gang.members[1].pod.metadata.name
        cluster.delete(f"/api/v1/namespaces/default/pods/{name}", grace=0)

    def anew() -> dict[str, FoundGang] | None:
        found = eyes.refresh()
        now = {each.pod.metadata.uid for gang in found.values() for each in gang.members}
        return found if len(now) == 5 and len(now - old) == 2 else None

    after = cluster.wait(anew, "new pods")
    assert {key: each.created_ms for key, each in after.items()} == {
        key: each.created_ms for key, each in before.items()
    }
    for key, gang in after.items():
        assert [each.index for each in gang.members] == [each.index for each in before[key].members]
        assert gang.lacking == ""


def test_the_next_completion_of_a_real_job_takes_the_seat_of_the_one_that_succeeded(
    cluster: Cluster,
    manager: None,
) -> None:
    cluster.create(w.job("many", 2, completions=3))
    eyes = Eyes(cluster)
    (gang,) = wait_for(eyes, 1).values()
    stays, ends = gang.members
    cluster.add_nodes(1)
    cluster.bind(ends.pod.metadata.name, "node-0")
    cluster.set_phase(ends.pod.metadata.name, "Succeeded")

    def third() -> FoundGang | None:
        (now,) = eyes.refresh().values()
        names = {each.pod.metadata.name for each in now.members}
        return now if len(names) == 2 and ends.pod.metadata.name not in names else None

    now: FoundGang = cluster.wait(third, "the third completion")
    assert now.members[0].pod.metadata.uid == stays.pod.metadata.uid
    assert [each.index for each in now.members] == [0, 1]
    assert now.members[1].pod.metadata.labels["batch.kubernetes.io/job-completion-index"] == "2"


def patiently(cluster: Cluster) -> Callable[[Body], Body]:
    """Creates objects of kinds that were defined, or defined anew, just now."""

    def create(body: Body) -> Body | None:
        try:
            return cluster.create(body)[0]
        except Refused as refused:
            if refused.status not in (404, 429, 503):
                raise
            return None

    return lambda body: dict(cluster.wait(lambda: create(body), f"{body['kind']} to be served"))


def _in(namespace: str, body: Body) -> Body:
    body["metadata"]["namespace"] = namespace
    return body


_EVERY_KIND: dict[str, tuple[Body, dict[str, tuple[int, int, int]]]] = {
    "JobSet": (w.job_set("llm"), {"driver": (1, 1, 1), "worker": (6, 6, 6)}),
    "TrainJob": (w.train_job("tune", 2), {"node": (2, 2, 2)}),
    **{
        kind: (w.kubeflow(kind, field, "kf", Worker=2), {"worker": (2, 2, 2)})
        for kind, field in (
            ("PyTorchJob", "pytorchReplicaSpecs"),
            ("TFJob", "tfReplicaSpecs"),
            ("XGBoostJob", "xgbReplicaSpecs"),
            ("PaddleJob", "paddleReplicaSpecs"),
            ("JAXJob", "jaxReplicaSpecs"),
        )
    },
    "MPIJob": (w.mpi_job("mpi", 2), {"launcher": (1, 1, 1), "worker": (2, 2, 2)}),
    "RayCluster": (w.ray_cluster("ray"), {"head": (1, 1, 1), "gpu": (2, 2, 2)}),
    "RayJob": (
        w.ray_job("rjob"),
        {"head": (1, 1, 1), "gpu": (2, 2, 2), "submitter": (1, 1, 0)},
    ),
    "RayService": (w.ray_service("rsvc"), {"head": (1, 1, 1), "gpu": (2, 2, 2)}),
    "Notebook": (w.notebook("nb"), {"main": (1, 1, 1)}),
    "AppWrapper": (w.app_wrapper(w.job("inner", 2)), {"inner": (2, 2, 2)}),
    "SparkApplication": (w.spark("etl", 2), {"driver": (1, 1, 1), "executor": (2, 2, 0)}),
}


def test_every_kind_of_owner_is_found_by_its_path_and_is_one_complete_gang(
    cluster: Cluster,
    manager: None,
) -> None:
    cluster.define(*definitions())
    for kind, (body, _) in _EVERY_KIND.items():
        space = cluster.add_namespace(f"of-{kind.lower()}")
        play(patiently(cluster), _in(space, body))
    space = cluster.add_namespace("of-inferenceservice")
    play(patiently(cluster), _in(space, w.inference_service("bert")))
    eyes = Eyes(cluster)
    found = wait_for(eyes, len(_EVERY_KIND) + 2)
    by_space = {each.namespace: each for each in found.values()}
    for kind, (_, expected) in _EVERY_KIND.items():
        gang = by_space[f"of-{kind.lower()}"]
        assert (kind, sizes(gang), gang.refused, gang.spare) == (kind, expected, "", ())
        there = sum(count for count, _, upfront in expected.values() if upfront)
        assert len(gang.members) >= there
        assert gang.owner is not None
        assert cluster.get(gang.owner.path)["metadata"]["uid"] == gang.owner.uid
    assert by_space["of-inferenceservice"].name == "bert"


def test_every_replica_of_a_leader_worker_set_is_a_gang(cluster: Cluster) -> None:
    cluster.define(*(each for each in definitions() if "leader" in each["metadata"]["name"]))
    body = w.leader_worker_set("vllm", 2, 3)
    play(patiently(cluster), body, real=frozenset())
    found = wait_for(Eyes(cluster), 2)
    for index, gang in enumerate(found.values()):
        assert sizes(gang) == {"leader": (1, 1, 1), "worker": (2, 2, 2)}
        assert (len(gang.members), gang.index, gang.refused) == (3, index, "")


@pytest.mark.parametrize(
    ("label", "version"),
    [
        ("scheduling.x-k8s.io/pod-group", "scheduling.x-k8s.io/v1alpha1"),
        ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/v1beta1"),
        ("pod-group-name", "scheduling.run.ai/v2alpha2"),
    ],
)
def test_pod_groups_of_others_are_found_by_name(cluster: Cluster, label: str, version: str) -> None:
    group = version.partition("/")[0]
    cluster.define(*(each for each in definitions() if each["spec"]["group"] == group))
    cluster.create(*(w.bare(f"p-{index}", labels={label: "g"}) for index in range(2)))
    eyes = Eyes(cluster)
    waiting = {key: each.lacking for key, each in eyes.refresh().items()}
    assert list(waiting.values()) == ["its PodGroup default/g is not known yet"], waiting
    patiently(cluster)(w.thing(version, "PodGroup", "g", {"minMember": 2}))
    (found,) = wait_for(eyes, 1).values()
    assert [(each.count, each.least) for each in found.sets] == [(2, 2)]


def test_the_pod_group_of_upstream_is_a_gang(
    another_cluster: Callable[[Options], Cluster],
) -> None:
    gates = ("GenericWorkload=true", "GangScheduling=true")
    cluster = another_cluster(Options(gates=gates, all_apis=True))
    pods = [w.bare(f"p-{index}") for index in range(3)]
    for each in pods:
        each["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    cluster.create(*pods)
    eyes = Eyes(cluster)
    waiting = {key: each.lacking for key, each in eyes.refresh().items()}
    assert list(waiting.values()) == ["its PodGroup default/g is not known yet"], waiting
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    cluster.create(w.thing("scheduling.k8s.io/v1alpha2", "PodGroup", "g", policy))
    (found,) = wait_for(eyes, 1).values()
    assert [(each.count, each.least) for each in found.sets] == [(3, 2)]
    assert found.owner is not None
    assert cluster.get(found.owner.path)["metadata"]["uid"] == found.owner.uid
