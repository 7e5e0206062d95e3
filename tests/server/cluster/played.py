"""A cluster's API as far as the hosts of services, workspaces and sweeps write to it."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ganglion.server.cluster.controllers.life import life_of
from ganglion.server.cluster.controllers.mains import ReconciledObject
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.submit.objects import Main
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.write_rules.series import Happened

Json = dict[str, Any]


class PlayedApi:
    """Objects by path; a merge patch counts as one more version.

    Attributes:
        objects: path -> object.
        events: what was recorded.
        evicted: pods as they were at their eviction.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.events: list[Happened] = []
        self.evicted: list[Json] = []

    @property
    def api(self) -> Api:
        return cast("Api", self)

    @property
    def recorder(self) -> Recorder:
        return cast("Recorder", self)

    async def patch(self, path: str, body: Mapping[str, Any], *_: object) -> None:
        found = self.objects[path.removesuffix("/scale").removesuffix("/status")]
        meta = found["metadata"]
        given = body["metadata"].get("resourceVersion", meta["resourceVersion"])
        assert body["metadata"].get("uid", meta["uid"]) == meta["uid"], "only the same object"
        assert given == meta["resourceVersion"], "only against the version that was read"
        merge(found, {**body, "metadata": {**body["metadata"]}})
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)

    async def create(self, path: str, body: Mapping[str, Any]) -> None:
        assert path.endswith("/eviction")
        assert body["kind"] == "Eviction"
        self.evicted.append(self.objects.pop(path.removesuffix("/eviction")))

    async def get(self, path: str, kind: type) -> Any:
        return msgspec.convert(self.objects[path], kind)

    def record(self, happened: Happened) -> None:
        self.events.append(happened)

    def kept(self, collection: str, path: str) -> ReconciledObject:
        """One object, as the reflectors would have it."""
        main = msgspec.convert(self.objects[path], Main)
        life = life_of(main.metadata.labels, main.metadata.annotations)
        assert life
        return ReconciledObject(collection, main, life)

    def pod(self, path: str) -> Pod:
        return msgspec.convert(self.objects[path], Pod)


def merge(into: Json, patch: Mapping[str, Any]) -> None:
    """RFC 7386: None takes a key away."""
    for key, value in patch.items():
        if isinstance(value, Mapping):
            merge(into.setdefault(key, {}), value)
        elif value is None:
            into.pop(key, None)
        else:
            into[key] = value
