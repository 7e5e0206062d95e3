"""What can be wrong between the queues of a tree."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount, decimal

KINDS = {"gpu_milli": "GPUs", "cpu_milli": "CPUs", "memory_mib": "MiB of memory"}


class QueueFinding(Struct, frozen=True):
    """Something about one queue.

    Attributes:
        queue: its name.
        key: key of the file.
        flavor: key below that.
        problem: what is wrong, in words.
        hint: what to do.
    """

    queue: str
    key: str
    flavor: str
    problem: str
    hint: str = ""


def parents_first(queues: Iterable[Queue]) -> tuple[Queue, ...]:
    """Order queues so that each follows its parent; otherwise as given.

    Queues whose parent is not among them count as roots. The tree must have no cycle.
    """
    by_name = {each.name: each for each in queues}
    done: dict[str, Queue] = {}

    def add(queue: Queue) -> None:
        if queue.name not in done:
            if queue.parent in by_name:
                add(by_name[queue.parent])
            done[queue.name] = queue

    for each in by_name.values():
        add(each)
    return tuple(done.values())


def above_parent(queues: Sequence[Queue]) -> Iterator[QueueFinding]:
    """Guarantees that no queue above can keep: a quota larger than the parent's.

    A parent that names no quota for a flavor bounds nothing.
    """
    by_name = {each.name: each for each in queues}
    for queue in queues:
        parent = by_name.get(queue.parent)
        for flavor, kind, most in _bounds(parent) if parent else ():
            asked = _guaranteed(queue, flavor, kind)
            if parent and asked > most:
                yield QueueFinding(
                    queue.name,
                    "quota",
                    flavor,
                    f"the quota of `{queue.name}` is above that of its parent `{parent.name}`:"
                    f" {_shown(asked, kind)} {KINDS[kind]} of {_shown(most, kind)}",
                    f"raise the quota of `{parent.name}`, or lower this one",
                )


def overcommitted(queues: Sequence[Queue]) -> Iterator[QueueFinding]:
    """Parents whose children are together guaranteed more than they are."""
    for parent in queues:
        under = [each for each in queues if each.parent == parent.name]
        for flavor, kind, most in _bounds(parent) if under else ():
            asked = sum(_guaranteed(each, flavor, kind) for each in under)
            if asked > most:
                yield QueueFinding(
                    parent.name,
                    "quota",
                    flavor,
                    f"the queues under `{parent.name}` are guaranteed {_shown(asked, kind)}"
                    f" {KINDS[kind]} together, `{parent.name}` only {_shown(most, kind)}",
                    "not all of them can have their quota at once",
                )


def below_quota(queues: Sequence[Queue]) -> Iterator[QueueFinding]:
    """Queues whose limit is below what they are guaranteed."""
    for queue in queues:
        for flavor, limit in queue.limit.items():
            for kind, unit in KINDS.items():
                most = getattr(limit, kind)
                asked = getattr(queue.quota.get(flavor, Amount()), kind) or 0
                if most is not None and asked > most:
                    yield QueueFinding(
                        queue.name,
                        "limit",
                        flavor,
                        f"`{queue.name}` is guaranteed {_shown(asked, kind)} {unit},"
                        f" but may never use more than {_shown(most, kind)}",
                        "the limit wins",
                    )


def lent_beyond_quota(queues: Sequence[Queue]) -> Iterator[QueueFinding]:
    """Queues that would lend more than they are guaranteed."""
    for queue in queues:
        for flavor, lent in queue.lend_limit.items():
            for kind, unit in KINDS.items():
                most = getattr(lent, kind)
                owned = getattr(queue.quota.get(flavor, Amount()), kind) or 0
                if most is not None and most > owned:
                    yield QueueFinding(
                        queue.name,
                        "lend_limit",
                        flavor,
                        f"`{queue.name}` lends up to {_shown(most, kind)} {unit} of a quota of"
                        f" {_shown(owned, kind)}",
                        "it keeps nothing back",
                    )


def entitled_to_nothing(queues: Sequence[Queue]) -> Iterator[QueueFinding]:
    """Queues without quota and without weight, where no queue under them has any."""
    owners = {each.name for each in queues if each.quota or each.over_quota_weight}
    for queue in queues:
        under = any(each.parent == queue.name for each in queues)
        if queue.name not in owners and not under:
            yield QueueFinding(
                queue.name,
                "weight",
                "",
                f"`{queue.name}` has weight 0 and no quota",
                "it is entitled to nothing: it runs on what is idle and is the first to give way",
            )


def _bounds(queue: Queue) -> Iterator[tuple[str, str, int]]:
    for flavor, amount in queue.quota.items():
        for kind in KINDS:
            most = getattr(amount, kind)
            if most is not None:
                yield flavor, kind, most


def _guaranteed(queue: Queue, flavor: str, kind: str) -> int:
    """What a queue is guaranteed of a flavor; for `*` at least the sum over the flavors."""
    own = getattr(queue.quota.get(flavor, Amount()), kind) or 0
    if flavor != ANY_FLAVOR:
        return own
    return max(own, sum(getattr(each, kind) or 0 for each in queue.quota.values()) - own)


def _shown(amount: int, kind: str) -> str:
    return str(amount) if kind == "memory_mib" else decimal(amount)
