"""Changing one part of a pod, provided that it is still the same pod."""

from collections.abc import Mapping
from typing import Any

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.writes.calls import PACE, Judge, RetryPace, nothing, reader, settle
from ganglion.worlds.kubernetes.writes.outcome import Identity, WriteOutcome, path_of


async def patch_pod(
    api: Api,
    who: Identity,
    body: Mapping[str, Any],
    form: Patch,
    subresource: str = "",
    pace: RetryPace = PACE,
    judge: Judge = nothing,
) -> WriteOutcome:
    """Patch a pod; the server refuses when its UID is another.

    Args:
        api: the cluster's.
        who: the pod.
        body: what to change, without the UID. Sending it twice has to do no harm.
        form: MERGE or STRATEGIC.
        subresource: as `status`.
        pace: how hard to try.
        judge: what the pod says when a patch went wrong.
    """
    metadata = {**body.get("metadata", {}), "uid": who.uid}
    whole = {**body, "metadata": metadata}
    path = path_of(who, subresource)
    return await settle(lambda: api.patch(path, whole, form), reader(api, who, judge), pace)
