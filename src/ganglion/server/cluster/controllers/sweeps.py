"""The cluster host of sweeps: observes Jobs of trials, stops and promotes as is decided."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import structlog

from ganglion.lifecycle.sweeps.reconciler import index_of, to_promote, to_stop
from ganglion.model.causes import Cause, sentence
from ganglion.model.errors import GanglionError, StateError
from ganglion.model.workload import Kind
from ganglion.server.cluster.controllers.mains import JOBS, ReconciledObject
from ganglion.server.cluster.controllers.sight import ClusterSight
from ganglion.server.cluster.controllers.telling import about, told
from ganglion.server.cluster.controllers.trials import (
    by_trial,
    notes_of,
    over,
    reports_of,
    sweep_of,
)
from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent, ObjectConflict
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.reporting.events import Recorder
from ganglion.worlds.kubernetes.submit.objects import Main
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.writes.evict import EvictionBatch
from ganglion.worlds.kubernetes.writes.outcome import WriteVerdict
from ganglion.worlds.kubernetes.writes.patch import patch_pod

ODD, STOPPED = "Odd", "StoppedEarly"
"""Reasons of events."""
NO_RULE = (
    f"{names.EARLY_STOP} needs `backoffLimitPerIndex`, and a `podFailurePolicy` that fails the"
    f" index of pods with the condition {names.GIVEN_UP}: no trial is stopped early"
)

log = structlog.get_logger(__name__)


class ClusterSweeps:
    """Reconciles the sweeps of a cluster. It remembers nothing but what it has said.

    Args:
        sight: what the scheduler knows.
        api: the cluster's.
        recorder: of events.
    """

    def __init__(self, sight: ClusterSight, api: Api, recorder: Recorder) -> None:
        self._sight, self._api, self._recorder = sight, api, recorder
        self._said: dict[str, str] = {}

    async def tick(self, kept: Sequence[ReconciledObject], now: int) -> None:
        """Reconcile all of them that have not ended."""
        found = [each for each in kept if _goes(each)]
        pods = self._sight.pods({each.main.metadata.namespace for each in found})
        mine = {each.uid: by_trial(each, pods[each.main.metadata.namespace]) for each in found}
        live = {pod.metadata.uid for trials in mine.values() for pod in trials.values()}
        live |= mine.keys()
        self._said = {uid: each for uid, each in self._said.items() if uid in live}
        for each in found:
            try:
                await self._reconcile(each, mine[each.uid], now)
            except (GanglionError, msgspec.DecodeError) as error:
                log.warning("sweep not managed", path=each.path, why=str(error))

    async def _reconcile(self, kept: ReconciledObject, pods: Mapping[int, Pod], now: int) -> None:
        sweep, gone, terms = sweep_of(kept, pods), over(kept), kept.life.trials
        if terms.early_stop and not _fails_index(kept.main):
            self._odd(kept, kept.uid, NO_RULE)
            terms = msgspec.structs.replace(terms, early_stop=None)
        for pod, reports in reports_of(kept, pods, now):
            if isinstance(reports, str):
                self._odd(kept, pod.metadata.uid, f"{names.REPORT} of {pod.key}: {reports}")
            else:
                sweep.reports += reports
        stops = to_stop(sweep, terms, lambda trial: index_of(trial) not in gone)
        to_promote(kept.uid, sweep, terms)
        notes = notes_of(kept, sweep)
        if not notes or await self._written(kept, notes):
            # Only what is written is acted upon: another scheduler would judge it anew.
            for trial, cause in stops.items():
                victim = pods.get(index_of(trial))
                if victim and not (victim.is_over or victim.is_leaving):
                    await self._stop(kept, victim, cause)

    def _odd(self, kept: ReconciledObject, uid: str, problem: str) -> None:
        if self._said.get(uid) != problem:
            self._said[uid] = problem
            self._recorder.record(
                told(about(JOBS, kept.main), ODD, problem, action="Comparing", warning=True)
            )

    async def _written(self, kept: ReconciledObject, notes: Mapping[str, str]) -> bool:
        # The version keeps a person's own change from being undone by what we saw before it.
        version = kept.main.metadata.resource_version
        body = {"metadata": {"resourceVersion": version, "annotations": notes}}
        try:
            await self._api.patch(kept.path, body, Patch.MERGE)
        except (Absent, ObjectConflict):
            return False  # it is another by now, and looked at again
        return True

    async def _stop(self, kept: ReconciledObject, pod: Pod, cause: Cause) -> None:
        why = sentence(cause)
        mark = {"type": names.GIVEN_UP, "status": "True", "reason": STOPPED, "message": why}
        body: Mapping[str, Any] = {"status": {"conditions": [mark]}}
        # The Job fails the index of a pod with this mark, where it would make it anew.
        outcome = await patch_pod(self._api, pod.metadata, body, Patch.STRATEGIC, "status")
        if outcome.holds:
            outcome = await EvictionBatch(self._api).evict(pod.metadata)
        if outcome.verdict is WriteVerdict.DONE:
            note = f"{pod.metadata.name} is {why}"
            self._recorder.record(told(about(JOBS, kept.main), STOPPED, note, action="Comparing"))
            log.info("trial given up", path=kept.path, pod=pod.metadata.name, why=why)
        elif outcome.verdict is not WriteVerdict.GONE:
            raise StateError(f"{pod.key} cannot be stopped: {outcome.message}")


def _goes(kept: ReconciledObject) -> bool:
    """Whether its trials are compared, or some of them spare, and it has not ended."""
    if kept.life.kind is not Kind.SWEEP or kept.collection != JOBS:
        return False
    ended = kept.main.is_so("Complete") or kept.main.is_so("Failed")
    terms = kept.life.trials
    return not ended and (terms.early_stop is not None or terms.width > 0)


def _fails_index(main: Main) -> bool:
    """Whether a trial that is stopped is not made anew, and its Job goes on."""
    rules = main.spec.pod_failure_policy.get("rules") or ()
    return main.spec.backoff_limit_per_index is not None and any(
        rule.get("action") == "FailIndex" and condition.get("type") == names.GIVEN_UP
        for rule in rules
        for condition in rule.get("onPodConditions") or ()
    )
