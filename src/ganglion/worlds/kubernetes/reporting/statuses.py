"""Writing the status of queues, policies and PodGroups."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog
from msgspec import Struct

from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, ObjectConflict
from ganglion.worlds.kubernetes.http.patches import Patch

log = structlog.get_logger(__name__)


class SetStatus(Struct, frozen=True):
    """Change the status of one object.

    Attributes:
        path: of the object.
        version: resourceVersion that the change was computed for; another one is left alone.
        patch: of the status, as a merge patch (RFC 7386).
    """

    path: str
    version: str
    patch: Mapping[str, Any]


class StatusWriter:
    """Writes them one by one; `give` may be called from any thread once it runs.

    What fails is not tried again here: the caller that computed it sees that it is still due.

    Args:
        api: the cluster's.
        may: whether we lead.
    """

    def __init__(self, api: Api, may: Callable[[], bool]) -> None:
        self._api, self._may = api, may
        self._wanted: asyncio.Queue[SetStatus] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None

    def give(self, wanted: Sequence[SetStatus]) -> None:
        """Have statuses written."""
        assert self._loop
        for each in wanted:
            self._loop.call_soon_threadsafe(self._wanted.put_nowait, each)

    async def run(self) -> None:
        """Write until cancelled."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._write(await self._wanted.get())

    async def _write(self, wanted: SetStatus) -> None:
        if not self._may():
            return
        # A list in a merge patch replaces the one there: the version keeps others' conditions.
        body = {"metadata": {"resourceVersion": wanted.version}, "status": wanted.patch}
        try:
            await self._api.patch(f"{wanted.path}/status", body, Patch.MERGE)
        except (Absent, ObjectConflict):
            pass  # it is gone, or another than we saw: computed anew from what it is now
        except EnvironmentFault as error:
            log.warning("status not written", path=wanted.path, why=error.message)
