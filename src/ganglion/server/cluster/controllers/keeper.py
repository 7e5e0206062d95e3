"""Reconciles the services and workspaces of one cluster, in a thread of its own.

What it must remember is in the cluster: the number of replicas in their object, a workspace's
sleep in an annotation. What was learnt of loads may be lost with the process.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

import structlog

from ganglion.lifecycle.workspaces.rule import Pace
from ganglion.model.errors import GanglionError
from ganglion.server.cluster.controllers.mains import DEPLOYMENTS, Kept, Mains
from ganglion.server.cluster.controllers.services import Scale, Services
from ganglion.server.cluster.controllers.sight import Sight
from ganglion.server.cluster.controllers.telling import about, told
from ganglion.server.cluster.controllers.workspaces import ClusterWorkspaces
from ganglion.server.signals.scraper import Scraper
from ganglion.server.state.eyes import Eyes
from ganglion.transport.egress import CLUSTER, Egress
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, Conflict
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.sign_in.config import Endpoint
from ganglion.worlds.kubernetes.submit.objects import Main
from ganglion.worlds.kubernetes.types.pod import Pod

TICK_S = 1.0
"""How often services are looked at."""
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
"""Annotation of pods: a ReplicaSet deletes those with the lowest cost first."""
FIRST_TO_GO = "-1000"

SCALED, CANNOT_SCALE, ODD = "Scaled", "CannotScale", "Odd"
"""Reasons of events."""

log = structlog.get_logger(__name__)


class Lives:
    """Reconciles a cluster's services and workspaces.

    Args:
        endpoint: the cluster.
        identity: of this process, for events.
        sight: what the scheduler knows.
        may: whether we lead.
        clock: the time in ms since 1970.
        pace: how long the observations of workspaces hold.
        instance: of several schedulers, the one whose objects it reconciles.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        identity: str,
        sight: Sight,
        *,
        may: Callable[[], bool],
        clock: Callable[[], int],
        pace: Pace | None = None,
        instance: Instance = FIRST,
    ) -> None:
        self._instance = instance
        self._endpoint, self._identity, self._sight = endpoint, identity, sight
        self._may, self._clock = may, clock
        self._scraper = Scraper(Egress(CLUSTER))
        self._services = Services(self._scraper)
        self._eyes = Eyes()
        self._pace = pace
        self._alarms: dict[str, str] = {}
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
            log.exception("services and workspaces are not managed any more")

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
        workspaces = ClusterWorkspaces(self._eyes, self._sight, writing, recorder, self._pace)
        try:
            async with asyncio.TaskGroup() as group:
                for each in mains.reflectors:
                    group.create_task(each.run())
                group.create_task(recorder.run())
                while not self._stopping.is_set():
                    await asyncio.sleep(TICK_S)
                    if self._may():
                        await self._tick(mains, writing, recorder)
                        await workspaces.tick(mains.kept, self._clock())
        finally:
            await reading.close()
            await writing.close()

    async def _tick(self, mains: Mains, api: Api, recorder: Recorder) -> None:
        try:
            services = [each for each in mains.kept if each.life.scaling]
            pods = self._sight.pods({each.main.metadata.namespace for each in services})
            found = {each.uid: (each, _own(each, pods)) for each in services}
            for scale in self._services.decide(found, self._clock()):
                await self._scale(scale, found[scale.kept.uid][1], api, recorder)
            self._tell_alarms(found.values(), recorder)
        except GanglionError as error:
            log.warning("services not managed", why=error.message)

    async def _scale(self, scale: Scale, pods: Sequence[Pod], api: Api, recorder: Recorder) -> None:
        kept = scale.kept
        if scale.after < scale.before and kept.collection == DEPLOYMENTS:
            await self._mark(self._sight.worst(pods, scale.before - scale.after), pods, api)
        # The version keeps a person's own change from being undone by what we saw before it.
        body = {
            "metadata": {"resourceVersion": kept.main.metadata.resource_version},
            "spec": {"replicas": scale.after},
        }
        regarding = about(kept.collection, kept.main)
        try:
            await api.patch(f"{kept.path}/scale", body, Patch.MERGE)
        except (Absent, Conflict):
            return  # it is another by now, and looked at again
        except GanglionError as error:
            recorder.record(told(regarding, CANNOT_SCALE, error.message, warning=True))
            return
        note = f"from {scale.before} to {scale.after} replicas: {scale.reason}"
        recorder.record(told(regarding, SCALED, note))
        log.info("scaled", path=kept.path, before=scale.before, after=scale.after)

    async def _mark(self, worst: Sequence[str], pods: Sequence[Pod], api: Api) -> None:
        """Have the right pods go: those that help others most, of those that run."""
        for pod in pods:
            is_worst = pod.metadata.uid in worst
            if is_worst == (pod.metadata.annotations.get(DELETION_COST) == FIRST_TO_GO):
                continue
            meta = pod.metadata
            note = {DELETION_COST: FIRST_TO_GO if is_worst else None}
            body = {"metadata": {"uid": meta.uid, "annotations": note}}
            path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}"
            try:
                await api.patch(path, body, Patch.MERGE)
            except (Absent, Conflict):
                continue  # it has gone by itself

    def _tell_alarms(
        self, services: Iterable[tuple[Kept, Sequence[Pod]]], recorder: Recorder
    ) -> None:
        alarms = self._services.alarms()
        for kept, _ in services:
            alarm = alarms.get(kept.uid, "")
            if alarm and not self._alarms.get(kept.uid):
                regarding = about(kept.collection, kept.main)
                recorder.record(told(regarding, CANNOT_SCALE, alarm, warning=True))
        self._alarms = alarms


def _own(kept: Kept, pods: Mapping[str, Sequence[Pod]]) -> list[Pod]:
    """Those of an object's pods that answer requests and have not ended."""
    mine = pods[kept.main.metadata.namespace]
    return [each for each in mine if kept.has(each) and not each.is_over]
