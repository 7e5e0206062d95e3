"""A copy of a kind that loses nothing, whatever happens to the connection."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from ganglion.worlds.kubernetes.http import reflect
from ganglion.worlds.kubernetes.http.client import SILENCE_S, Api
from ganglion.worlds.kubernetes.http.discovery import served_path
from ganglion.worlds.kubernetes.http.errors import Absent, ForbiddenRequest
from ganglion.worlds.kubernetes.http.known import ObjectChange
from ganglion.worlds.kubernetes.http.reflect import Reflector
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint, load
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.controlplane.cluster import Cluster
from tests.worlds.kubernetes import workloads as w
from tests.worlds.kubernetes.http.double import until, with_api
from tests.worlds.kubernetes.http.proxy import Proxy
from tests.worlds.kubernetes.http.test_server import MAPS, config_map


class Copy:
    """What the changes of a reflector add up to."""

    def __init__(self) -> None:
        self.here: dict[str, Anything] = {}
        self.told: list[tuple[str, str]] = []
        self.batches = 0

    def take(self, changes: list[ObjectChange[Anything]]) -> None:
        self.batches += 1
        for change in changes:
            item = change.item
            if item is None:
                self.told.append((change.kind, ""))
                continue
            self.told.append((change.kind, item.metadata.name))
            if change.kind == "put":
                self.here[item.metadata.uid] = item
            else:
                del self.here[item.metadata.uid]

    @property
    def names(self) -> list[str]:
        return sorted(each.metadata.name for each in self.here.values())

    @property
    def lists(self) -> int:
        return self.told.count(("synced", ""))


@asynccontextmanager
async def following(
    api: Api, path: str = MAPS, silence_s: float = SILENCE_S, *, finds: bool = False
) -> AsyncIterator[tuple[Reflector[Anything], Copy]]:
    """A reflector that runs, and what it told."""
    copy = Copy()
    find = partial(served_path, api) if finds else None
    reflector = Reflector(api, path, Anything, copy.take, silence_s=silence_s, limit=2, find=find)
    task = asyncio.create_task(reflector.run())
    try:
        yield reflector, copy
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled(), task.exception()


def run(
    endpoint: ApiEndpoint,
    body: Callable[[Reflector[Anything], Copy], AsyncIterator[None]],
    **how: float,
) -> None:
    async def task(api: Api) -> None:
        async with following(api, **how) as (reflector, copy):  # type: ignore[arg-type]
            async for _ in body(reflector, copy):
                pass

    asyncio.run(asyncio.wait_for(with_api(endpoint, task), 120))


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    with Proxy(cluster) as between:
        yield between


@pytest.fixture
def short_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server sends a bookmark 2 s before a watch ends, if it has begun it by then."""
    monkeypatch.setattr(reflect, "_WATCH_S", (5, 5))


async def off(act: Callable[[], object]) -> None:
    """Do something that blocks, beside the event loop."""
    await asyncio.to_thread(act)


def test_what_is_there_is_listed_and_what_changes_is_told(cluster: Cluster) -> None:
    cluster.create(*(config_map(f"m{index}") for index in range(5)))

    async def body(reflector: Reflector[Anything], copy: Copy) -> AsyncIterator[None]:
        await until(lambda: reflector.synced, "the list")
        assert copy.names == ["m0", "m1", "m2", "m3", "m4"]
        assert (copy.batches, copy.told[-1]) == (4, ("synced", ""))
        await off(lambda: cluster.create(config_map("new")))
        await off(lambda: cluster.delete(f"{MAPS}/m1"))
        await until(lambda: copy.names == ["m0", "m2", "m3", "m4", "new"], "the changes")
        assert copy.told[-2:] == [("put", "new"), ("gone", "m1")]
        assert (copy.lists, reflector.trouble) == (1, None)
        yield

    run(cluster.endpoint, body)


def test_one_of_the_same_name_made_again_is_another(cluster: Cluster) -> None:
    cluster.create(config_map("m"))

    async def body(reflector: Reflector[Anything], copy: Copy) -> AsyncIterator[None]:
        await until(lambda: reflector.synced, "the list")
        (old,) = copy.here
        await off(lambda: (cluster.delete(f"{MAPS}/m"), cluster.create(config_map("m"))))
        await until(lambda: copy.here and old not in copy.here, "the new one")
        assert copy.told == [("put", "m"), ("synced", ""), ("gone", "m"), ("put", "m")]
        yield

    run(cluster.endpoint, body)


def test_a_broken_connection_is_taken_up_where_it_was(cluster: Cluster, proxy: Proxy) -> None:
    cluster.create(config_map("a"), config_map("b"))

    async def body(reflector: Reflector[Anything], copy: Copy) -> AsyncIterator[None]:
        await until(lambda: reflector.synced, "the list")
        proxy.close()
        proxy.cut()
        await off(lambda: cluster.delete(f"{MAPS}/a"))
        await off(lambda: cluster.create(config_map("c")))
        proxy.open()
        await until(lambda: copy.names == ["b", "c"], "what happened meanwhile")
        assert copy.told[-2:] == [("gone", "a"), ("put", "c")]
        assert copy.lists == 1
        yield

    run(proxy.endpoint, body)


