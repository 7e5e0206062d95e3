"""The cluster host of workspaces: observes those that run, and carries out what is decided.

A workspace that sleeps has no replicas; an annotation says why, and goes with the first replica.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from ganglion.lifecycle.workspaces.reconciler import Action, Key, ObservedWorkspace, Workspaces
from ganglion.lifecycle.workspaces.rule import Act, LookPace, Warned, every_ms, may_suspend
from ganglion.model.errors import GanglionError
from ganglion.model.workload import Kind, Workload
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.cluster.controllers.mains import ReconciledObject
from ganglion.server.cluster.controllers.onlooker import ClusterOnlooker, WorkspacePlace
from ganglion.server.cluster.controllers.services import is_ready
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.server.cluster.controllers.telling import about, told
from ganglion.server.state.eyes import Eyes
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, ObjectConflict
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


class ClusterWorkspaces:
    """Reconciles the workspaces of a cluster.

    Args:
        eyes: look at workspaces.
        sight: what the scheduler knows.
        api: the cluster's.
        recorder: of events.
        pace: how long an observation holds.
        clock: by which pods are looked at.
    """

    def __init__(
        self,
        eyes: Eyes,
        sight: ClusterSight,
        api: Api,
        recorder: Recorder,
        pace: LookPace | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._eyes, self._sight = eyes, sight
        self._api, self._recorder, self._clock = api, recorder, clock
        self._reconciler = Workspaces(pace)

    async def tick(self, kept: Sequence[ReconciledObject], now: int) -> None:
        """Reconcile workspaces that run."""
        wanted = [each for each in kept if each.life.kind is Kind.WORKSPACE and _goes(each)]
        pods = self._sight.pods({each.main.metadata.namespace for each in wanted})
        found = {_key(each, pod): (each, pod) for each in wanted if (pod := _pod(each, pods))}
        self._eyes.keep(found.keys())
        for key, (each, pod) in found.items():
            if not self._eyes.knows(key):
                await self._meet(key, each, pod, now)
        observed = {
            key: ObservedWorkspace(_workload(each), seen.required, seen.look, warned_of(each))
            for key, (each, _) in found.items()
            if (seen := self._eyes.seen(key))
        }
        for key, action in self._reconciler.decide(observed, now).items():
            await self._carry_out(found[key][0], action)

    async def _meet(self, key: Key, kept: ReconciledObject, pod: Pod, now: int) -> None:
        meta = pod.metadata
        path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}"
        try:
            token = _token(await self._api.get(path, Anything))
        except GanglionError as error:
            log.warning("workspace not checked", path=path, why=error.message)
            return
        asked, is_shared = ask_of(pod), any(each in meta.annotations for each in _SHARED)
        place = WorkspacePlace(
            meta.namespace,
            meta.name,
            f"http://{pod.status.pod_ip}:{kept.life.port}",
            token,
            asked.gpus or int(is_shared),
            is_shared,
            tuple(self._sight.exporters(pod.spec.node_name)),
            kept.life.idle,
        )
        self._eyes.meet(
            key, ClusterOnlooker(place, self._clock.now_ms), every_ms(_workload(kept), now)
        )

    async def _carry_out(self, kept: ReconciledObject, action: Action) -> None:
        regarding = about(kept.collection, kept.main)
        note = _note(action)
        try:
            await self._api.patch(kept.path, _patch(kept, action), Patch.MERGE)
        except (Absent, ObjectConflict):
            return  # it is another by now, and looked at again
        except GanglionError as error:
            self._recorder.record(
                told(regarding, CANNOT, error.message, action="Suspending", warning=True)
            )
            return
        self._recorder.record(told(regarding, REASONS[action.act], note, action="Suspending"))
        log.info("workspace", path=kept.path, act=action.act.value, note=note)


def warned_of(kept: ReconciledObject) -> Warned | None:
    """The warning that stands, as its object says; one that cannot be read does not stand."""
    at, _, until = kept.main.metadata.annotations.get(names.IDLE_WARNING, "").partition("/")
    return Warned(int(at), int(until)) if at.isdecimal() and until.isdecimal() else None


def _note(action: Action) -> str:
    if action.act is Act.SUSPEND:
        return f"suspended: {action.found}"
    return action.message or action.found


def _patch(kept: ReconciledObject, action: Action) -> Mapping[str, Any]:
    warned = action.warned
    text = f"{warned.at}/{warned.suspend_at}" if warned else None
    notes: dict[str, str | None] = {names.IDLE_WARNING: text}
    # The version keeps a person's own change from being undone by what we saw before it.
    meta = {"resourceVersion": kept.main.metadata.resource_version, "annotations": notes}
    if action.act is not Act.SUSPEND:
        return {"metadata": meta}
    notes[names.SLEEPS] = _note(action)
    return {"metadata": meta, "spec": {"replicas": 0}}


def _goes(kept: ReconciledObject) -> bool:
    """Whether it may be suspended, and is not."""
    return may_suspend(_workload(kept)) and bool(kept.life.port) and kept.main.spec.replicas != 0


def _pod(kept: ReconciledObject, pods: Mapping[str, Sequence[Pod]]) -> Pod | None:
    mine = pods[kept.main.metadata.namespace]
    return next((each for each in mine if kept.has(each) and is_ready(each)), None)


def _key(kept: ReconciledObject, pod: Pod) -> Key:
    return (f"{kept.uid}/{pod.metadata.uid}", 1)


def _workload(kept: ReconciledObject) -> Workload:
    life = kept.life
    return Workload(
        name=kept.main.metadata.name,
        kind=Kind.WORKSPACE,
        idle_timeout_ms=life.idle_timeout_ms,
        idle=life.idle,
    )


def _token(pod: Anything) -> str:
    for container in pod.spec.get("containers", ()):
        for each in container.get("env", ()):
            if each.get("name") == TOKEN:
                return str(each.get("value", ""))
    return ""
