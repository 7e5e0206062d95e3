"""Queues of a cluster or policy file into the queue tree, checked."""

from collections.abc import Callable, Collection, Sequence

from ganglion.files.overlay import overlay
from ganglion.files.queue_schema import QueueFile
from ganglion.files.queue_tree import above_parent, parents_first
from ganglion.files.wording import meant, show
from ganglion.files.yaml import Path
from ganglion.model.errors import FieldError
from ganglion.model.queue import ANY_FLAVOR, Flavors, Preemption, Queue
from ganglion.model.resources import Amount

Wrong = Callable[[str, Path, str], FieldError]


def queues_of(
    files: Sequence[QueueFile],
    flavors: Collection[str],
    preemption: Preemption,
    wrong: Wrong,
) -> tuple[Queue, ...]:
    """Build the queues, parents before their children.

    Args:
        files: the validated queues.
        flavors: those of the file's nodes; empty = any flavor may be named.
        preemption: what rules that a queue leaves out are.
        wrong: makes an error of problem, canonical path and hint.

    Raises:
        FieldError: a queue occurs twice, its parent is unknown, the tree has a cycle, a
            flavor does not exist, or a quota is above the parent's.
    """
    parents = _parents(files, wrong)
    for at, queue in enumerate(files):
        _rooted(queue.name, parents, ("queues", at, "parent"), wrong)
    names = {flavor.lower(): flavor for flavor in flavors}
    found = [
        _queue(queue, names, preemption, ("queues", at), wrong) for at, queue in enumerate(files)
    ]
    for each in above_parent(found):
        at = next(at for at, queue in enumerate(found) if queue.name == each.queue)
        raise wrong(each.problem, ("queues", at, each.key, each.flavor), each.hint)
    return parents_first(found)


def _parents(queues: Sequence[QueueFile], wrong: Wrong) -> dict[str, str]:
    parents: dict[str, str] = {}
    for at, queue in enumerate(queues):
        if queue.name in parents:
            raise wrong(f"the queue `{queue.name}` exists already", ("queues", at, "name"), "")
        parents[queue.name] = queue.parent
    for at, queue in enumerate(queues):
        if queue.parent and queue.parent not in parents:
            hint = meant(queue.parent, [*parents]) or "list the parent as a queue too"
            path = ("queues", at, "parent")
            raise wrong(f"there is no queue {show(queue.parent)}", path, hint)
    return parents


def _rooted(name: str, parents: dict[str, str], path: Path, wrong: Wrong) -> None:
    seen = [name]
    while parents[seen[-1]]:
        seen.append(parents[seen[-1]])
        if seen[-1] in seen[:-1]:
            circle = " > ".join(reversed(seen[seen.index(seen[-1]) :]))
            raise wrong(f"the queue tree runs in a circle: {circle}", path, "make one a root")


def _queue(
    queue: QueueFile, flavors: dict[str, str], preemption: Preemption, path: Path, wrong: Wrong
) -> Queue:
    def known(key: str) -> dict[str, Amount]:
        return _known(getattr(queue, key), flavors, (*path, key), wrong)

    quota = known("quota")
    beyond = _beyond(quota, known("borrowing_limit"))
    limit = known("limit")
    for flavor in beyond.keys() & limit.keys():
        problem = f"says the same as `limit` for {show(flavor)}, which is given too"
        raise wrong(problem, (*path, "borrowing_limit", flavor), "keep one of them")
    rules, order = queue.preemption, queue.flavors
    return Queue(
        name=queue.name,
        parent=queue.parent,
        quota=quota,
        limit=limit | beyond,
        lend_limit=known("lend_limit"),
        user_limit=known("user_limit"),
        over_quota_weight=queue.weight,
        priority=queue.priority,
        max_pending=queue.max_pending,
        strict=queue.strict,
        preemption=None if rules is None else overlay(preemption, rules),
        flavors=None if order is None else overlay(Flavors(), order),
        timeshare_ms=queue.timeshare,
    )


def _beyond(quota: dict[str, Amount], more: dict[str, Amount]) -> dict[str, Amount]:
    """Limits from what may be borrowed on top of the quota."""
    return {
        flavor: Amount(
            gpu_milli=_sum(quota.get(flavor, Amount()).gpu_milli, each.gpu_milli),
            cpu_milli=_sum(quota.get(flavor, Amount()).cpu_milli, each.cpu_milli),
            memory_mib=_sum(quota.get(flavor, Amount()).memory_mib, each.memory_mib),
        )
        for flavor, each in more.items()
    }


def _sum(quota: int | None, more: int | None) -> int | None:
    return None if more is None else (quota or 0) + more


def _known(
    amounts: dict[str, Amount], flavors: dict[str, str], path: Path, wrong: Wrong
) -> dict[str, Amount]:
    found: dict[str, Amount] = {}
    for flavor, amount in amounts.items():
        name = flavors.get(flavor.lower(), "" if flavors else flavor)
        if not name and flavor != ANY_FLAVOR:
            hint = meant(flavor, flavors) or f"flavors are {', '.join(flavors.values())} and `*`"
            raise wrong(f"no node has the flavor {show(flavor)}", (*path, flavor), hint)
        if (name or flavor) in found:
            raise wrong(f"the flavor {show(flavor)} is given twice", (*path, flavor), "")
        found[name or flavor] = amount
    return found
