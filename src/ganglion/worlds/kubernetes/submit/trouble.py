"""Why a controller makes no pods: a quota, an admission webhook, a missing service account."""

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ForbiddenRequest
from ganglion.worlds.kubernetes.submit.finding import SeenWorkload
from ganglion.worlds.kubernetes.types.meta import Meta, Object

FAILED_CREATE = "FailedCreate"


class ClusterEvent(Object, frozen=True):
    """An event about an object."""

    metadata: Meta = Meta()
    reason: str = ""
    message: str = ""


async def trouble_of(api: Api, namespace: str, seen: SeenWorkload) -> str:
    """The last message about pods that could not be made; empty = nothing.

    Args:
        api: the cluster.
        namespace: where the workload is.
        seen: the workload.
    """
    found: list[ClusterEvent] = []
    for main in seen.mains:
        selector = f"involvedObject.uid={main.metadata.uid},reason={FAILED_CREATE}"
        path, params = f"/api/v1/namespaces/{namespace}/events", {"fieldSelector": selector}
        try:
            found += (await api.list(path, ClusterEvent, params=params)).items
        except ForbiddenRequest:
            return ""
    latest = max(found, key=lambda each: each.metadata.creation_timestamp, default=None)
    return latest.message if latest else ""
