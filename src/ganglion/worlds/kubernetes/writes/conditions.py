"""Conditions written on pods: that they are victims, and why they wait.

A victim is marked before it is evicted, in one write with two parts:

- condition `DisruptionTarget`, reason `PreemptionByScheduler`, whose message ends in
  `for "BENEFICIARY"`. Jobs whose failure policy ignores the condition do not count the end of
  such a pod against their back-off limit;
- annotation `ganglion.dev/victim-of` with the beneficiary, because the eviction API replaces
  reason and message of the condition by its own.
"""

from collections.abc import Sequence
from typing import Any

from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.names import BY_SCHEDULER, DISRUPTION_TARGET, GATE, VICTIM_OF
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.times import seconds
from ganglion.worlds.kubernetes.types.victims import INCOMPLETE, message_for, victim_of
from ganglion.worlds.kubernetes.writes.calls import PACE, Judge, RetryPace, each_of, reader, settle
from ganglion.worlds.kubernetes.writes.outcome import Identity, WriteOutcome, WriteVerdict, path_of
from ganglion.worlds.kubernetes.writes.patch import patch_pod

SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
GATED = "SchedulingGated"
"""Reasons of the condition: of pods that nothing fits, and of those that a gate holds back."""

_BY_SERVER = "Scheduling is blocked due to non-empty scheduling gates"
"""What the API server says of a gated pod when it is made."""
_LONGEST = 4096
"""Characters of a message; longer ones are cut."""


async def mark_victim(
    api: Api, who: Identity, beneficiary: str, pace: RetryPace = PACE
) -> WriteOutcome:
    """Mark a pod as a victim. Other conditions are kept.

    Args:
        api: the cluster's.
        who: the pod.
        beneficiary: key of the gang it goes for; without `"`.
        pace: how hard to try; with the clock for the time of the condition.
    """
    condition = _target(BY_SCHEDULER, message_for(beneficiary), pace)
    body = {
        "metadata": {"annotations": {VICTIM_OF: beneficiary}},
        "status": {"conditions": [condition]},
    }
    return await patch_pod(api, who, body, Patch.STRATEGIC, "status", pace)


async def mark_incomplete(
    api: Api, who: Identity, message: str, pace: RetryPace = PACE
) -> WriteOutcome:
    """Mark a pod that goes because its gang cannot be completed."""
    body = {"status": {"conditions": [_target(INCOMPLETE, message, pace)]}}
    return await patch_pod(api, who, body, Patch.STRATEGIC, "status", pace)


async def clear_victim(api: Api, who: Identity, pace: RetryPace = PACE) -> WriteOutcome:
    """Take the mark of a victim back, unless the pod is already on its way.

    The pod is read first and must not have changed when the mark goes: a mark that belongs to
    an eviction under way has to stay, or the pod's owner would count a failure.
    """

    async def write() -> None:
        pod = await api.get(path_of(who), Pod)
        if spared(pod, who) is None:
            await api.patch(path_of(who, "status"), _unmarked(pod), Patch.STRATEGIC)

    return await settle(write, reader(api, who, lambda pod: spared(pod, who)), pace)


def spared(pod: Pod, who: Identity) -> WriteOutcome | None:
    """Say why there is no mark to take from a pod; None = there is one."""
    if pod.metadata.uid != who.uid or pod.is_leaving or pod.is_over:
        return WriteOutcome(WriteVerdict.GONE, f"pod {pod.key} is gone or leaving")
    return WriteOutcome(WriteVerdict.UNCHANGED) if victim_of(pod) is None else None


def _unmarked(pod: Pod) -> dict[str, Any]:
    about = {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
    return {
        "metadata": {**about, "annotations": {VICTIM_OF: None}},
        "status": {"conditions": [{"$patch": "delete", "type": DISRUPTION_TARGET}]},
    }


def _target(reason: str, message: str, pace: RetryPace) -> dict[str, str]:
    return {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": reason,
        "message": message[:_LONGEST],
        "lastTransitionTime": seconds(pace.effects.clock.now_ms()),
    }


def unschedulable(pod: Pod, message: str, now_ms: int) -> dict[str, Any] | None:
    """Return what to change so that a pod says why it waits; None = nothing.

    No condition is written on pods that are bound, leaving or over, or that gates of others hold
    back, and none twice. A pod that only our gate holds back keeps the reason that the API server
    gave it. The time of the transition is left as it is while the status stays False.
    """
    wait = pod.condition(SCHEDULED)
    said = (wait.status, wait.reason, wait.message) if wait else ()
    reason = GATED if pod.spec.scheduling_gates else UNSCHEDULABLE
    wanted = ("False", reason, message[:_LONGEST])
    if said == wanted or not _waits(pod):
        return None
    condition = dict(zip(("status", "reason", "message"), wanted, strict=True))
    if wait is None or wait.status != "False":
        condition["lastTransitionTime"] = seconds(now_ms)
    return {"status": {"conditions": [{"type": SCHEDULED, **condition}]}}


def is_told(pod: Pod) -> bool:
    """Whether a scheduler has said on a pod why it waits."""
    wait = pod.condition(SCHEDULED)
    return wait is not None and wait.status == "False" and wait.message != _BY_SERVER


async def say_why(api: Api, pod: Pod, message: str, pace: RetryPace = PACE) -> WriteOutcome:
    """Say on a pod why it waits, if it does and does not say so yet.

    Args:
        api: the cluster's.
        pod: as it was last seen.
        message: for people; scale-up of the cluster keys on the condition around it.
        pace: how hard to try; with the clock for the time of the condition.
    """
    body = unschedulable(pod, message, pace.effects.clock.now_ms())
    if body is None:
        return WriteOutcome(WriteVerdict.UNCHANGED)
    # A binding sets the condition to True: with the version that was seen, it is never undone.
    body["metadata"] = {"resourceVersion": pod.metadata.resource_version}
    return await patch_pod(api, pod.metadata, body, Patch.STRATEGIC, "status", pace, _changed(pod))


async def say_all(
    api: Api, said: Sequence[tuple[Pod, str]], pace: RetryPace = PACE
) -> dict[str, WriteOutcome]:
    """Say on pods why they wait, as `say_why`. Returns pod uid -> outcome."""

    async def write(index: int) -> WriteOutcome:
        return await say_why(api, *said[index], pace)

    return await each_of([pod.metadata for pod, _ in said], write, pace.at_once)


def _changed(seen: Pod) -> Judge:
    def judge(pod: Pod) -> WriteOutcome | None:
        if pod.metadata.resource_version == seen.metadata.resource_version:
            return None
        return WriteOutcome(WriteVerdict.UNCHANGED, f"pod {pod.key} has changed since it was seen")

    return judge


def _waits(pod: Pod) -> bool:
    is_held = any(not each.name.startswith(GATE) for each in pod.spec.scheduling_gates)
    return not (pod.spec.node_name or is_held or pod.is_leaving or pod.is_over)
