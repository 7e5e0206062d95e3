"""A double of all kubelets: what happens on nodes, seen from the API server.

A bound pod is admitted if the node has room for what it requests, runs, and ends or is stopped.
The double counts resources by itself: a pod too many is refused as a real kubelet would refuse
it, so that tests of a scheduler see every overbooking. One thread with one watch plays them all.
"""

import asyncio
import contextlib
import json
import ssl
from collections import defaultdict
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from threading import Thread
from typing import Any, Self

import httpx2
from tests.controlplane.amounts import Amounts, amounts, requested
from tests.controlplane.manifests import Object

from benchmarks.controlplane.control_plane import ControlPlane

RUN = "test/run-seconds"
"""Annotation: the pod ends by itself after as many seconds; without it, it runs on."""
CODE = "test/exit-code"
"""Annotation: what it ends with; 0 without it."""
STOP = "test/stop-seconds"
"""Annotation: how long it takes to stop when deleted; it is killed when its grace is over."""
STUCK = "test/stuck"
"""Annotation: its containers never run; the reason that they wait for, as `ImagePullBackOff`."""
ADDRESS = "test/address"
"""Annotation: its IP address."""

OVER = frozenset({"Succeeded", "Failed"})
STOPPED = 143
"""Exit code of a container that SIGTERM ended."""
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
LEASE_S = 10.0
CLOSING_S = 0.02  # transports close in later turns of the loop
AWAY_S = 0.2


