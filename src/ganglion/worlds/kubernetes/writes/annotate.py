"""Annotations of pods."""

from collections.abc import Collection, Mapping

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.write_rules.devices import record
from ganglion.worlds.kubernetes.writes.calls import PACE, RetryPace
from ganglion.worlds.kubernetes.writes.outcome import Identity, WriteOutcome
from ganglion.worlds.kubernetes.writes.patch import patch_pod


async def annotate(
    api: Api, who: Identity, notes: Mapping[str, str | None], pace: RetryPace = PACE
) -> WriteOutcome:
    """Set annotations of a pod; None removes one, others are kept."""
    return await patch_pod(api, who, {"metadata": {"annotations": notes}}, Patch.MERGE, "", pace)


async def annotate_devices(
    api: Api,
    who: Identity,
    indexes: Collection[int],
    resource: str = "nvidia.com/gpu",
    pace: RetryPace = PACE,
) -> WriteOutcome:
    """Record the devices chosen for a pod that another scheduler binds, before it may.

    Pods we bind ourselves get the record in the binding.
    """
    return await annotate(api, who, record(indexes, resource), pace)
