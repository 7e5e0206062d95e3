"""Promises: `status.nominatedNodeName` of pods whose place others still have to leave.

They are written for all pods of a beneficiary before any victim is marked or evicted, so that a
reader of the cluster knows for which pod a victim goes, and where. A binding clears the nomination.
"""

from collections.abc import Sequence
from typing import Any

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.writes.calls import PACE, RetryPace, each_of
from ganglion.worlds.kubernetes.writes.outcome import Identity, WriteOutcome
from ganglion.worlds.kubernetes.writes.patch import patch_pod


async def nominate(
    api: Api, places: Sequence[tuple[Identity, str]], pace: RetryPace = PACE
) -> dict[str, WriteOutcome]:
    """Write where pods are going to run. Returns pod uid -> outcome.

    Args:
        api: the cluster's.
        places: pods and names of nodes; "" = nowhere any more.
        pace: how hard to try, and how many at once.
    """

    async def write(index: int) -> WriteOutcome:
        who, node = places[index]
        return await patch_pod(api, who, _nomination(node), Patch.MERGE, "status", pace)

    return await each_of([who for who, _ in places], write, pace.at_once)


async def unnominate(
    api: Api, whos: Sequence[Identity], pace: RetryPace = PACE
) -> dict[str, WriteOutcome]:
    """Take promises back. Returns pod uid -> outcome."""
    return await nominate(api, [(who, "") for who in whos], pace)


def _nomination(node: str) -> dict[str, Any]:
    return {"status": {"nominatedNodeName": node or None}}
