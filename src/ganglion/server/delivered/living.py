"""A gang of a cluster that lives, as a workload: as its scheduler said last."""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from ganglion.api import reasons, workloads
from ganglion.lifecycle.cluster_gangs import DeliveredGang, asked_milli
from ganglion.lifecycle.clusters import ClusterBook, live_id, place_of
from ganglion.lifecycle.status import live_as
from ganglion.lifecycle.waiting.sums import UNKNOWN
from ganglion.model.events import OrderedReason
from ganglion.model.plan import Phase
from ganglion.model.reasons import Token
from ganglion.model.resources import WHOLE
from ganglion.server.delivered.filed import document_of, gang_view, waited_view

TOKENS = frozenset(map(str, Token))


class ClusterWord(Struct, frozen=True):
    """What the scheduler of a cluster said last, as one caller may read it.

    Attributes:
        said: time of its last record, in ms: what waits has waited until then.
        silent_since: since when nothing was heard of it, in ms; 0 = it is not silent.
        places: gang -> place among what waits, of the first.
        sentences: gang -> its reason as a sentence, of these.
    """

    said: int
    silent_since: int = 0
    places: Mapping[str, int] = {}
    sentences: Mapping[str, OrderedReason] = {}


def word_of(book: ClusterBook, silent_since: int, *, whole: bool) -> ClusterWord:
    """What the scheduler of a cluster said last.

    Args:
        book: of the cluster.
        silent_since: see `ClusterWord`.
        whole: whether the caller sees all of the cluster, whose work places and sentences count.
    """
    waits = book.waits
    if not whole:
        return ClusterWord(waits.said, silent_since)
    places = {gang: place for place, gang in enumerate(waits.order, 1)}
    return ClusterWord(waits.said, silent_since, places, waits.sentences)


def living_view(cluster: str, found: DeliveredGang, word: ClusterWord) -> workloads.WorkloadView:
    """One line about it."""
    return workloads.WorkloadView(**_base(cluster, found, word))


def waiting_rank(cluster: str, found: DeliveredGang, word: ClusterWord) -> tuple[int | str, ...]:
    """Where it stands among what waits: of those without a place, the oldest first."""
    place = word.places.get(found.gang.id, sys.maxsize)
    return cluster, place, found.gang.submitted, live_id(cluster, found)


def waiting_item(cluster: str, found: DeliveredGang, word: ClusterWord) -> workloads.OrderItem:
    """One line about it among what waits."""
    base, said = _base(cluster, found, word), _sentence(found, word)
    shared = ("queue", "user", "kind", "priority", "gpus", "reason", "message", "submitted")
    return workloads.OrderItem(
        position=base["position"] or 0,
        workload=base["id"],
        gang=base["id"],
        **{key: base[key] for key in shared},
        never=bool(said and said.never),
        cluster=cluster,
        silent_since=word.silent_since,
    )


def living_detail(
    cluster: str, found: DeliveredGang, word: ClusterWord
) -> workloads.WorkloadDetail:
    """All that is known of it."""
    base = _base(cluster, found, word)
    return workloads.WorkloadDetail(
        **base,
        gangs=(gang_view(base["id"], found, found.phase, found.wait.parts(word.said)),),
        document=document_of(cluster, found),
        image=found.image,
        time_limit_ms=found.gang.time_limit_ms,
    )


def living_why(cluster: str, found: DeliveredGang, word: ClusterWord, now: int) -> reasons.Why:
    """For which reasons it waits and has waited at a time in ms. Its scheduler says more."""
    key, phase, said = live_id(cluster, found), found.phase, _sentence(found, word)
    place = word.places.get(found.gang.id, 0)
    told = reasons.Explained(
        gang=key,
        phase=phase,
        text=_text(cluster, found, word),
        preemptions=found.preemptions,
        lost_gpu_ms=found.lost_gpu_ms,
        waited=waited_view(found.wait.parts(word.said)),
        reason=reasons.Reason(Token(said.token), said.message, said.never) if said else None,
        position=place,
        ahead_count=max(place - 1, 0),
        start=living_start(cluster, found, word, now).start,
    )
    return reasons.Why(workload=key, gangs=1, explanations=(told,))


def living_start(
    cluster: str, found: DeliveredGang, word: ClusterWord, now: int
) -> reasons.StartView:
    """When it is expected to start, as its scheduler said last and as far as that holds still."""
    band = found.band
    holds = band and now < band.p90 and not word.silent_since
    return reasons.StartView(live_id(cluster, found), word.said, band if holds else None)


def _text(cluster: str, found: DeliveredGang, word: ClusterWord) -> str:
    key, kind, said = live_id(cluster, found), waits_for(found), _sentence(found, word)
    if found.phase is not Phase.PENDING:
        text = f"{key} does not wait: it is {found.phase}"
    else:
        cause = f" ({kind})" if kind else ""
        ask = f"ganglion why {found.own_name} --context CONTEXT -N {found.namespace}"
        text = f"{key} waits{cause} in cluster {cluster}"
        text += (
            f": {said.message}; its scheduler says more: {ask}"
            if said
            else (f", whose scheduler says more: {ask}")
        )
    if word.silent_since:
        since = datetime.fromtimestamp(word.silent_since / 1000, UTC)
        text += f"; the scheduler has been silent since {since:%Y-%m-%d %H:%M} UTC"
    return text


def _sentence(found: DeliveredGang, word: ClusterWord) -> OrderedReason | None:
    """The reason with its numbers, where it is the one that its scheduler said last."""
    said = word.sentences.get(found.gang.id)
    return said if said and said.token in TOKENS and said.token == waits_for(found) else None


def waits_for(found: DeliveredGang) -> str:
    """Token of the reason that its scheduler said last; empty = unknown, or it does not wait."""
    clock = None if found.holds else found.wait.clock
    return clock.kind if clock and clock.kind != UNKNOWN else ""


def _base(cluster: str, found: DeliveredGang, word: ClusterWord) -> dict[str, Any]:
    gang, phase, said = found.gang, found.phase, _sentence(found, word)
    return {
        "id": live_id(cluster, found),
        "name": found.own_name,
        "kind": gang.kind,
        "queue": place_of(cluster, gang.queue),
        "user": gang.user,
        "priority": gang.priority,
        "state": live_as(found.phase),
        "reason": waits_for(found),
        "message": said.message if said else "",
        "position": word.places.get(gang.id),
        "silent_since": word.silent_since,
        "gpus": asked_milli(gang) / WHOLE,
        "gpus_held": found.placement.gpu_milli / WHOLE if found.holds and found.placement else 0,
        "pods": sum(each.count for each in gang.pod_sets),
        "running": int(phase is Phase.RUNNING),
        "waiting": int(phase is Phase.PENDING),
        "submitted": gang.submitted,
        "started": found.began or None,
        "preemptions": found.preemptions,
        "lost_gpu_ms": found.lost_gpu_ms,
    }
