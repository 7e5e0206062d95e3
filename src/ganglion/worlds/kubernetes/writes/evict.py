"""Having pods leave: by the eviction API, so that disruption budgets are honoured."""

import asyncio
from collections.abc import Sequence
from typing import Any

from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import (
    Absent,
    ApiError,
    ApiUnavailable,
    ForbiddenRequest,
    InvalidRequest,
    ObjectConflict,
    TooMany,
)
from ganglion.worlds.kubernetes.types.disruption import PodDisruptionBudget
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.write_rules.budgets import (
    SpentDisruptions,
    counted,
    forbids,
    guarding,
)
from ganglion.worlds.kubernetes.writes.calls import PACE, RetryPace, each_of, reader
from ganglion.worlds.kubernetes.writes.conditions import mark_incomplete
from ganglion.worlds.kubernetes.writes.outcome import Identity, WriteOutcome, WriteVerdict, path_of

_BUDGET = "DisruptionBudget"
_AGAIN_S = 5
"""Pause before a blocked eviction is worth another try, in seconds, if the server names none."""


def grace_of(pod: Pod, checkpoint_grace_s: int = 0) -> int | None:
    """Return the grace of an eviction in seconds; None = what the pod itself says.

    A pod has the time its checkpoint needs where that is longer than its own grace period.
    """
    own = pod.spec.termination_grace_period_seconds
    return checkpoint_grace_s if checkpoint_grace_s > (30 if own is None else own) else None


class EvictionBatch:
    """One batch of evictions in one cluster.

    Args:
        api: the cluster's.
        pace: how hard to try, and how many at once.
    """

    def __init__(self, api: Api, pace: RetryPace = PACE) -> None:
        self._api, self._pace = api, pace
        self._spent = SpentDisruptions()
        self._one_by_one = asyncio.Lock()

    async def evict_all(
        self, victims: Sequence[tuple[Identity, int | None]]
    ) -> dict[str, WriteOutcome]:
        """Evict pods. Returns pod uid -> outcome, as `evict` says.

        Args:
            victims: pods, and how long each may take in seconds; None = as the pod says.
        """

        async def write(index: int) -> WriteOutcome:
            return await self.evict(*victims[index])

        return await each_of([who for who, _ in victims], write, self._pace.at_once)

    async def evict(self, who: Identity, grace_s: int | None = None) -> WriteOutcome:
        """Evict one pod.

        Returns:
            DONE when its eviction began, GONE when it is no more or leaving already, BLOCKED when
            it has to stay for now, with when to ask again: a budget forbids it, or we may not.
            UNKNOWN when there was no answer: ask again.
        """
        outcome = WriteOutcome(WriteVerdict.UNKNOWN)
        for pause in self._pace.pauses():
            if not self._pace.may():
                return WriteOutcome(WriteVerdict.WITHHELD)
            try:
                await self._api.create(path_of(who, "eviction"), _eviction(who, grace_s))
            except ApiError as error:
                outcome = await self._after(who, grace_s, error)
                if outcome.verdict is not WriteVerdict.UNKNOWN:
                    return outcome
                await self._pace.effects.clock.pause(max(pause, error.retry_after_s))
            except EnvironmentFault as fault:  # no credentials just now: nothing was sent
                outcome = WriteOutcome(WriteVerdict.UNKNOWN, fault.message)
                await self._pace.effects.clock.pause(pause)
            else:
                return WriteOutcome(WriteVerdict.DONE)
        return outcome

    async def _after(self, who: Identity, grace_s: int | None, error: ApiError) -> WriteOutcome:
        match error:
            case Absent():
                return WriteOutcome(WriteVerdict.GONE, error.message)
            case TooMany() if error.caused_by(_BUDGET):
                return _blocked(error, _why(error))
            case ForbiddenRequest() | InvalidRequest():
                return _blocked(error, error.message)
            case ObjectConflict():
                seen = await reader(self._api, who, _left)()
                return seen or WriteOutcome(WriteVerdict.UNKNOWN, error.message)
            case ApiUnavailable(status=500):
                return await self._by_hand(who, grace_s, error)
        return WriteOutcome(WriteVerdict.UNKNOWN, error.message)

    async def _by_hand(self, who: Identity, grace_s: int | None, error: ApiError) -> WriteOutcome:
        """Delete a pod that several budgets guard, if all of them allow it."""
        async with self._one_by_one:
            try:
                return await self._delete_guarded(who, grace_s, error)
            except Absent as absent:
                return WriteOutcome(WriteVerdict.GONE, absent.message)
            except ObjectConflict as other:
                return WriteOutcome(WriteVerdict.GONE, other.message)
            except EnvironmentFault as failed:
                return WriteOutcome(WriteVerdict.UNKNOWN, failed.message)

    async def _delete_guarded(
        self, who: Identity, grace_s: int | None, error: ApiError
    ) -> WriteOutcome:
        pod = await self._api.get(path_of(who), Pod)
        if pod.metadata.uid != who.uid or pod.is_leaving:
            return WriteOutcome(WriteVerdict.GONE, f"pod {pod.key} is gone or leaving")
        path = f"/apis/policy/v1/namespaces/{who.namespace}/poddisruptionbudgets"
        listed = await self._api.list(path, PodDisruptionBudget)
        budgets = guarding(pod, listed.items)
        if len(budgets) < 2:  # the server failed for another reason
            return WriteOutcome(WriteVerdict.UNKNOWN, error.message)
        if why := forbids(pod, budgets, self._spent):
            return WriteOutcome(WriteVerdict.BLOCKED, why, retry_after_s=_AGAIN_S)
        self._spent.take([each for each in budgets if counted(pod, each)])
        await self._api.delete(path_of(who), uid=who.uid, grace=grace_s)
        return WriteOutcome(WriteVerdict.DONE)


async def evict(
    api: Api, who: Identity, grace_s: int | None = None, pace: RetryPace = PACE
) -> WriteOutcome:
    """Evict one pod; as `EvictionBatch.evict`."""
    return await EvictionBatch(api, pace).evict(who, grace_s)


async def unbind(
    api: Api, whos: Sequence[Identity], message: str, pace: RetryPace = PACE
) -> dict[str, WriteOutcome]:
    """Take apart what was bound of a gang that cannot be completed.

    Each pod is marked first, so that its end is not counted as a failure, then evicted; its
    owner makes it anew, unbound. Returns pod uid -> outcome, as `EvictionBatch.evict` says.
    """
    evictions = EvictionBatch(api, pace)

    async def write(index: int) -> WriteOutcome:
        marked = await mark_incomplete(api, whos[index], message, pace)
        return await evictions.evict(whos[index]) if marked.holds else marked

    return await each_of(whos, write, pace.at_once)


def _eviction(who: Identity, grace_s: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {"preconditions": {"uid": who.uid}}
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": who.name, "namespace": who.namespace},
        "deleteOptions": options,
    }


def _left(pod: Pod) -> WriteOutcome | None:
    return WriteOutcome(WriteVerdict.GONE, f"pod {pod.key} is leaving") if pod.is_leaving else None


def _blocked(error: ApiError, message: str) -> WriteOutcome:
    return WriteOutcome(
        WriteVerdict.BLOCKED, message, retry_after_s=error.retry_after_s or _AGAIN_S
    )


def _why(error: ApiError) -> str:
    causes = [cause.message for cause in error.causes if cause.reason == _BUDGET]
    return "; ".join(filter(None, causes)) or error.message
