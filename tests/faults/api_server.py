"""An API server in memory, with the rules that a scheduler relies on, which fails from a seed.

It takes the place of `Exchange`. Names of calls in its plan: `conflict` (409 though nothing is
wrong), `later` (429 with Retry-After), `refused` (503 before anything was done), `lost` (done, and
no answer), `expired` (410 in a watch), `cut` (a watch ends between two events).
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from copy import deepcopy
from typing import Any

from ganglion.worlds.kubernetes.http.errors import ApiUnavailable, error_of
from ganglion.worlds.kubernetes.http.session import Params
from tests.faults.plan import Plan
from tests.faults.randomness import SeededRandomness

Object = dict[str, Any]
PODS = "/api/v1/pods"
EVENTS = "/apis/events.k8s.io/v1/"
RETRY_AFTER_S = 2
LATENCY_S = (0.001, 0.02)
BOOKMARK_S = 60.0


class FakeServer:
    """Collections of objects by path, with versions, and watches of them.

    Args:
        plan: which requests fail, and how.
        randomness: how long requests take.
        collections: paths of all that it has.

    Attributes:
        bound: UID -> node, of bindings that were accepted.
        asked: UID and node of every binding that arrived, and when, in seconds of the loop.
        turned_away: the same of those that were answered by 429.
        watched: calls after a binding, to check what must hold.
    """

    def __init__(self, plan: Plan, randomness: SeededRandomness, *collections: str) -> None:
        self._plan, self._randomness = plan, randomness
        self._kept: dict[str, dict[str, Object]] = {each: {} for each in collections}
        self._made: dict[str, Object] = {}
        self._history: list[tuple[int, str, str, Object]] = []
        self._version = self._oldest = 0
        self._news = asyncio.Event()
        self.bound: dict[str, str] = {}
        self.asked: list[tuple[float, str, str]] = []
        self.turned_away: list[tuple[float, str, str]] = []
        self.watched: Callable[[], None] = lambda: None

    # --- what happens in the cluster -----------------------------------------------------------

    def put(self, collection: str, thing: Object, kind: str = "MODIFIED") -> None:
        """An object is there, or has changed."""
        meta = thing["metadata"]
        key = f"{meta.get('namespace', '')}/{meta['name']}"
        if key not in self._kept[collection]:
            kind = "ADDED"
            self._made.setdefault(f"{collection} {key}", deepcopy(thing))
            meta.setdefault("uid", f"uid-{self._version}")
        self._version += 1
        meta["resourceVersion"] = str(self._version)
        self._kept[collection][key] = thing
        self._tell(collection, kind, thing)

    def remove(self, collection: str, thing: Object) -> None:
        """An object is gone."""
        meta = thing["metadata"]
        del self._kept[collection][f"{meta.get('namespace', '')}/{meta['name']}"]
        self._version += 1
        meta["resourceVersion"] = str(self._version)
        self._tell(collection, "DELETED", thing)

    def lose(self, collection: str, thing: Object) -> None:
        """An object goes; its owner makes another one of that name, as the first one was."""
        meta = thing["metadata"]
        self.remove(collection, thing)
        key = f"{collection} {meta.get('namespace', '')}/{meta['name']}"
        self.put(collection, deepcopy(self._made[key]))

    def all(self, collection: str) -> list[Object]:
        """All objects of a collection."""
        return list(self._kept[collection].values())

    def _tell(self, collection: str, kind: str, thing: Object) -> None:
        self._history.append((self._version, collection, kind, deepcopy(thing)))
        self._news.set()
        self._news = asyncio.Event()

    # --- the verbs -----------------------------------------------------------------------------

    async def call(
        self, method: str, path: str, body: bytes, content: str, params: Params | None
    ) -> bytes:
        """Answer one request; `content` says no more than the method here."""
        assert content
        await asyncio.sleep(self._randomness.uniform(*LATENCY_S))
        request, content_of = f"{method} {path}", json.loads(body) if body else {}
        is_write = method != "GET"
        if path.endswith("/binding"):
            self._note(self.asked, content_of)
        if self._plan.strikes("later"):
            if path.endswith("/binding"):
                self._note(self.turned_away, content_of)
            raise error_of(request, 429, b"", str(RETRY_AFTER_S))
        if self._plan.strikes("refused"):
            raise error_of(request, 503, b"etcd has no leader")
        if is_write and self._plan.strikes("conflict"):
            raise error_of(request, 409, b"the object has been modified")
        answer = self._write(request, path, content_of) if is_write else self._read(path)
        if is_write and self._plan.strikes("lost"):
            raise ApiUnavailable(f"{request}: the connection failed")
        await asyncio.sleep(self._randomness.uniform(*LATENCY_S))
        return json.dumps(answer).encode()

    async def pieces(
        self, path: str, params: Params | None, silence_s: float
    ) -> AsyncGenerator[bytes, None]:
        """Watch a collection."""
        assert silence_s > BOOKMARK_S
        since = int((params or {})["resourceVersion"])
        if path not in self._kept:
            raise error_of(f"GET {path}", 404, b"no such kind")
        yield b""
        at = sum(version <= since for version, *_ in self._history)
        while True:
            if since < self._oldest or self._plan.strikes("expired"):
                self._oldest = self._version  # it forgets all versions but this one
                yield _line("ERROR", {"code": 410, "reason": "Expired", "message": "too old"})
                return
            while at < len(self._history):
                since, collection, kind, thing = self._history[at]
                at += 1
                if collection == path:
                    if self._plan.strikes("cut"):
                        raise ApiUnavailable(f"GET {path}: the connection failed")
                    yield _line(kind, thing)
            try:
                # `wait_for` would lose a cancellation that comes together with the news.
                async with asyncio.timeout(BOOKMARK_S):
                    await self._news.wait()
            except TimeoutError:
                mark = {"metadata": {"resourceVersion": str(since)}}
                yield _line("BOOKMARK", mark)

    async def close(self) -> None:
        """Nothing is open."""

    def _note(self, where: list[tuple[float, str, str]], binding: Object) -> None:
        now = asyncio.get_running_loop().time()
        where.append((now, binding["metadata"]["uid"], binding["target"]["name"]))

    def _read(self, path: str) -> Object:
        if path in self._kept:
            return {"metadata": {"resourceVersion": str(self._version)}, "items": self.all(path)}
        return self._find(f"GET {path}", path)[1]

    def _write(self, request: str, path: str, body: Object) -> Object:
        if path.startswith(EVENTS):
            return body
        collection, thing, part = self._find(request, path)
        meta = thing["metadata"]
        given = body.get("metadata", {})
        for each in ("uid", "resourceVersion"):
            if each in given and given[each] != meta[each]:
                raise error_of(request, 409, f"{each} is {meta[each]}".encode())
        if part == "binding":
            self._bind(request, thing, body)
        elif part == "eviction":
            if body["deleteOptions"]["preconditions"]["uid"] != meta["uid"]:
                raise error_of(request, 409, f"uid is {meta['uid']}".encode())
            # What has ended is not made anew.
            has_ended = thing["status"]["phase"] in {"Succeeded", "Failed"}
            (self.remove if has_ended else self.lose)(collection, thing)
            return {}
        else:
            _merge(thing, {key: each for key, each in body.items() if key != "metadata"})
            _merge(meta.setdefault("annotations", {}), given.get("annotations", {}))
        self.put(collection, thing)
        return thing

    def _bind(self, request: str, pod: Object, body: Object) -> None:
        node, uid = body["target"]["name"], pod["metadata"]["uid"]
        if pod["spec"].get("nodeName"):
            raise error_of(request, 409, f"pod is already assigned to {self.bound[uid]}".encode())
        pod["spec"]["nodeName"] = self.bound[uid] = node
        pod["status"].pop("nominatedNodeName", None)
        _merge(pod["metadata"]["annotations"], body["metadata"].get("annotations", {}))
        _merge(pod["status"], {"conditions": [{"type": "PodScheduled", "status": "True"}]})
        self.watched()

    def _find(self, request: str, path: str) -> tuple[str, Object, str]:
        """The collection of an object, the object, and the part of it that a path names."""
        words = path.split("/")
        at = words.index("namespaces") if "namespaces" in words else -1
        space, plural, name, *part = words[at + 1 :] if at > 0 else ("", *words[3:])
        collection = "/".join([*words[: at if at > 0 else 3], plural])
        thing = self._kept.get(collection, {}).get(f"{space}/{name}")
        if thing is None:
            raise error_of(request, 404, b"not found")
        return collection, thing, "".join(part)


def _line(kind: str, thing: Object) -> bytes:
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


def _merge(into: Object, change: Object) -> None:
    """Merge as the API does: null removes; conditions are merged by their type."""
    for key, value in change.items():
        if value is None:
            into.pop(key, None)
        elif key == "conditions":
            known = {each["type"]: each for each in into.get(key, [])}
            for each in value:
                known[each["type"]] = known.get(each["type"], {}) | each
            into[key] = list(known.values())
        elif isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
