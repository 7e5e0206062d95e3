"""Cohorts and ClusterQueues as one queue tree.

A cohort is a queue above others. In Kueue capacity is quota: what a tree owns in all is the
most it may use, so that is the limit of its root.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from conformance.kueue import schema as said
from ganglion.model.queue import Flavors, Preemption, Queue, Victims
from ganglion.model.resources import WHOLE, Amount

KINDS = {"gpu": "gpu_milli", "cpu": "cpu_milli"}
"""Resource of a scenario -> field of an amount."""

DEFAULT_QUEUE = said.Queue(
    "q", quota=(said.Quota("gpu-nodes", gpu=said.Bound(1000), cpu=said.Bound(100_000)),)
)
"""The queue of a scenario that names none."""

_VICTIMS = {
    "Never": Victims.NEVER,
    "LowerPriority": Victims.LOWER,
    "LowerOrNewerEqualPriority": Victims.LOWER_OR_NEWER,
    "Any": Victims.ANY,
}

Numbers = dict[tuple[str, str], int]
"""(flavor, resource) -> thousandths."""

Rank = Callable[[int], int]
"""A priority of the file -> ours."""


def milli(number: float) -> int:
    """Thousandths of a quantity."""
    return round(number * WHOLE)


def cohort_name(cohort: str) -> str:
    """The queue of a cohort; apart from ClusterQueues of the same name."""
    return f"cohort:{cohort}" if cohort else ""


def queues_of(case: said.Case, rank: Rank) -> Iterator[Queue]:
    """The queue tree, parents first."""
    queues = case.queues or (DEFAULT_QUEUE,)
    cohorts = {each.name: each for each in case.cohorts}
    for above in (*(each.parent for each in case.cohorts), *(each.cohort for each in queues)):
        cohorts.setdefault(above, said.Cohort(above))
    cohorts.pop("", None)
    queues = tuple(
        _shut(each) if _runs_in_a_circle(each.cohort, cohorts) else each for each in queues
    )
    cohorts = {name: each for name, each in cohorts.items() if not _runs_in_a_circle(name, cohorts)}
    owned = _owned(queues, cohorts)
    for cohort in _parents_first(cohorts):
        yield _cohort(cohort, owned[cohort.name])
    for queue in queues:
        yield _queue(queue, rank)


def _cohort(cohort: said.Cohort, owned: Numbers) -> Queue:
    borrows = _bounds(cohort.quota, "borrow")
    limit = {cell: owned[cell] + more for cell, more in borrows.items()} if cohort.parent else owned
    return Queue(
        cohort_name(cohort.name),
        cohort_name(cohort.parent),
        quota=_amounts(owned),
        limit=_amounts(limit),
        lend_limit=_amounts(_bounds(cohort.quota, "lend")),
        over_quota_weight=milli(cohort.weight),
    )


def _queue(queue: said.Queue, rank: Rank) -> Queue:
    nominal = _bounds(queue.quota, "nominal")
    borrows = _bounds(queue.quota, "borrow")
    limit = {cell: nominal[cell] + more for cell, more in borrows.items()}
    return Queue(
        queue.name,
        cohort_name(queue.cohort),
        quota=_amounts(nominal),
        limit=_amounts(limit if queue.cohort else nominal),
        lend_limit=_amounts(_bounds(queue.quota, "lend")) if queue.cohort else {},
        over_quota_weight=milli(queue.weight),
        strict=queue.strategy == "StrictFIFO",
        preemption=_preemption(queue.preemption, rank),
        flavors=_flavors(queue),
    )


def _preemption(rules: said.Preemption, rank: Rank) -> Preemption:
    threshold = rules.borrow_within_cohort.max_priority
    return Preemption(
        preempt=_VICTIMS[rules.within_queue],
        reclaim=_VICTIMS[rules.reclaim_within_cohort],
        borrowing=_VICTIMS[rules.borrow_within_cohort.policy],
        threshold=None if threshold is None else rank(threshold),
    )


def _flavors(queue: said.Queue) -> Flavors:
    rules = queue.flavor_fungibility
    return Flavors(
        order=tuple(dict.fromkeys(each.flavor for each in queue.quota)),
        borrow_first=rules.when_can_borrow == "MayStopSearch",
        preempt_first=rules.when_can_preempt == "MayStopSearch",
        prefer_preempting=rules.preference == "PreemptionOverBorrowing",
    )


def _owned(queues: tuple[said.Queue, ...], cohorts: dict[str, said.Cohort]) -> dict[str, Numbers]:
    """What each cohort owns, everything below it included."""
    owned: dict[str, Numbers] = {name: {} for name in cohorts}
    parents = [(_bounds(each.quota, "nominal"), each.cohort) for each in queues]
    parents += [(_bounds(each.quota, "nominal"), each.name) for each in cohorts.values()]
    for numbers, cohort in parents:
        for name in _path(cohort, cohorts):
            for cell, number in numbers.items():
                owned[name][cell] = owned[name].get(cell, 0) + number
    return owned


def _runs_in_a_circle(cohort: str, cohorts: dict[str, said.Cohort]) -> bool:
    """Whether the way up from a cohort never ends: as in Kueue, nothing below it is admitted."""
    path = list(_path(cohort, cohorts))
    return bool(path) and bool(cohorts[path[-1]].parent)


def _shut(queue: said.Queue) -> said.Queue:
    """The queue by itself, with quota of nothing."""
    none = said.Bound(0)
    quota = tuple(
        replace(each, gpu=each.gpu and none, cpu=each.cpu and none) for each in queue.quota
    )
    return replace(queue, cohort="", quota=quota)


def _path(cohort: str, cohorts: dict[str, said.Cohort]) -> Iterator[str]:
    seen: set[str] = set()
    while cohort and cohort not in seen:
        seen.add(cohort)
        yield cohort
        cohort = cohorts[cohort].parent


def _parents_first(cohorts: dict[str, said.Cohort]) -> list[said.Cohort]:
    return sorted(cohorts.values(), key=lambda each: len(list(_path(each.name, cohorts))))


def _bounds(quotas: tuple[said.Quota, ...], word: str) -> Numbers:
    return {
        (quota.flavor, kind): milli(value)
        for quota in quotas
        for kind in KINDS
        if (bound := getattr(quota, kind)) and (value := getattr(bound, word)) is not None
    }


def _amounts(numbers: Numbers) -> dict[str, Amount]:
    fields: dict[str, dict[str, int]] = {}
    for (flavor, kind), number in numbers.items():
        fields.setdefault(flavor, {})[KINDS[kind]] = number
    return {flavor: Amount(**amounts) for flavor, amounts in fields.items()}
