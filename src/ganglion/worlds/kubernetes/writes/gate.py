"""Gate mode: pods that another scheduler binds, on the node that we name.

Such pods carry our scheduling gate. Lifting it and narrowing the node selector to one host is
one patch, so the other scheduler never sees a pod that may go anywhere else. Gates of others
stay; the pod then waits for them as well.
"""

from typing import Any

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import InvalidRequest, ObjectConflict
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.names import GATE, HOSTNAME
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.writes.calls import PACE, RetryPace, reader, settle
from ganglion.worlds.kubernetes.writes.outcome import Identity, WriteOutcome, WriteVerdict, path_of


def lifted(pod: Pod, hostname: str, ours: str = GATE) -> WriteOutcome | None:
    """Say what there is to report on a pod's gate; None = it is still to be lifted."""
    if pod.is_leaving or pod.is_over:
        return WriteOutcome(WriteVerdict.GONE, f"pod {pod.key} is over or leaving")
    host = pod.spec.node_selector.get(HOSTNAME)
    if any(gate.name == ours for gate in pod.spec.scheduling_gates):
        if host in (None, hostname):
            return None
        return WriteOutcome(WriteVerdict.REFUSED, f"pod {pod.key} selects the host {host} itself")
    if host == hostname:
        return WriteOutcome(WriteVerdict.UNCHANGED, node=pod.spec.node_name)
    return WriteOutcome(
        WriteVerdict.ELSEWHERE, f"pod {pod.key} was let go before", pod.spec.node_name
    )


def lifting(pod: Pod, hostname: str, instance: Instance = FIRST) -> list[dict[str, Any]]:
    """Return the JSON patch that lifts our gate; it fails if the pod is not as it was read."""
    gates = [gate.name for gate in pod.spec.scheduling_gates]
    gate = f"/spec/schedulingGates/{gates.index(instance.gate)}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": pod.metadata.resource_version},
        {"op": "test", "path": f"{gate}/name", "value": instance.gate},
        *_narrowing(pod, hostname),
        *_marking(pod, instance),
        {"op": "remove", "path": gate},
    ]


async def ungate(
    api: Api, who: Identity, hostname: str, pace: RetryPace = PACE, instance: Instance = FIRST
) -> WriteOutcome:
    """Let another scheduler bind a pod to one host.

    Args:
        api: the cluster's.
        who: the pod.
        hostname: value of the label `kubernetes.io/hostname` of the node, often its name.
        pace: how hard to try.
        instance: whose gate it is.

    Returns:
        DONE; UNCHANGED when it was let go to that host before; ELSEWHERE when it was let go
        without it; GONE; REFUSED when it selects another host itself.
    """
    look = reader(api, who, lambda pod: lifted(pod, hostname, instance.gate))

    async def write() -> None:
        pod = await api.get(path_of(who), Pod)
        if pod.metadata.uid == who.uid and lifted(pod, hostname, instance.gate) is None:
            await _lift(api, pod, hostname, instance)

    return await look() or await settle(write, look, pace)


async def _lift(api: Api, pod: Pod, hostname: str, instance: Instance) -> None:
    path = path_of(pod.metadata)
    try:
        await api.patch(path, lifting(pod, hostname, instance), Patch.JSON)
    except InvalidRequest as refused:
        # A test that fails is refused like a patch that is wrong; the pod itself shows which.
        now = await api.get(path, Pod)
        if now.metadata.resource_version != pod.metadata.resource_version:
            raise ObjectConflict(f"pod {pod.key} has changed since it was read") from refused
        raise


def _narrowing(pod: Pod, hostname: str) -> list[dict[str, Any]]:
    if not pod.spec.node_selector:
        return [{"op": "add", "path": "/spec/nodeSelector", "value": {HOSTNAME: hostname}}]
    escaped = HOSTNAME.replace("/", "~1")
    return [{"op": "add", "path": f"/spec/nodeSelector/{escaped}", "value": hostname}]


def _marking(pod: Pod, instance: Instance) -> list[dict[str, Any]]:
    """Say on the pod whose it was, where there may be several."""
    if not pod.metadata.annotations and instance.mark:
        return [{"op": "add", "path": "/metadata/annotations", "value": instance.mark}]
    paths = {key.replace("/", "~1"): value for key, value in instance.mark.items()}
    return [
        {"op": "add", "path": f"/metadata/annotations/{key}", "value": value}
        for key, value in paths.items()
    ]
