"""Queues of a cluster file into the queue tree, checked."""

from collections.abc import Callable, Collection

from ganglion.files.cluster_schema import QueueFile, Topped
from ganglion.files.wording import meant, show
from ganglion.files.yaml import Path
from ganglion.model.errors import FieldError
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount

Wrong = Callable[[str, Path, str], FieldError]


def queues_of(file: Topped, flavors: Collection[str], wrong: Wrong) -> tuple[Queue, ...]:
    """Build the queues.

    Args:
        file: the validated file.
        flavors: those of the file's nodes; empty = any flavor may be named.
        wrong: makes an error of problem, canonical path and hint.

    Raises:
        FieldError: a queue occurs twice, its parent is unknown, the tree has a cycle, or a
            flavor does not exist.
    """
    parents = _parents(file.queues, wrong)
    for at, queue in enumerate(file.queues):
        _rooted(queue.name, parents, ("queues", at, "parent"), wrong)
    names = {flavor.lower(): flavor for flavor in flavors}
    return tuple(
        _queue(queue, names, ("queues", at), wrong) for at, queue in enumerate(file.queues)
    )


def _parents(queues: tuple[QueueFile, ...], wrong: Wrong) -> dict[str, str]:
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


def _queue(queue: QueueFile, flavors: dict[str, str], path: Path, wrong: Wrong) -> Queue:
    def known(key: str) -> dict[str, Amount]:
        return _known(getattr(queue, key), flavors, (*path, key), wrong)

    return Queue(
        name=queue.name,
        parent=queue.parent,
        quota=known("quota"),
        limit=known("limit"),
        lend_limit=known("lend_limit"),
        over_quota_weight=queue.weight,
        priority=queue.priority,
        max_pending=queue.max_pending,
    )


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