class Kubelets:
    """All kubelets of a cluster.

    Args:
        plane: the control plane.
        leases: whether nodes send heartbeats; kube-controller-manager misses them after 40 s.

    Attributes:
        refused: name -> reason, of pods that were not admitted.
        ran: name -> node, of pods that were.
    """

    def __init__(self, plane: ControlPlane, *, leases: bool = False) -> None:
        self._plane, self._leases = plane, leases
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, daemon=True, name="kubelets")
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, asyncio.Task[None]] = {}
        self._held: dict[str, tuple[str, Amounts]] = {}
        self._nodes: dict[str, Amounts] = {}
        self._away: set[str] = set()
        self._refusals: list[tuple[Callable[[Object], bool], str]] = []
        self._paused = False
        self.refused: dict[str, str] = {}
        self.ran: dict[str, str] = {}

    def start(self) -> Self:
        """Begin to play them."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """All nodes fall silent."""
        self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join()

    def refuse(self, reason: str, match: Callable[[Object], bool] | None = None) -> None:
        """Do not admit the next pod (that matches), as `UnexpectedAdmissionError`."""
        self._refusals.append((match or (lambda pod: True), reason))

    def vanish(self, node: str) -> None:
        """The node does nothing more, and the state of its pods is unknown."""
        self._away.add(node)

    def come_back(self, node: str) -> None:
        """The node goes on: pods deleted meanwhile are stopped, new ones started."""
        self._away.discard(node)
        self._call(self._look)

    def pause(self) -> None:
        """Start no pods until `go_on`; they stay bound and pending."""
        self._paused = True

    def go_on(self) -> None:
        """Start what waits."""
        self._paused = False
        self._call(self._look)

    def end(self, pod: Object, code: int = 0) -> None:
        """Let a running pod end now."""
        self._call(lambda: self._finish(pod, code))

    def _call(self, what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(what(), self._loop).result(30.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._main = self._loop.create_task(self._play())
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._main)
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(asyncio.sleep(CLOSING_S))
        self._loop.close()

    async def _play(self) -> None:
        limits = httpx2.Limits(max_connections=16, max_keepalive_connections=16)
        self._client = httpx2.AsyncClient(
            base_url=self._plane.url,
            verify=ssl.create_default_context(cafile=self._plane.ca),
            headers={"Authorization": f"Bearer {self._plane.token()}"},
            timeout=httpx2.Timeout(10.0, read=30.0, pool=60.0),
            limits=limits,
            trust_env=False,
        )
        async with self._client:
            beats = asyncio.create_task(self._beat()) if self._leases else None
            try:
                while True:
                    with contextlib.suppress(httpx2.HTTPError):
                        await self._watch(await self._look())
                    await asyncio.sleep(0.05)
            finally:
                tasks = [*self._runs.values(), *self._stops.values(), *([beats] if beats else [])]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> str:
        """Read all nodes and pods; the version to watch from."""
        for node in (await self._get("/api/v1/nodes"))["items"]:
            self._nodes[node["metadata"]["name"]] = amounts(node["status"]["allocatable"])
        listed = await self._get("/api/v1/pods", fieldSelector="spec.nodeName!=")
        for uid in self._held.keys() - {pod["metadata"]["uid"] for pod in listed["items"]}:
            self._forget(uid)
        for pod in listed["items"]:
            self._see(pod)
        version: str = listed["metadata"]["resourceVersion"]
        return version

    async def _watch(self, version: str) -> None:
        """Follow pods until the server ends it; the caller looks again then."""
        params = {"watch": "true", "fieldSelector": "spec.nodeName!=", "resourceVersion": version}
        async with self._client.stream("GET", "/api/v1/pods", params=params) as answer:
            async for line in answer.aiter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                if event["type"] == "DELETED":
                    self._forget(event["object"]["metadata"]["uid"])
                else:
                    self._see(event["object"])

    def _see(self, pod: Object) -> None:
        uid, phase = pod["metadata"]["uid"], pod["status"].get("phase", "Pending")
        if pod["spec"]["nodeName"] in self._away:
            return
        if "deletionTimestamp" in pod["metadata"]:
            if uid not in self._stops:
                self._stops[uid] = self._loop.create_task(self._stop(pod))
        elif phase == "Pending" and uid not in self._runs and not self._paused:
            self._runs[uid] = self._loop.create_task(self._live(pod))

    def _forget(self, uid: str) -> None:
        self._held.pop(uid, None)
        for tasks in (self._runs, self._stops):
            if (task := tasks.pop(uid, None)) and not task.done():
                task.cancel()

    async def _live(self, pod: Object) -> None:
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        if node not in self._nodes:
            found = await self._get(f"/api/v1/nodes/{node}")
            self._nodes[node] = amounts(found["status"]["allocatable"])
        if reason := self._refusal(pod):
            self.refused[pod["metadata"]["name"]] = reason
            await self._say(pod, _refusal(reason))
            return
        self._held[uid] = (node, requested(pod))
        self.ran[pod["metadata"]["name"]] = node
        notes = pod["metadata"].get("annotations", {})
        if STUCK in notes:
            await self._say(pod, _stuck(pod, notes[STUCK]))
            return
        await self._say(pod, _running(pod))
        if RUN in notes:
            await asyncio.sleep(float(notes[RUN]))
            while node in self._away:  # it ended, and its node says so when it is back
                await asyncio.sleep(AWAY_S)
            await self._finish(pod, int(notes.get(CODE, "0")))

    def _refusal(self, pod: Object) -> str:
        """Why the pod is not admitted; empty when it is."""
        for entry in self._refusals:
            if entry[0](pod):
                self._refusals.remove(entry)
                return entry[1]
        node = pod["spec"]["nodeName"]
        used: Amounts = defaultdict(int)
        for where, amount in [*self._held.values(), (node, requested(pod))]:
            if where == node:
                for name, number in amount.items():
                    used[name] += number
        return next(
            (f"OutOf{n}" for n in sorted(used) if used[n] > self._nodes[node].get(n, 0)), ""
        )

    async def _finish(self, pod: Object, code: int) -> None:
        # What it held is free before a kubelet says so: another pod may come at once.
        self._held.pop(pod["metadata"]["uid"], None)
        await self._say(pod, _ended(pod, code))

    async def _stop(self, pod: Object) -> None:
        meta = pod["metadata"]
        if (task := self._runs.get(meta["uid"])) and not task.done():
            task.cancel()
        grace = meta.get("deletionGracePeriodSeconds", 0)
        await asyncio.sleep(min(grace, float(meta.get("annotations", {}).get(STOP, "0"))))
        if pod["spec"]["nodeName"] in self._away:
            del self._stops[meta["uid"]]
            return
        self._held.pop(meta["uid"], None)
        if pod["status"].get("phase") not in OVER:
            # A Job whose pods are replaced when they failed waits for that phase.
            await self._say(pod, _ended(pod, STOPPED))
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        await self._send("DELETE", _path(pod), body)

    async def _say(self, pod: Object, status: Object) -> None:
        await self._send("PATCH", f"{_path(pod)}/status", {"status": status}, STRATEGIC)

    async def _beat(self) -> None:
        while True:
            for node in self._nodes.keys() - self._away:
                spec = {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": _now()}
                lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
                lease["metadata"] = {"name": node}
                path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"
                params = "?fieldManager=kubelet&force=true"
                apply = {"Content-Type": "application/apply-patch+yaml"}
                await self._send("PATCH", f"{path}{node}{params}", lease, apply)
            await asyncio.sleep(LEASE_S if self._nodes else 0.1)

    async def _get(self, path: str, **params: str) -> Object:
        answer = await self._client.get(path, params=params)
        answer.raise_for_status()
        found: Object = answer.json()
        return found

    async def _send(
        self, method: str, path: str, body: object, headers: dict[str, str] | None = None
    ) -> None:
        """Tell the API server, again and again until it listens; an absent pod needs no word."""
        while True:
            with contextlib.suppress(httpx2.TransportError):
                answer = await self._client.request(method, path, json=body, headers=headers)
                if answer.is_success or answer.status_code in {404, 409}:
                    return
            await asyncio.sleep(0.2)


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _second() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _refusal(reason: str) -> Object:
    message = f"Pod was rejected: {reason}"
    return {"phase": "Failed", "reason": reason, "message": message}


def _running(pod: Object) -> Object:
    state = {"running": {"startedAt": _second()}}
    return {
        "phase": "Running",
        "startTime": _second(),
        "podIP": _address(pod),
        "podIPs": [{"ip": _address(pod)}],
        "conditions": [_condition(name, "True") for name in ("Initialized", "Ready")],
        "containerStatuses": [_container(each, state, ready=True) for each in _containers(pod)],
    }


def _stuck(pod: Object, reason: str) -> Object:
    state = {"waiting": {"reason": reason, "message": f"it waits: {reason}"}}
    return {
        "phase": "Pending",
        "startTime": _second(),
        "conditions": [_condition("Initialized", "True"), _condition("Ready", "False")],
        "containerStatuses": [_container(each, state, ready=False) for each in _containers(pod)],
    }


def _address(pod: Object) -> str:
    return str(pod["metadata"].get("annotations", {}).get(ADDRESS, "10.1.0.1"))


def _ended(pod: Object, code: int) -> Object:
    reason = "Error" if code else "Completed"
    state = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": _second()}}
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [_condition("Ready", "False")],
        "containerStatuses": [_container(each, state, ready=False) for each in _containers(pod)],
    }


def _containers(pod: Object) -> list[Object]:
    found: list[Object] = pod["spec"]["containers"]
    return found


def _container(container: Object, state: Object, *, ready: bool) -> Object:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }


def _condition(name: str, value: str) -> Object:
    return {"type": name, "status": value, "lastTransitionTime": _second()}
