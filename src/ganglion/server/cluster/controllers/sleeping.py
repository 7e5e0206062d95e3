"""Warns and suspends workspaces of a cluster.

A workspace that sleeps has no replicas; an annotation says why, and goes with the first replica.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from ganglion.lifecycle.workspaces.rule import Act
from ganglion.model.errors import GanglionError
from ganglion.model.workload import Kind
from ganglion.server.cluster.controllers.mains import Kept
from ganglion.server.cluster.controllers.onlooker import Place
from ganglion.server.cluster.controllers.services import is_ready
from ganglion.server.cluster.controllers.sight import Sight
from ganglion.server.cluster.controllers.telling import about, told
from ganglion.server.cluster.controllers.workspaces import Deed, Workspaces
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, Conflict
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.requests import ask_of
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod

TOKEN = "JUPYTER_TOKEN"
"""Variable of a container that says what its notebook server wants to see."""
REASONS = {Act.WARN: "Idle", Act.TAKE_BACK: "InUse", Act.SUSPEND: "Suspended"}
CANNOT = "CannotSuspend"
_SHARED = (names.GPU_FRACTION, names.GPU_MEMORY)

log = structlog.get_logger(__name__)


class Sleeping:
    """Carries out what is decided about workspaces.

    Args:
        workspaces: decides.
        sight: what the scheduler knows.
        api: the cluster's.
        recorder: of events.
    """

    def __init__(self, workspaces: Workspaces, sight: Sight, api: Api, recorder: Recorder) -> None:
        self._workspaces, self._sight, self._api = workspaces, sight, api
        self._recorder = recorder

    async def tick(self, kept: Sequence[Kept], now: int) -> None:
        """Reconcile workspaces that run."""
        wanted = [each for each in kept if each.life.kind is Kind.WORKSPACE and _goes(each)]
        pods = self._sight.pods({each.main.metadata.namespace for each in wanted})
        found = {each.uid: (each, pod) for each in wanted if (pod := _pod(each, pods))}
        for uid in self._workspaces.unmet(found):
            await self._meet(*found[uid], now)
        for deed in self._workspaces.decide(found, now):
            await self._do(deed)

    async def _meet(self, kept: Kept, pod: Pod, now: int) -> None:
        meta = pod.metadata
        path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}"
        try:
            token = _token(await self._api.get(path, Anything))
        except GanglionError as error:
            log.warning("workspace not checked", path=path, why=error.message)
            return
        asked, is_shared = ask_of(pod), any(each in meta.annotations for each in _SHARED)
        place = Place(
            meta.namespace,
            meta.name,
            f"http://{pod.status.pod_ip}:{kept.life.port}",
            token,
            asked.gpus or int(is_shared),
            is_shared,
            tuple(self._sight.exporters(pod.spec.node_name)),
            kept.life.idle,
        )
        self._workspaces.meet(kept, pod, place, now)

    async def _do(self, deed: Deed) -> None:
        kept = deed.kept
        regarding = about(kept.collection, kept.main)
        try:
            await self._api.patch(kept.path, _patch(deed), Patch.MERGE)
        except (Absent, Conflict):
            return  # it is another by now, and looked at again
        except GanglionError as error:
            self._recorder.record(
                told(regarding, CANNOT, error.message, action="Suspending", warning=True)
            )
            return
        self._recorder.record(told(regarding, REASONS[deed.act], deed.note, action="Suspending"))
        log.info("workspace", path=kept.path, act=deed.act.value, note=deed.note)


def _pod(kept: Kept, pods: Mapping[str, Sequence[Pod]]) -> Pod | None:
    mine = pods[kept.main.metadata.namespace]
    return next((each for each in mine if kept.has(each) and is_ready(each)), None)


def _patch(deed: Deed) -> Mapping[str, Any]:
    warned = f"{deed.warned.at}/{deed.warned.suspend_at}" if deed.warned else None
    notes: dict[str, str | None] = {names.IDLE_WARNING: warned}
    # The version keeps a person's own change from being undone by what we saw before it.
    meta = {"resourceVersion": deed.kept.main.metadata.resource_version, "annotations": notes}
    if deed.act is not Act.SUSPEND:
        return {"metadata": meta}
    notes[names.SLEEPS] = deed.note
    return {"metadata": meta, "spec": {"replicas": 0}}


def _goes(kept: Kept) -> bool:
    """Whether it may be suspended, and is not."""
    life = kept.life
    has_end = bool(life.idle_timeout_ms) or life.idle.hours is not None
    return has_end and bool(life.port) and kept.main.spec.replicas != 0


def _token(pod: Anything) -> str:
    for container in pod.spec.get("containers", ()):
        for each in container.get("env", ()):
            if each.get("name") == TOKEN:
                return str(each.get("value", ""))
    return ""
