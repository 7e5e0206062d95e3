"""Why a gang cannot be considered yet, and why it never will be."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.draft import Draft
from ganglion.worlds.kubernetes.workload_discovery.found import Member
from ganglion.worlds.kubernetes.workload_kinds.shape import SetShape

_NAMED = 3
"""Missing pods that are named; the rest is counted."""


def lacking(draft: Draft, members: Sequence[Member], gate: str) -> str:
    """What has to happen before the gang can start; empty = nothing."""
    return draft.missing or _absent(draft, members) or _gated([each.pod for each in members], gate)


def is_coming(draft: Draft, members: Sequence[Member], gate: str) -> bool:
    """Whether all that a gang lacks are further pods like those that its owner has made."""
    is_known = not (draft.missing or draft.least or draft.total)
    made = {each.pod_set for each in members}
    return (
        is_known
        and made.issuperset(each.name for each in draft.shapes if _need(each))
        and not _gated([each.pod for each in members], gate)
    )


def _absent(draft: Draft, members: Sequence[Member]) -> str:
    """Pods that do not exist yet."""
    needed = draft.least or draft.total
    if needed:
        return _few(len(members), needed, draft.least not in (0, draft.total))
    taken: dict[str, set[int]] = {each.name: set() for each in draft.shapes}
    for member in members:
        taken[member.pod_set].add(member.index)
    short = {each.name: _need(each) - len(taken[each.name]) for each in draft.shapes}
    missing = sum(each for each in short.values() if each > 0)
    if not missing:
        return ""
    wanted = sum(each.upfront for each in draft.shapes)
    names = chain.from_iterable(
        islice(_free(each, taken[each.name]), max(short[each.name], 0)) for each in draft.shapes
    )
    first = list(islice(names, _NAMED))
    more = f" and {missing - len(first)} more" if missing > len(first) else ""
    return f"{len(members)} of {wanted} pods exist; missing: {', '.join(first)}{more}"


def _few(have: int, needed: int, open_ended: bool) -> str:
    if have >= needed:
        return ""
    return f"{have} of {'at least ' if open_ended else ''}{needed} pods exist"


def _need(shape: SetShape) -> int:
    return min(shape.upfront, shape.least)


def _free(shape: SetShape, taken: set[int]) -> Iterator[str]:
    """Names of seats without a pod; where some have succeeded it is not known which."""
    if shape.seats != shape.count:
        return (f"a pod of {shape.name}" for _ in range(shape.count))
    return (f"{shape.name}-{i + shape.first}" for i in range(shape.seats) if i not in taken)


def _gated(pods: Sequence[Pod], ours: str) -> str:
    """Pods that another controller's gate holds back."""
    held = {
        pod.key: gate.name
        for pod in pods
        for gate in pod.spec.scheduling_gates
        if gate.name != ours
    }
    if not held:
        return ""
    gates = ", ".join(sorted(set(held.values())))
    return f"{len(held)} of {len(pods)} pods are held back by the scheduling gate {gates}"


def at_odds(members: Sequence[Member], queue_of: Callable[[Pod], str]) -> str:
    """How the pods contradict each other; empty = they do not.

    Args:
        members: pods of the gang.
        queue_of: the queue that is named for a pod.
    """
    if len(members) < 2:
        return ""
    first = members[0].pod
    queue = queue_of(first)
    for each in members[1:]:
        pod = each.pod
        one, other = queue, queue_of(pod)
        if one != other:
            return f"its pods name different queues: {_says(first, one)}, {_says(pod, other)}"
        if (pod.spec.priority or 0) != (first.spec.priority or 0):
            one, other = str(first.spec.priority or 0), str(pod.spec.priority or 0)
            return f"its pods have different priorities: {_says(first, one)}, {_says(pod, other)}"
    return ""


def _says(pod: Pod, text: str) -> str:
    return f"{pod.metadata.name} {text or '(none)'}"
