"""Requests to a real API server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from tests.controlplane.cluster import Cluster

from ganglion.worlds.kubernetes.api.client import Api
from ganglion.worlds.kubernetes.api.config import Endpoint, load
from ganglion.worlds.kubernetes.api.errors import Absent, Conflict, Forbidden, Refused
from ganglion.worlds.kubernetes.api.patches import Patch
from ganglion.worlds.kubernetes.objects.meta import Anything

T = TypeVar("T")
MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **data: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
    }


def using(endpoint: Endpoint, task: Callable[[Api], Awaitable[T]]) -> T:
    async def whole() -> T:
        api = Api(endpoint)
        try:
            return await task(api)
        finally:
            await api.close()

    return asyncio.run(whole())


def test_an_object_is_created_read_changed_and_deleted(cluster: Cluster) -> None:
    async def task(api: Api) -> None:
        made = await api.create(MAPS, config_map("a", x="1"), Anything)
        path = f"{MAPS}/a"
        assert (await api.get(path, Anything)).metadata.uid == made.metadata.uid
        patched = await api.patch(path, {"data": {"y": "2"}}, Patch.MERGE, Anything)
        assert patched.metadata.resource_version != made.metadata.resource_version
        listing = await api.list(MAPS, Anything)
        assert [each.metadata.name for each in listing.items] == ["a"]
        await api.delete(path, uid=made.metadata.uid)
        with pytest.raises(Absent) as caught:
            await api.get(path, Anything)
        assert caught.value.reason == "NotFound"

    using(cluster.endpoint, task)
