"""Running coroutines on a real API server, and pods as they are there now."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.sign_in.config import load
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.writes.calls import RetryPace
from ganglion.worlds.kubernetes.writes.outcome import ObjectRef, ref_of
from tests.controlplane.cluster import Cluster

T = TypeVar("T")
QUICK = RetryPace(tries=4, first_pause_s=0.01, most_pause_s=0.02)


def on(kubeconfig: Path, what: Callable[[Api], Awaitable[T]]) -> T:
    """Run a coroutine with a client of its own."""

    async def whole() -> T:
        api = Api(load(kubeconfig))
        try:
            return await what(api)
        finally:
            await api.close()

    return asyncio.run(whole())


def path(name: str) -> str:
    """Where a pod of the default namespace is."""
    return f"/api/v1/namespaces/default/pods/{name}"


def pod(cluster: Cluster, name: str) -> Pod:
    """A pod as it is now."""
    return msgspec.convert(cluster.get(path(name)), Pod)


def ref(cluster: Cluster, name: str) -> ObjectRef:
    """A pod's identity."""
    return ref_of(pod(cluster, name))


def leaving(cluster: Cluster, name: str) -> bool:
    """Whether a pod is leaving or gone."""
    found = cluster.find(path(name))
    return found is None or "deletionTimestamp" in found["metadata"]


def run_pod(cluster: Cluster, name: str, *, ready: bool = True) -> None:
    """Say for the kubelet that a bound pod runs."""
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    status = {"phase": "Running", "conditions": [condition]}
    cluster.patch(f"{path(name)}/status", {"status": status}, "strategic")
