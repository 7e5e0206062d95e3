"""What a dry run answers, as far as its caller may see it."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ganglion.api.reasons import DisplacedView, Displacement, Suggestion, Verdict
from ganglion.engine.explain.foretell import Prospect
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.failures.retries import decide
from ganglion.metering.rating import rounded
from ganglion.model.events import GangEnded, Outcome
from ganglion.model.reasons import Displaced, Yielding
from ganglion.server.state.transaction import Mind
from ganglion.server.views.cluster import suggestions
from ganglion.server.views.workloads import placement_view, reason_view

Sees = Callable[[str], bool]
"""Whether the caller may see a queue."""


def verdict_view(state: ClusterState, found: Prospect, sees: Sees) -> Verdict:
    """A verdict in which work that the caller may not see is counted, and not named.

    Args:
        state: by which it was found.
        found: what would happen.
        sees: whether the caller may see a queue.
    """

    def shown(gangs: Sequence[str]) -> tuple[str, ...]:
        return tuple(each for each in gangs if sees(state.gangs.record(each).gang.queue))

    told = found.verdict
    return Verdict(
        placement=placement_view(told.placement),
        stops=shown(told.stops),
        reason=reason_view(told.reason),
        suggestions=tuple(_narrowed(suggestions(told.suggestions), shown)),
        displaced=displacement(state, found.displaced, sees),
        takeover_ms=found.takeover_ms,
        start=found.start,
        start_unknown=found.unknown,
        guesses=shown(found.guesses),
    )


def displacement(
    state: ClusterState, displaced: Sequence[Displaced], sees: Sees
) -> Displacement | None:
    """Whom a gang displaces, with sums; None = no other gang."""
    if not displaced:
        return None
    micro = rounded(each.cost or 0 for each in displaced)
    priced = all(each.cost is not None for each in displaced)
    views = tuple(
        DisplacedView(
            *(each.gang, each.workload, each.name, each.queue, each.user, each.fate),
            *(each.gpu_milli, each.lost_gpu_ms, each.most_gpu_ms),
            None if each.cost is None else charged,
        )
        for each, charged in zip(displaced, micro, strict=True)
    )
    items = tuple(each for each in views if sees(each.queue))
    return Displacement(
        items,
        others=len(views) - len(items),
        gpu_milli=sum(each.gpu_milli for each in views),
        lost_gpu_ms=sum(each.lost_gpu_ms or 0 for each in views),
        unknown=sum(each.lost_gpu_ms is None for each in views),
        most_gpu_ms=sum(each.most_gpu_ms for each in views),
        most_micro=sum(micro) if priced else None,
        currency=state.queues.budgets.prices.currency,
    )


def with_retries(mind: Mind, found: Prospect, now: int) -> Prospect:
    """The same, where gangs that their retries do not start again are said to end."""
    return replace(found, displaced=tuple(_as_retried(mind, each, now) for each in found.displaced))


def _as_retried(mind: Mind, each: Displaced, now: int) -> Displaced:
    record, entry = mind.state.gangs.record(each.gang), mind.book.entries.get(each.workload)
    if entry is None or each.fate not in (Yielding.REQUEUED, Yielding.MOVED):
        return each
    event = GangEnded(now, each.gang, record.attempt, Outcome.PREEMPTED)
    ends = not decide(event, record, entry.workload, mind.book.trails[each.gang].history).requeue
    return replace(each, fate=Yielding.ENDED) if ends else each


def _narrowed(
    found: Sequence[Suggestion], shown: Callable[[Sequence[str]], tuple[str, ...]]
) -> list[Suggestion]:
    """Suggestions that name no work which the caller may not see."""
    return [
        replace(each, stops=shown(each.stops))
        for each in found
        if len(shown(each.awaits)) == len(each.awaits)
    ]
