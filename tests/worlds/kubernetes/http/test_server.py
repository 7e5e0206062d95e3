"""The client against a real API server."""

import asyncio

import pytest
from msgspec.structs import replace

from ganglion.worlds.kubernetes.http.client import Api, Params
from ganglion.worlds.kubernetes.http.errors import (
    Absent,
    ForbiddenRequest,
    InvalidRequest,
    ObjectConflict,
    TooMany,
)
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.sign_in.config import load
from ganglion.worlds.kubernetes.sign_in.kubeconfig import Person
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes.http.double import using

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_an_object_is_created_read_changed_and_deleted(cluster: Cluster) -> None:
    async def task(api: Api) -> None:
        made = await api.create(MAPS, config_map("a", x="1"), Anything)
        path = f"{MAPS}/a"
        assert (await api.get(path, Anything)).metadata.uid == made.metadata.uid
        patched = await api.patch(path, {"data": {"y": "2"}}, Patch.MERGE, Anything)
        assert patched.metadata.resource_version != made.metadata.resource_version
        assert cluster.get(path)["data"] == {"x": "1", "y": "2"}
        await api.delete(path, uid=made.metadata.uid)
        with pytest.raises(Absent) as caught:
            await api.get(path, Anything)
        assert caught.value.reason == "NotFound"

    using(cluster.endpoint, task)


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (Patch.MERGE, {"data": {"x": "2"}}),
        (Patch.STRATEGIC, {"data": {"x": "2"}}),
        (Patch.JSON, [{"op": "replace", "path": "/data/x", "value": "2"}]),
        (Patch.APPLY, config_map("a", x="2")),
    ],
)
def test_every_form_of_a_patch_is_understood(cluster: Cluster, form: Patch, body: object) -> None:
    async def task(api: Api) -> None:
        await api.create(MAPS, config_map("a", x="1"))
        await api.patch(f"{MAPS}/a", body, form, manager="ganglion", force=form is Patch.APPLY)

    using(cluster.endpoint, task)
    assert cluster.get(f"{MAPS}/a")["data"] == {"x": "2"}


def test_conflicts_say_which_they_are(cluster: Cluster) -> None:
    async def task(api: Api) -> None:
        made = await api.create(MAPS, config_map("a"), Anything)
        with pytest.raises(ObjectConflict) as twice:
            await api.create(MAPS, config_map("a"))
        assert twice.value.reason == "AlreadyExists"
        stale = config_map("a") | {"metadata": {"name": "a", "resourceVersion": "1"}}
        with pytest.raises(ObjectConflict) as changed:
            await api.replace(f"{MAPS}/a", stale)
        assert changed.value.reason == "Conflict"
        with pytest.raises(ObjectConflict):
            await api.delete(f"{MAPS}/a", uid="of another")
        assert (await api.get(f"{MAPS}/a", Anything)).metadata.uid == made.metadata.uid

    using(cluster.endpoint, task)


def test_a_wrong_object_is_refused_with_the_server_s_words(cluster: Cluster) -> None:
    async def task(api: Api) -> None:
        with pytest.raises(InvalidRequest, match="lowercase RFC 1123") as caught:
            await api.create(MAPS, config_map("Not a name"), tries=3)
        assert (caught.value.status, caught.value.reason) == (422, "Invalid")
        assert caught.value.causes[0].field == "metadata.name"

    using(cluster.endpoint, task)


def test_a_wrong_token_and_a_missing_right_are_told_apart(cluster: Cluster) -> None:
    async def task(api: Api) -> None:
        with pytest.raises(ForbiddenRequest) as caught:
            await api.list(MAPS, Anything)
        statuses.append(caught.value.status)

    statuses: list[int] = []
    using(replace(cluster.endpoint, person=Person(token="wrong")), task)
    using(load(cluster.kubeconfig_of("somebody")), task)
    assert statuses == [401, 403]


def test_another_is_impersonated_where_the_kubeconfig_says_so(cluster: Cluster) -> None:
    person = replace(cluster.endpoint.person, acts_as="ada", acts_as_groups=("physics", "users"))

    async def task(api: Api) -> None:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        who = (await api.create(path, review, Anything)).status["userInfo"]
        assert who["username"] == "ada"
        assert {"physics", "users"} <= set(who["groups"])

    using(replace(cluster.endpoint, person=person), task)


def test_a_list_in_pages_has_everything_even_when_history_is_forgotten_meanwhile(
    cluster: Cluster,
) -> None:
    cluster.create(*(config_map(f"m{index}") for index in range(7)))
    pages: list[str] = []

    class Forgetting(Api):
        async def call(self, *given: object, params: Params | None = None, **rest: object) -> bytes:  # type: ignore[override]  # adds nothing but the moment
            raw: bytes = await super().call(*given, params=params, **rest)  # type: ignore[arg-type]
            pages.append(str((params or {}).get("continue", "")))
            if len(pages) == 1:
                cluster.delete(f"{MAPS}/m0")
                cluster.create(config_map("m9"))
                cluster.plane.compact()
            return raw

    async def task() -> None:
        api = Forgetting(cluster.endpoint)
        listing = await api.list(MAPS, Anything, limit=3)
        await api.close()
        names = {each.metadata.name for each in listing.items}
        # Either the pages of one moment, or all of a later one; never a mixture.
        assert names in ({f"m{i}" for i in range(7)}, {f"m{i}" for i in (1, 2, 3, 4, 5, 6, 9)})

    asyncio.run(task())
    assert len(pages) >= 3


def test_a_budget_that_forbids_says_so_and_for_how_long(cluster: Cluster) -> None:
    cluster.add_pods(1, prefix="a", labels={"app": "a"})
    cluster.bind("a-0", cluster.add_nodes(1)[0])
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    cluster.patch("/api/v1/namespaces/default/pods/a-0/status", {"status": ready})
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    meta = {"name": "a", "namespace": "default"}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    (made,) = cluster.create(budget | {"metadata": meta, "spec": spec})
    path = "/api/v1/namespaces/default/pods/a-0/eviction"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a-0"}}

    async def task(api: Api) -> TooMany:
        with pytest.raises(TooMany) as caught:
            await api.create(path, body)
        return caught.value

    not_counted = using(cluster.endpoint, task)
    assert not_counted.retry_after_s > 0  # it is not known yet how many may go
    counted = {"observedGeneration": made["metadata"]["generation"], "disruptionsAllowed": 0}
    counts = {"currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    cluster.patch(f"{cluster.path(made)}/status", {"status": counted | counts})
    forbidden = using(cluster.endpoint, task)
    assert forbidden.caused_by("DisruptionBudget")


def test_a_server_that_was_replaced_is_talked_to_on_new_connections(cluster: Cluster) -> None:
    async def task(api: Api) -> None:
        await asyncio.gather(*(api.create(MAPS, config_map(f"m{i}")) for i in range(8)))
        await asyncio.to_thread(cluster.plane.restart, "kube-apiserver")
        await api.create(MAPS, config_map("after"))  # once: no kept connection is tried in vain
        assert len((await api.list(MAPS, Anything, limit=4)).items) == 9

    using(cluster.endpoint, task)
