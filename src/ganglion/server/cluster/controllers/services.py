"""The cluster host of services: observes those that scale, and carries out what is decided."""

from collections.abc import Mapping, Sequence

import structlog

from ganglion.lifecycle.autoscaling.reconciler import (
    Decision,
    ObservedService,
    ServiceLoad,
    Services,
)
from ganglion.model.behaviour import Scaling
from ganglion.model.errors import GanglionError
from ganglion.server.cluster.controllers.mains import DEPLOYMENTS, ReconciledObject
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.server.cluster.controllers.telling import about, told
from ganglion.server.signals.polled import Polled
from ganglion.server.signals.prometheus import job_of
from ganglion.server.signals.scraper import Job, Scraper
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, ObjectConflict
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.times import read_ms

READY = "Ready"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
"""Annotation of pods: a ReplicaSet deletes those with the lowest cost first."""
FIRST_TO_GO = "-1000"

SCALED, CANNOT_SCALE, IN_DOUBT = "Scaled", "CannotScale", "LoadInDoubt"
"""Reasons of events."""

log = structlog.get_logger(__name__)


class ClusterServices:
    """Reconciles the services of a cluster that scale.

    Args:
        scraper: asks pods and Prometheus.
        sight: what the scheduler knows.
        api: the cluster's.
        recorder: of events.
    """

    def __init__(self, scraper: Scraper, sight: ClusterSight, api: Api, recorder: Recorder) -> None:
        self._polled, self._sight = Polled(scraper), sight
        self._api, self._recorder = api, recorder
        self._reconciler = Services()
        self._alarms: dict[str, Mapping[str, str]] = {}
        self._said: dict[str, frozenset[tuple[str, str]]] = {}

    async def tick(self, kept: Sequence[ReconciledObject], now: int) -> None:
        """Reconcile all of them."""
        found = {each.uid: each for each in kept if each.life.scaling}
        pods = self._sight.pods({each.main.metadata.namespace for each in found.values()})
        own = {uid: _own(each, pods) for uid, each in found.items()}
        self._reconciler.keep(found.keys())
        self._alarms = {uid: each for uid, each in self._alarms.items() if uid in found}
        self._said = {uid: each for uid, each in self._said.items() if uid in found}
        self._polled.follow({uid: _job(each, own[uid]) for uid, each in found.items()})
        for uid, each in found.items():
            try:
                await self._reconcile(each, own[uid], now)
            except GanglionError as error:
                log.warning("service not managed", path=each.path, why=error.message)

    async def _reconcile(self, kept: ReconciledObject, pods: Sequence[Pod], now: int) -> None:
        scaling = kept.life.scaling or Scaling()
        if self._reconciler.is_due(kept.uid, scaling, now):
            seen = self._observed(kept, pods, now)
            decision = self._reconciler.decide(kept.uid, scaling, seen, now)
            await self._carry_out(kept, pods, decision)

    def _observed(self, kept: ReconciledObject, pods: Sequence[Pod], now: int) -> ObservedService:
        ready = [each for each in pods if is_ready(each)]
        load = self._polled.look(kept.uid, [each.metadata.name for each in ready], now)
        return ObservedService(
            load or ServiceLoad(),
            {each.metadata.uid: _took_ms(each) for each in ready},
            len(ready),
            replicas_of(kept),
            replicas_of(kept) if now < kept.life.held_until else None,
            self._alarms.get(kept.uid, {}),
        )

    async def _carry_out(
        self, kept: ReconciledObject, pods: Sequence[Pod], decision: Decision
    ) -> None:
        wanted = decision.desired
        if wanted.replicas != replicas_of(kept):
            await self._scale(kept, pods, wanted.replicas, wanted.reason)
        regarding = about(kept.collection, kept.main)
        reason = CANNOT_SCALE if wanted.alarm else IN_DOUBT
        before, stand = self._said.get(kept.uid, frozenset()), set[tuple[str, str]]()
        for alarm, message in decision.alarms.items():
            # The same silence is reported again once it keeps the service from scaling.
            stand.add((reason, alarm))
            if (reason, alarm) not in before:
                note = f"{alarm}: {message}"
                self._recorder.record(told(regarding, reason, note, warning=True))
        self._alarms[kept.uid], self._said[kept.uid] = decision.alarms, frozenset(stand)

    async def _scale(
        self, kept: ReconciledObject, pods: Sequence[Pod], after: int, why: str
    ) -> None:
        before = replicas_of(kept)
        if after < before and kept.collection == DEPLOYMENTS:
            await self._mark(self._sight.worst(pods, before - after), pods)
        # The version keeps a person's own change from being undone by what we saw before it.
        body = {
            "metadata": {"resourceVersion": kept.main.metadata.resource_version},
            "spec": {"replicas": after},
        }
        regarding = about(kept.collection, kept.main)
        try:
            await self._api.patch(f"{kept.path}/scale", body, Patch.MERGE)
        except (Absent, ObjectConflict):
            return  # it is another by now, and looked at again
        except GanglionError as error:
            self._recorder.record(told(regarding, CANNOT_SCALE, error.message, warning=True))
            return
        note = f"from {before} to {after} replicas: {why}"
        self._recorder.record(told(regarding, SCALED, note))
        log.info("scaled", path=kept.path, before=before, after=after)

    async def _mark(self, worst: Sequence[str], pods: Sequence[Pod]) -> None:
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
                await self._api.patch(path, body, Patch.MERGE)
            except (Absent, ObjectConflict):
                continue  # it has gone by itself


def replicas_of(kept: ReconciledObject) -> int:
    """How many replicas its object asks for."""
    return 1 if kept.main.spec.replicas is None else kept.main.spec.replicas


def is_ready(pod: Pod) -> bool:
    """Whether a pod answers requests, as far as the cluster knows."""
    condition = pod.condition(READY)
    return condition is not None and condition.status == "True" and not pod.is_leaving


def _own(kept: ReconciledObject, pods: Mapping[str, Sequence[Pod]]) -> list[Pod]:
    """Those of an object's pods that answer requests and have not ended."""
    mine = pods[kept.main.metadata.namespace]
    return [each for each in mine if kept.has(each) and not each.is_over]


def _took_ms(pod: Pod) -> int:
    """From the pod's creation until it was ready, in ms; the cluster reports whole seconds."""
    condition = pod.condition(READY)
    since = (condition.last_transition_time if condition else "") or ""
    return max(0, read_ms(since) - read_ms(pod.metadata.creation_timestamp))


def _job(kept: ReconciledObject, pods: Sequence[Pod]) -> Job:
    at = {each.metadata.name: each.status.pod_ip for each in pods if is_ready(each)}
    listening = {pod: f"{_bracketed(ip)}:{kept.life.port}" for pod, ip in sorted(at.items()) if ip}
    return job_of(kept.life.scaling or Scaling(), listening)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
