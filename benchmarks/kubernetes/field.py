"""A cluster for measurements: nodes and pods made quickly, and when each pod was bound."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Self, TypeVar

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.programs import Process
from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent
from ganglion.worlds.kubernetes.http.reflect import ObjectChange, Reflector
from ganglion.worlds.kubernetes.sign_in.config import load
from ganglion.worlds.kubernetes.types.meta import Meta, Object

GPU = "nvidia.com/gpu"
GPUS_PER_NODE = 8
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
IN_FLIGHT = 32
_KEPT = ("/registry/minions/", "/registry/leases/")
_LOOK_S = 0.01


_T = TypeVar("_T")


class _Place(Object, frozen=True):
    node_name: str = ""


class _Pod(Object, frozen=True):
    metadata: Meta
    spec: _Place


class _About(Object, frozen=True):
    name: str = ""


class _Event(Object, frozen=True):
    reason: str = ""
    regarding: _About = _About()


class _Events(Object, frozen=True):
    items: tuple[_Event, ...] = ()


class Field:
    """One API server, seen by one client that creates pods and watches them.

    Args:
        plane: the control plane.

    Attributes:
        api: the client.
        sent: name of a pod -> when its creation was sent, by the monotonic clock.
        bound: name -> when it was seen with a node.
        gpus: how many the nodes have.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.sent: dict[str, float] = {}
        self.bound: dict[str, float] = {}
        self.gpus = 0

    async def __aenter__(self) -> Self:
        endpoint = load(self.plane.kubeconfig())
        self.api = Api(endpoint, in_flight=IN_FLIGHT, timeout_s=60.0)
        self._watch = Reflector(self.api, PODS, _Pod, self._note)
        self._watching = asyncio.create_task(self._watch.run())
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._watching.cancel()
        with suppress(asyncio.CancelledError):
            await self._watching
        await self.api.close()

    def _note(self, changes: list[ObjectChange[_Pod]]) -> None:
        now = monotonic()
        for change in changes:
            if change.item and change.kind == "put" and change.item.spec.node_name:
                self.bound.setdefault(change.item.metadata.name, now)

    async def add_nodes(
        self, count: int, labels: Sequence[Mapping[str, str]] | None = None
    ) -> None:
        """Create nodes `node-0`, `node-1`, ... of 8 GPUs that are ready for pods.

        Args:
            count: how many.
            labels: of each of them, beside the hostname; None = no others.
        """
        own = labels or [{}] * count
        bodies = [_node(f"node-{index}", own[index]) for index in range(count)]
        await self.each(bodies, lambda body: self.api.create(NODES, body))
        self.gpus += count * GPUS_PER_NODE

    async def add_groups(self, names: Sequence[str], size: int) -> None:
        """Create objects that say that `size` pods start together."""
        policy = {"gang": {"minCount": size}}
        head = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
        bodies = [
            {**head, "metadata": {"name": name}, "spec": {"schedulingPolicy": policy}}
            for name in names
        ]
        await self.each(bodies, lambda body: self.api.create(GROUPS, body))

    async def clear(self) -> None:
        """Remove everything but nodes and the scheduler's lead, and forget what was noted.

        Pods go by the API server, one revision each: watchers may be cut off at any revision,
        and would lose what is left of one in which thousands went.
        """
        await self.each(list(self.sent), self._remove)
        await asyncio.to_thread(self.plane.wipe, _KEPT)
        self.sent, self.bound = {}, {}

    async def _remove(self, name: str) -> None:
        with suppress(Absent):
            await self.api.delete(f"{PODS}/{name}", grace=0)

    async def create(self, pods: Sequence[dict[str, Any]]) -> None:
        """Create pods as fast as the server takes them."""
        await self.each(pods, self.create_one)

    async def create_one(self, pod: dict[str, Any]) -> None:
        """Create one pod."""
        self.sent[pod["metadata"]["name"]] = monotonic()
        await self.api.create(PODS, pod)

    async def create_paced(self, pods: Sequence[dict[str, Any]], per_s: float) -> None:
        """Create a number of pods per second, whether or not the answers come."""
        begin = monotonic()
        async with asyncio.TaskGroup() as tasks:
            for index, pod in enumerate(pods):
                await asyncio.sleep(begin + index / per_s - monotonic())
                tasks.create_task(self.create_one(pod))

    async def bind(self, pods: Sequence[dict[str, Any]], nodes: int) -> None:
        """Bind pods to one node after the other, without asking a scheduler where."""
        await self.bind_names([pod["metadata"]["name"] for pod in pods], nodes)

    async def bind_names(self, names: Sequence[str], nodes: int) -> None:
        """The same for pods that another client has created, by name."""
        bindings = [_binding(name, f"node-{i % nodes}") for i, name in enumerate(names)]
        await self.each(bindings, self._bind_one)

    async def create_and_bind(self, pods: Sequence[dict[str, Any]], nodes: int) -> None:
        """Create pods and bind each as soon as it is there."""
        places = {pod["metadata"]["name"]: f"node-{i % nodes}" for i, pod in enumerate(pods)}

        async def one(pod: dict[str, Any]) -> None:
            await self.create_one(pod)
            name = pod["metadata"]["name"]
            await self._bind_one(_binding(name, places[name]))

        await self.each(pods, one)

    async def _bind_one(self, binding: dict[str, Any]) -> None:
        await self.api.create(f"{PODS}/{binding['metadata']['name']}/binding", binding)

    async def all_bound(self, names: Iterable[str], limit_s: float, by: Process | None) -> None:
        """Wait until these pods were seen bound.

        Args:
            names: of the pods.
            limit_s: longest wait, in seconds.
            by: the scheduler; None = only the watch is waited for.

        Raises:
            EnvironmentFault: some are not after that time, or the scheduler has ended.
        """
        left, end = set(names), monotonic() + limit_s
        while left := left - self.bound.keys():
            if by and not by.runs():
                raise EnvironmentFault(f"{by.name} ended", by.last_lines())
            if monotonic() > end:
                message = f"{len(left)} pods are not bound after {limit_s:g} s, as {min(left)}"
                raise EnvironmentFault(message, by.last_lines() if by else "")
            await asyncio.sleep(_LOOK_S)

    async def events(self, reason: str, pods: Container[str]) -> int:
        """How many events of a reason there are about some pods, by name."""
        found = await self.api.get(EVENTS, _Events)
        return sum(each.reason == reason and each.regarding.name in pods for each in found.items)

    async def settled(self, quiet_s: Callable[[], float], limit_s: float) -> None:
        """Wait until no pod was bound for `quiet_s()` seconds, `limit_s` at most."""
        end = monotonic() + limit_s
        while monotonic() < end:
            last = max([*self.bound.values(), *self.sent.values()])
            if monotonic() - last >= quiet_s():
                return
            await asyncio.sleep(_LOOK_S)

    async def each(self, items: Sequence[_T], do: Callable[[_T], Awaitable[None]]) -> None:
        """Do something for each item, `IN_FLIGHT` of them at any time."""
        left = iter(items)

        async def work() -> None:
            for item in left:
                await do(item)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(IN_FLIGHT):
                tasks.create_task(work())


def pod(
    name: str,
    scheduler: str,
    *,
    gpus: int = 1,
    node: str = "",
    group: str = "",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> dict[str, Any]:
    """A pod of one container that asks for GPUs, one core and 1 GiB.

    Args:
        name: of the pod.
        scheduler: `schedulerName`.
        gpus: how many.
        node: where it is bound already; empty = it waits.
        group: name of the PodGroup it belongs to; empty = none.
        labels: as they are.
        annotations: as they are.
    """
    amounts = {"cpu": "1", "memory": "1Gi"} | ({GPU: str(gpus)} if gpus else {})
    resources = {"requests": amounts, "limits": {GPU: str(gpus)} if gpus else {}}
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": "main", "image": "none", "resources": resources}],
    }
    if node:
        spec["nodeName"] = node
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    meta = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _node(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(GPUS_PER_NODE)}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [condition]},
    }


def _binding(name: str, node: str) -> dict[str, Any]:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