def test_a_connection_that_is_silently_dead_is_replaced(cluster: Cluster, proxy: Proxy) -> None:
    cluster.create(config_map("a"))

    async def body(reflector: Reflector[Anything], copy: Copy) -> AsyncIterator[None]:
        await until(lambda: reflector.synced and proxy.made >= 2, "the watch")
        await asyncio.sleep(0.3)
        proxy.freeze()
        await off(lambda: cluster.delete(f"{MAPS}/a"))
        await until(lambda: not copy.here, "the deletion that the dead connection kept")
        assert copy.lists == 1
        yield

    run(proxy.endpoint, body, silence_s=1.5)


def test_a_stream_that_the_server_ends_goes_on_and_a_bookmark_is_enough(
    cluster: Cluster, proxy: Proxy, short_watches: None
) -> None:
    async def body(reflector: Reflector[Anything], copy: Copy) -> AsyncIterator[None]:
        await until(lambda: reflector.synced, "the list")
        listed = reflector.version
        # Others' objects move the version on; a bookmark tells, though nothing of ours happened.
        elsewhere = {"name": "a", "namespace": "kube-public"}
        await off(lambda: cluster.create(config_map("a") | {"metadata": elsewhere}))
        await until(lambda: reflector.version != listed, "a bookmark")
        await until(lambda: proxy.made >= 3, "a watch after the first, which lasts 5 s")
        await off(lambda: cluster.create(config_map("late")))
        await until(lambda: copy.names == ["late"], "a change after the end of the first watch")
        assert copy.lists == 1
        yield

    run(proxy.endpoint, body)


def test_a_server_that_forgot_the_version_is_listed_again_with_what_was_deleted(
    cluster: Cluster, proxy: Proxy
) -> None:
    cluster.create(config_map("a"), config_map("b"), config_map("c"))

    async def body(reflector: Reflector[Anything], copy: Copy) -> AsyncIterator[None]:
        await until(lambda: reflector.synced, "the list")
        proxy.close()
        proxy.cut()
        await off(lambda: cluster.delete(f"{MAPS}/a"))
        await off(lambda: (cluster.delete(f"{MAPS}/b"), cluster.create(config_map("b"))))
        await off(cluster.plane.compact)
        # Its own memory of the last minutes would do for a watch as well.
        await off(lambda: cluster.plane.restart("kube-apiserver"))
        proxy.open()
        await until(lambda: copy.lists == 2, "another list")
        assert copy.names == ["b", "c"]
        assert copy.told[4:] == [("gone", "a"), ("gone", "b"), ("put", "b"), ("synced", "")]
        yield

    run(proxy.endpoint, body)


def test_a_kind_that_the_cluster_lacks_is_waited_for_by_nobody(cluster: Cluster) -> None:
    async def task(api: Api) -> None:
        async with following(api, "/apis/jobset.x-k8s.io/v1alpha2/jobsets") as (reflector, copy):
            await until(lambda: reflector.synced, "an answer")
            assert copy.told == [("synced", "")]
            assert reflector.trouble is not None

    asyncio.run(asyncio.wait_for(with_api(cluster.endpoint, task), 60))


def test_a_kind_is_followed_in_the_version_that_discovery_names(cluster: Cluster) -> None:
    cluster.create(w.deployment("a", 0))

    async def task(api: Api) -> None:
        unknown = "/apis/apps/v7/deployments"
        async with following(api, unknown, finds=True) as (reflector, copy):
            await until(lambda: reflector.synced, "the list")
            assert (copy.names, reflector.path) == (["a"], "/apis/apps/v1/deployments")
            assert reflector.trouble is None
            await off(lambda: cluster.create(w.deployment("b", 0)))
            await until(lambda: copy.names == ["a", "b"], "the event")

    asyncio.run(asyncio.wait_for(with_api(cluster.endpoint, task), 60))


def test_a_kind_that_no_version_of_its_group_has_is_waited_for_by_nobody(cluster: Cluster) -> None:
    async def task(api: Api) -> None:
        path = "/apis/scheduling.k8s.io/v1beta1/podgroups"
        async with following(api, path, finds=True) as (reflector, copy):
            await until(lambda: reflector.synced, "an answer")
            assert copy.told == [("synced", "")]
            assert isinstance(reflector.trouble, Absent)

    asyncio.run(asyncio.wait_for(with_api(cluster.endpoint, task), 60))


def test_a_missing_right_is_trouble_until_it_is_granted(cluster: Cluster) -> None:
    cluster.create(config_map("a"))
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "late"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "somebody"}],
    }

    async def body(reflector: Reflector[Anything], copy: Copy) -> AsyncIterator[None]:
        await until(lambda: isinstance(reflector.trouble, ForbiddenRequest), "the refusal")
        assert not reflector.synced
        await off(lambda: cluster.create(binding))
        await until(lambda: copy.names == ["a"], "the list")
        await until(lambda: reflector.trouble is None, "no trouble")
        yield

    run(load(cluster.kubeconfig_of("somebody")), body)
