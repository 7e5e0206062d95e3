"""Queues of a cluster or policy file into the queue tree, checked."""

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.model.errors import FieldError
from ganglion.model.queue import ANY_FLAVOR, Flavors, Preemption, Queue
from ganglion.model.resources import Amount
from ganglion.specs.policy.queue_schema import QueueFile
from ganglion.specs.policy.queue_tree import above_parent, parents_first
from ganglion.specs.reading.mapping import Unread
from ganglion.specs.reading.overlay import overlay
from ganglion.specs.reading.validate import Wrong
from ganglion.specs.reading.yaml import Path
from ganglion.specs.wording import first_of, meant, show


class KnownFlavors(Struct):
    """The flavors there are, and what to do about others.

    Attributes:
        flavors: lower-case name -> name; empty = any flavor may be named.
        wrong: makes an error of problem, canonical path and hint.
        unknown: gathers flavors that no node has.
        problems: gathers everything else that is wrong.
    """

    flavors: dict[str, str]
    wrong: Wrong
    unknown: list[FieldError]
    problems: list[FieldError]

    def flavor(self, name: str, path: Path) -> str:
        """The flavor as nodes call it, or as it was written where no node has it."""
        found = self.flavors.get(name.lower())
        if found or not self.flavors or name == ANY_FLAVOR:
            return found or name
        known = f"flavors are {', '.join(self.flavors.values())} and `*`"
        hint = meant(name, self.flavors) or known
        self.unknown.append(self.wrong(f"no node has the flavor {show(name)}", path, hint))
        return name

    def amounts(self, given: dict[str, Amount], path: Path) -> dict[str, Amount]:
        """Amounts by flavor as nodes call it."""
        found: dict[str, Amount] = {}
        for flavor, amount in given.items():
            name = self.flavor(flavor, (*path, flavor))
            if name in found:
                problem = f"the flavor {show(flavor)} is given twice"
                self.problems.append(self.wrong(problem, (*path, flavor), ""))
            found[name] = amount
        return found


def queues_of(
    files: Sequence[QueueFile],
    flavors: Collection[str],
    preemption: Preemption,
    wrong: Wrong,
    unknown: list[FieldError] | None = None,
) -> tuple[Queue, ...]:
    """Build the queues, parents before their children.

    What could not be read of a queue, which is reported where it was read, breaks no rule.

    Args:
        files: the queues as they were read.
        flavors: those of the nodes; empty = any flavor may be named.
        preemption: what rules that a queue leaves out are.
        wrong: makes an error of problem, canonical path and hint.
        unknown: gathers flavors that no node has; None = they are errors.

    Raises:
        FieldError: queues occur twice, their parents are unknown, the tree has a cycle,
            flavors do not exist, or quotas are above the parent's; all that is wrong.
        Unread: a name cannot be read.
    """
    problems: list[FieldError] = []
    named = {flavor.lower(): flavor for flavor in flavors}
    known = KnownFlavors(named, wrong, problems if unknown is None else unknown, problems)
    read = [QueueFile.model_construct(**{"name": "", **vars(each)}) for each in files]
    _placed(read, known)
    found = [_queue(queue, known, preemption, ("queues", at)) for at, queue in enumerate(read)]
    for each in above_parent([queue for queue in found if queue.name]):
        at = next(at for at, queue in enumerate(found) if queue.name == each.queue)
        problems.append(wrong(each.problem, ("queues", at, each.key, each.flavor), each.hint))
    if problems:
        raise first_of(problems)
    if not all(queue.name for queue in found):
        raise Unread("name")
    return parents_first(found)


def _placed(queues: Sequence[QueueFile], known: KnownFlavors) -> None:
    """Check that each name is given once, each parent exists and the tree has no circle."""
    parents: dict[str, str] = {}
    for at, queue in enumerate(queues):
        if queue.name and queue.name in parents:
            problem = f"the queue `{queue.name}` exists already"
            known.problems.append(known.wrong(problem, ("queues", at, "name"), ""))
        parents.setdefault(queue.name, queue.parent if queue.name else "")
    circles: list[set[str]] = []
    for at, queue in enumerate(queues):
        path = ("queues", at, "parent")
        # A name that cannot be read may be the one that is missing.
        if queue.parent and queue.parent not in parents and "" not in parents:
            hint = meant(queue.parent, [*parents]) or "list the parent as a queue too"
            problem = f"there is no queue {show(queue.parent)}"
            known.problems.append(known.wrong(problem, path, hint))
        circle = _circle(queue.name, parents)
        if circle and set(circle) not in circles:
            circles.append(set(circle))
            problem = f"the queue tree runs in a circle: {' > '.join(circle)}"
            known.problems.append(known.wrong(problem, path, "make one a root"))


def _circle(name: str, parents: dict[str, str]) -> list[str]:
    """The circle that the queues above a queue run in, back to its first; empty = none."""
    seen = [name]
    while above := parents.get(seen[-1]):
        seen.append(above)
        if above in seen[:-1]:
            return seen[seen.index(above) :][::-1]
    return []


def _queue(queue: QueueFile, known: KnownFlavors, preemption: Preemption, path: Path) -> Queue:
    quota, limit, beyond = (
        known.amounts(getattr(queue, key), (*path, key))
        for key in ("quota", "limit", "borrowing_limit")
    )
    for flavor in (each for each in beyond if each in limit):
        problem = f"says the same as `limit` for {show(flavor)}, which is given too"
        where = (*path, "borrowing_limit", flavor)
        known.problems.append(known.wrong(problem, where, "keep one of them"))
    rules = queue.preemption
    return Queue(
        name=queue.name,
        parent=queue.parent,
        quota=quota,
        limit=limit | _beyond(quota, beyond),
        lend_limit=known.amounts(queue.lend_limit, (*path, "lend_limit")),
        user_limit=known.amounts(queue.user_limit, (*path, "user_limit")),
        over_quota_weight=queue.weight,
        priority=queue.priority,
        max_pending=queue.max_pending,
        strict=queue.strict,
        preemption=None if rules is None else overlay(preemption, rules),
        flavors=_flavors(queue, known, (*path, "flavors", "order")),
        timeshare_ms=queue.timeshare,
        kinds=queue.kinds,
    )


def _flavors(queue: QueueFile, known: KnownFlavors, path: Path) -> Flavors | None:
    if queue.flavors is None:
        return None
    found = overlay(Flavors(), queue.flavors)
    order = tuple(known.flavor(each, (*path, at)) for at, each in enumerate(found.order))
    return replace(found, order=order)


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
