"""The queue tree itself: which queue lies under which, and in which order queues were made."""

from collections.abc import Iterator, Mapping

from ganglion.model.errors import Conflict, FieldError, NotFound
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount

_AMOUNTS = ("quota", "limit", "lend_limit", "user_limit")


class QueueTree:
    """Queues by name, with what follows from their parents.

    Attributes:
        queues: by name.
        order: queue -> its number by age; the oldest queue has the smallest.
        children: queue (or empty = above the roots) -> queues directly under it, by age.
        depth: queues on the longest path.
        lends: whether any queue keeps part of its quota to itself.
        accounts: flavors (and `*`) in which some queue has a quota of GPUs, sorted.
    """

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self.order: dict[str, int] = {}
        self.children: dict[str, list[str]] = {}
        self.depth = 0
        self.lends = False
        self.accounts: tuple[str, ...] = ()
        self._paths: dict[str, tuple[str, ...]] = {}
        self._leaves: dict[str, tuple[str, ...]] = {}
        self._binding: dict[tuple[str, bool], tuple[Queue, ...]] = {}
        self._made = 0

    def put(self, queue: Queue) -> None:
        """Make or change a queue; a changed one keeps its age.

        Raises:
            FieldError: a negative amount or weight.
            NotFound: there is no such parent.
            Conflict: it would lie under itself.
        """
        _check(queue)
        if queue.parent and queue.parent not in self.queues:
            raise NotFound(f"queue {queue.name}: there is no queue {queue.parent} to be its parent")
        if queue.parent and queue.name in self.path(queue.parent):
            raise Conflict(f"queue {queue.name} cannot lie under itself")
        before = self.queues.get(queue.name)
        self.queues[queue.name] = queue
        if before is None:
            self.order[queue.name] = self._made
            self._made += 1
            self._append(queue)
        elif before.parent != queue.parent:
            self._index()
        else:
            self._follow_rules()

    def remove(self, name: str) -> None:
        """Remove a queue without children. Raises NotFound, Conflict."""
        if name not in self.queues:
            raise NotFound(f"there is no queue {name}")
        if self.children.get(name):
            raise Conflict(f"queue {name} still has queues under it", "remove those first")
        del self.queues[name], self.order[name]
        self._index()

    def list_only(self, queues: Mapping[str, Queue], order: Mapping[str, int]) -> None:
        """List exactly these, of this age; what follows from them is made anew then."""
        self.queues.clear()
        self.queues.update(queues)
        self.order = dict(order)

    def path(self, name: str) -> tuple[str, ...]:
        """The queue and all above it, the root last. Raises NotFound."""
        found = self._paths.get(name)
        if found is None:
            raise NotFound(f"there is no queue {name}")
        return found

    def is_leaf(self, name: str) -> bool:
        """Whether gangs may be charged to the queue."""
        return not self.children.get(name)

    def leaves(self, name: str) -> tuple[str, ...]:
        """The leaves at or under a queue, by age."""
        known = self._leaves.get(name)
        if known is None:
            below = self.children.get(name, ())
            known = tuple(leaf for child in below for leaf in self.leaves(child)) or (name,)
            self._leaves[name] = known
        return known

    def binding(self, leaf: str, preemptible: bool) -> tuple[Queue, ...]:
        """Queues on the path whose limits (or, for work that may not be preempted, quotas) bind."""
        known = self._binding.get((leaf, preemptible))
        if known is None:
            above = (self.queues[name] for name in self._paths[leaf])
            known = tuple(
                each
                for each in above
                if each.limit or each.user_limit or (each.quota and not preemptible)
            )
            self._binding[leaf, preemptible] = known
        return known

    def _append(self, queue: Queue) -> None:
        """Index a new queue that changes nothing about the others."""
        self.children.setdefault(queue.parent, []).append(queue.name)
        self._paths[queue.name] = (queue.name, *self._paths.get(queue.parent, ()))
        self.depth = max(self.depth, len(self._paths[queue.name]))
        self.lends = self.lends or bool(queue.lend_limit)
        for name in self._paths[queue.name]:
            self._leaves.pop(name, None)
        self.accounts = tuple(sorted({*self.accounts, *_gpu_quota(queue)}))

    def _index(self) -> None:
        self.children, self._paths, self._leaves = {}, {}, {}
        by_age = self.order.__getitem__
        for name in sorted(self.queues, key=by_age):
            self.children.setdefault(self.queues[name].parent, []).append(name)
            self._paths[name] = tuple(self._up(name))
        self.depth = max(map(len, self._paths.values()), default=0)
        self._follow_rules()

    def _follow_rules(self) -> None:
        """Work out what follows from the rules of the queues, wherever these lie."""
        self._binding, queues = {}, self.queues.values()
        self.lends = any(each.lend_limit for each in queues)
        self.accounts = tuple(sorted({f for each in queues for f in _gpu_quota(each)}))

    def _up(self, name: str) -> Iterator[str]:
        while name:
            yield name
            name = self.queues[name].parent


def _gpu_quota(queue: Queue) -> list[str]:
    return [flavor for flavor, each in queue.quota.items() if each.gpu_milli is not None]


def _check(queue: Queue) -> None:
    if queue.over_quota_weight < 0:
        raise FieldError(
            f"queue {queue.name} cannot weigh less than nothing",
            key="over_quota_weight",
            hint="0 keeps it to its quota",
        )
    for field in _AMOUNTS:
        _check_amounts(queue.name, field, getattr(queue, field))


def _check_amounts(queue: str, field: str, amounts: Mapping[str, Amount]) -> None:
    for flavor, amount in amounts.items():
        for kind in amount.__struct_fields__:
            if (getattr(amount, kind) or 0) < 0:
                raise FieldError(
                    f"queue {queue} cannot have an amount below zero",
                    key=f"{field}.{flavor}.{kind}",
                    hint="leave it out for no bound" if field != "quota" else "",
                )
