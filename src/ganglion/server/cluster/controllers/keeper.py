"""Reconciles the services, workspaces and sweeps of one cluster, in a thread of its own.

What it must remember is in the cluster: the number of replicas in their object, a workspace's
sleep and how far trials have come in annotations. What was learnt of loads may be lost with the
process.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

import structlog

from ganglion.lifecycle.workspaces.rule import LookPace
from ganglion.model.errors import GanglionError
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.cluster.controllers.mains import Mains
from ganglion.server.cluster.controllers.services import ClusterServices
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.server.cluster.controllers.sweeps import ClusterSweeps
from ganglion.server.cluster.controllers.telling import about, told
from ganglion.server.cluster.controllers.workspaces import ClusterWorkspaces
from ganglion.server.signals.scraper import Scraper
from ganglion.server.state.eyes import Eyes
from ganglion.transport.egress import CLUSTER, Egress
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.sign_in.config import ApiEndpoint
from ganglion.worlds.kubernetes.submit.objects import Main

TICK_S = 1.0
"""How often services are looked at."""
ODD = "Odd"
"""Reason of events."""

log = structlog.get_logger(__name__)


class Lives:
    """Reconciles a cluster's services, workspaces and sweeps.

    Args:
        endpoint: the cluster.
        identity: of this process, for events.
        sight: what the scheduler knows.
        may: whether we lead.
        clock: the wall clock, and waits.
        pace: how long the observations of workspaces hold.
        instance: of several schedulers, the one whose objects it reconciles.
    """

    def __init__(
        self,
        endpoint: ApiEndpoint,
        identity: str,
        sight: ClusterSight,
        *,
        may: Callable[[], bool],
        clock: Clock = SYSTEM_CLOCK,
        pace: LookPace | None = None,
        instance: Instance = FIRST,
    ) -> None:
        self._instance = instance
        self._endpoint, self._identity, self._sight = endpoint, identity, sight
        self._may, self._clock = may, clock
        self._scraper = Scraper(Egress(CLUSTER), clock)
        self._eyes = Eyes()
        self._pace = pace
        self._thread = threading.Thread(target=self._run, name="lives", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin."""
        self._scraper.start()
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what was written stays."""
        self._stopping.set()
        if self._loop and self._task:
            with suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()
        self._scraper.stop()

    def _run(self) -> None:
        try:
            with self._eyes.open():
                asyncio.run(self._live())
        except asyncio.CancelledError:
            pass
        except BaseException:
            # Scheduling goes on without it.
            log.exception("services, workspaces and sweeps are not managed any more")

    async def _live(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        reading = Api(self._endpoint, in_flight=4, timeout_s=60.0)
        writing = Api(self._endpoint, in_flight=8)
        recorder = Recorder(
            writing, self._identity, may=self._may, controller=self._instance.controller
        )

        def wrong(collection: str, main: Main, error: GanglionError) -> None:
            recorder.record(told(about(collection, main), ODD, error.message, warning=True))

        mains = Mains(reading, wrong, self._instance)
        services = ClusterServices(self._scraper, self._sight, writing, recorder)
        sweeps = ClusterSweeps(self._sight, writing, recorder)
        workspaces = ClusterWorkspaces(
            self._eyes, self._sight, writing, recorder, self._pace, self._clock
        )
        try:
            async with asyncio.TaskGroup() as group:
                for each in mains.reflectors:
                    group.create_task(each.run())
                group.create_task(recorder.run())
                while not self._stopping.is_set():
                    await self._clock.pause(TICK_S)
                    if self._may():
                        await services.tick(mains.kept, self._clock.now_ms())
                        await workspaces.tick(mains.kept, self._clock.now_ms())
                        await sweeps.tick(mains.kept, self._clock.now_ms())
        finally:
            await reading.close()
            await writing.close()
