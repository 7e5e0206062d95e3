"""Submitted workloads on a real API server: accepted, created all or none, found, removed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.submit.make import Manifest, compiled

from ganglion.model.errors import Conflict, InputError, NotFound, StateError
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.submit.creating import create, rehearse
from ganglion.worlds.kubernetes.submit.finding import find, remove

T = TypeVar("T")

FILES = {
    "train": "{name: a, image: i, run: 'torchrun t.py', nodes: 2..4, gpus: 'H100:80GB:8',"
    " checkpoint: {interval: 5m, path: 'pvc://c/d'}, time_limit: 1h, env: [A=1], labels: {x: y}}",
    "sets": "{name: a, image: i, run: [a], pod_sets: [{name: l, nodes: 2, resources: {gpus: 8}},"
    " {name: w, nodes: 3, procs_per_node: 2}], placement: rack}",
    "service": "{name: 7b, image: i, run: [a], port: 80, replicas: 2, gpus: 1}",
    "wide service": "{name: a, kind: service, image: i, run: [a], port: 80, replicas: 2, nodes: 2}",
    "workspace": "{name: a, image: i, run: [a], port: 80, idle_timeout: 1h, gpus: 0.5}",
    "wide workspace": "{name: a, kind: workspace, image: i, run: [a], port: 80, nodes: 2}",
    "sweep": "{name: a, image: i, run: 'a {x}', params: {x: 0..9}, parallel: 3, retry: {on: []}}",
    "wide sweep": "{name: a, image: i, run: 'a {x}', nodes: 2, params: {x: 0..2}}",
    "batch": "{name: a, image: i, run: [a], priority: 30, constraints: {isolation: workload,"
    " labels: {a: b}, avoid: {c: [d, e]}, residency: [eu]}, retry: 3, hold: true}",
    "apart": "{name: a, image: i, run: [a], nodes: 3, placement: {forbidden: zone}}",
}


@pytest.fixture
def on(cluster: Cluster) -> Callable[[Callable[[Api], Awaitable[T]]], T]:
    """Do something with a client of the cluster, which has the namespace team-a."""
    cluster.add_namespace("team-a")

    def do(work: Callable[[Api], Awaitable[T]]) -> T:
        async def whole() -> T:
            api = Api(cluster.endpoint)
            try:
                return await work(api)
            finally:
                await api.close()

        return asyncio.run(whole())

    return do


On = Callable[[Callable[[Api], Awaitable[Any]]], Any]
JOB = "/apis/batch/v1/namespaces/team-a/jobs/a"
BATCH = "{name: a, image: i, run: [a], nodes: 2}"


def everything(cluster: Cluster) -> list[str]:
    """What lies in the namespace, beside what every namespace has."""
    paths = {
        "Job": "/apis/batch/v1/namespaces/team-a/jobs",
        "Service": "/api/v1/namespaces/team-a/services",
        "ConfigMap": "/api/v1/namespaces/team-a/configmaps",
        "Secret": "/api/v1/namespaces/team-a/secrets",
    }
    return [
        f"{kind} {each['metadata']['name']}"
        for kind, path in paths.items()
        for each in cluster.list(path)
        if each["metadata"]["name"] != "kube-root-ca.crt"
    ]


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_the_server_takes_every_kind(on: On, cluster: Cluster, text: str) -> None:
    on(lambda api: rehearse(api, compiled(text, secrets=frozenset({"A"}))))
    assert everything(cluster) == []


def test_all_is_there_before_anything_runs_and_belongs_to_the_first(
    on: On, cluster: Cluster
) -> None:
    made = compiled(BATCH)
    on(lambda api: create(api, made, key="k"))
    job = cluster.get(JOB)
    assert job["spec"]["suspend"] is False
    assert "ganglion.dev/release" not in job["metadata"]["annotations"]
    service = cluster.get("/api/v1/namespaces/team-a/services/a")
    assert service["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]


def test_held_workloads_stay_suspended(on: On, cluster: Cluster) -> None:
    on(lambda api: create(api, compiled("{name: a, image: i, run: [a], hold: true}"), key="k"))
    assert cluster.get(JOB)["spec"]["suspend"] is True


def test_a_name_that_is_taken_is_a_conflict_and_nothing_changes(on: On, cluster: Cluster) -> None:
    on(lambda api: create(api, compiled(BATCH), key="k"))
    before = everything(cluster)
    with pytest.raises(Conflict, match="Job team-a/a exists already") as refused:
        on(lambda api: create(api, compiled(BATCH), key="other"))
    assert "ganglion cancel a" in refused.value.hint
    assert everything(cluster) == before


def test_the_same_submit_again_finishes_what_was_begun(on: On, cluster: Cluster) -> None:
    made = compiled(BATCH)

    class Killed(BaseException):
        pass

    class Dying(Api):
        async def create(self, path: str, *args: Any, **rest: Any) -> Any:
            if path.endswith("configmaps"):
                raise Killed
            return await super().create(path, *args, **rest)

    async def die() -> None:
        api = Dying(cluster.endpoint)
        try:
            await create(api, made, key="k")
        finally:
            await api.close()

    with pytest.raises(Killed):
        asyncio.run(die())
    assert cluster.get(JOB)["spec"]["suspend"] is True, "nothing runs before all is there"
    on(lambda api: create(api, made, key="k"))
    assert cluster.get(JOB)["spec"]["suspend"] is False
    assert everything(cluster) == ["Job a", "Service a", "ConfigMap a"]


def test_when_the_second_object_fails_the_first_is_removed(on: On, cluster: Cluster) -> None:
    mine = {"apiVersion": "v1", "kind": "ConfigMap"}
    cluster.create(mine | {"metadata": {"name": "a", "namespace": "team-a"}, "data": {"k": "v"}})
    with pytest.raises(Conflict, match="ConfigMap team-a/a exists already"):
        on(lambda api: create(api, compiled(BATCH), key="k"))
    assert everything(cluster) == ["ConfigMap a"]


def test_what_the_server_finds_wrong_is_the_persons_input(on: On, cluster: Cluster) -> None:
    broken: list[Manifest] = [*compiled(BATCH)]
    broken[0]["spec"]["completions"] = -1
    with pytest.raises(InputError, match="refuses Job team-a/a"):
        on(lambda api: create(api, broken, key="k"))
    elsewhere = [{**each} for each in compiled(BATCH)]
    for each in elsewhere:
        each["metadata"] = each["metadata"] | {"namespace": "nowhere"}
    with pytest.raises(StateError) as refused:
        on(lambda api: create(api, elsewhere, key="k"))
    assert "nowhere" in refused.value.hint
    assert everything(cluster) == []


def test_workloads_are_found_with_their_pods_and_removed(on: On, cluster: Cluster) -> None:
    on(lambda api: create(api, compiled(FILES["sets"]), key="k"))
    (seen,) = on(lambda api: find(api, "team-a"))
    assert [main.metadata.name for main in seen.mains] == ["a-l", "a-w"]
    on(lambda api: remove(api, "team-a", "a", force=True))
    assert [each for each in everything(cluster) if each.startswith("Job")] == []
    with pytest.raises(NotFound):
        on(lambda api: remove(api, "team-a", "a"))


def test_what_was_applied_by_other_means_is_removed_whole(on: On, cluster: Cluster) -> None:
    cluster.create(compiled(BATCH)[0])
    cluster.create(compiled(BATCH)[1])
    on(lambda api: remove(api, "team-a", "a", force=True))
    assert everything(cluster) == []


def test_one_gang_of_several_is_removed_alone(on: On, cluster: Cluster) -> None:
    on(lambda api: create(api, compiled(FILES["wide sweep"]), key="k"))
    on(lambda api: remove(api, "team-a", "a", index=1, force=True))
    jobs = [each for each in everything(cluster) if each.startswith("Job")]
    assert jobs == ["Job a-0", "Job a-2"]
    with pytest.raises(StateError, match="cannot be stopped alone"):
        on(lambda api: remove(api, "team-a", "a", index=7))
