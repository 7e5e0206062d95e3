"""What is odd about a queue tree, in plain words; none of it stops anything."""

from collections.abc import Iterator, Mapping

from ganglion.engine.queue_tree import QueueTree
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount, decimal


def problems(tree: QueueTree, capacity: Mapping[str, int] | None = None) -> list[str]:
    """Oddities of GPU quotas, limits and weights, one sentence each, by age of the queue.

    Args:
        tree: the queues.
        capacity: thousandths of GPUs of each flavor and of `*`; None = do not compare.
    """
    found = [] if capacity is None else list(_beyond_fleet(tree, capacity))
    for name in sorted(tree.queues, key=tree.order.__getitem__):
        queue = tree.queues[name]
        found += _within_itself(queue)
        found += _against_children(tree, queue)
        if tree.accounts and not _may_have_any(queue):
            found.append(f"queue {name} has neither quota nor weight: all it uses may be reclaimed")
    return found


def _beyond_fleet(tree: QueueTree, capacity: Mapping[str, int]) -> Iterator[str]:
    for flavor in tree.accounts:
        roots = tree.children.get("", [])
        promised = sum(_gpus(tree.queues[root].quota, flavor) or 0 for root in roots)
        there = capacity.get(flavor, 0)
        if promised > there:
            yield (
                f"all queues together are guaranteed {_count(promised, flavor)},"
                f" but there are {decimal(there)}"
            )


def _within_itself(queue: Queue) -> Iterator[str]:
    for flavor in queue.quota:
        quota, limit = _gpus(queue.quota, flavor), _gpus(queue.limit, flavor)
        if quota is not None and limit is not None and limit < quota:
            yield (
                f"queue {queue.name} is guaranteed {_count(quota, flavor)}"
                f" but limited to {decimal(limit)}"
            )
    for flavor in queue.lend_limit:
        lend, quota = _gpus(queue.lend_limit, flavor), _gpus(queue.quota, flavor)
        if lend is not None and lend > (quota or 0):
            yield (
                f"queue {queue.name} lends up to {_count(lend, flavor)}"
                f" of a quota of {decimal(quota or 0)}"
            )


def _against_children(tree: QueueTree, queue: Queue) -> Iterator[str]:
    for flavor in queue.quota:
        own = _gpus(queue.quota, flavor)
        children = tree.children.get(queue.name, [])
        promised = sum(_gpus(tree.queues[child].quota, flavor) or 0 for child in children)
        if own is not None and promised > own:
            yield (
                f"queues under {queue.name} are guaranteed {_count(promised, flavor)} together,"
                f" but {queue.name} only {decimal(own)}"
            )


def _may_have_any(queue: Queue) -> bool:
    return queue.over_quota_weight > 0 or any(each.gpu_milli for each in queue.quota.values())


def _gpus(amounts: Mapping[str, Amount], flavor: str) -> int | None:
    amount = amounts.get(flavor)
    return amount.gpu_milli if amount else None


def _count(milli: int, flavor: str) -> str:
    return f"{decimal(milli)} GPUs" if flavor == ANY_FLAVOR else f"{decimal(milli)} {flavor} GPUs"
