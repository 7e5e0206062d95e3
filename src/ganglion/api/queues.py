"""Queues: their rules and their use."""

from typing import Any

from msgspec import Struct, field

from ganglion.api.page import Page
from ganglion.model import resources
from ganglion.model.causes import CauseKind


class Amount(resources.Amount, frozen=True, forbid_unknown_fields=False, omit_defaults=False):
    """A quantity of each resource; None = not governed."""


class BoundView(Struct):
    """What bounds the use of a queue: a rule of its own, or of a queue above it.

    Attributes:
        queue: whose rule it is.
        rule: `limit`, or `quota`, which bounds work that may not be stopped for others.
        flavor: that it is about; `*` = all together.
        resource: `gpu_milli`, `cpu_milli` or `memory_mib`, which is its unit.
        most: the bound.
        used: in use of it in that queue and all below it.
        binds: whether it leaves the least of all bounds of that rule, flavor and resource.
    """

    queue: str
    rule: str
    flavor: str
    resource: str
    most: int
    used: int
    binds: bool = False


class PastUseView(Struct):
    """What a queue has used, and what that does to its standing.

    Attributes:
        half_life_ms: past use counts for half after so long.
        gpu_milli: the steady use, in thousandths of GPUs, that its past counts like.
        deserved_without_gpu_milli: what it would deserve now had no queue used anything.
        used_permille: its part of what it and the queues beside it have used; None = of those
            the caller may not see all.
        weight_permille: its part of their weights; None likewise.
        place: its place among them, from 1, by use in relation to what each deserves, the
            smallest first; 0 = the order does not look at past use of queues; None likewise.
        place_without: the same had no queue used anything.
        beside: how many they are; 0 = of those the caller may not see all.
    """

    half_life_ms: int
    gpu_milli: int
    deserved_without_gpu_milli: int
    used_permille: int | None = None
    weight_permille: int | None = None
    place: int | None = None
    place_without: int | None = None
    beside: int = 0


class QueueView(Struct):
    """One queue: its rules and what it uses now.

    Attributes:
        name: unique in the tree.
        parent: name of the queue above; empty = a root.
        quota: guaranteed amount of each resource by flavor.
        limit: most it may use by flavor.
        lend_limit: most of its unused quota that others may use, by flavor.
        over_quota_weight: weight in the division of what no queue is guaranteed.
        priority: order of that division; higher first.
        max_pending: most workloads that may wait here; 0 = no bound.
        leaf: whether workloads may be submitted to it.
        gpu_used_milli: thousandths of GPUs in use, its children's included.
        used: in use by flavor; `*` = all together.
        deserved_gpu_milli: thousandths of GPUs that it deserves now, at most what it asks for.
        reclaimable_gpu_milli: of those in use beyond that and its quota, which other queues may
            reclaim.
        running: gangs that hold resources, those of its children included.
        waiting: gangs that wait, likewise.
        document: its rules, as a policy file says them.
        etag: names these rules, for changes of just these.
        bounds: what bounds its use, of its own rules and of those above it, its own first.
        past: what it has used; None = the policy does not remember that.
    """

    name: str
    parent: str = ""
    quota: dict[str, Amount] = field(default_factory=dict)
    limit: dict[str, Amount] = field(default_factory=dict)
    lend_limit: dict[str, Amount] = field(default_factory=dict)
    over_quota_weight: int = 1
    priority: int = 100
    max_pending: int = 0
    leaf: bool = True
    gpu_used_milli: int = 0
    deserved_gpu_milli: int = 0
    reclaimable_gpu_milli: int = 0
    used: dict[str, Amount] = field(default_factory=dict)
    running: int = 0
    waiting: int = 0
    document: dict[str, Any] = field(default_factory=dict)
    etag: str = ""
    bounds: tuple[BoundView, ...] = ()
    past: PastUseView | None = None


class QueuePage(Page):
    """Queues, by name."""

    items: tuple[QueueView, ...] = ()


class QueueRules(Struct):
    """The rules of a queue, without its usage.

    Attributes:
        name: unique in the tree.
        document: its rules, as a policy file says them.
        etag: names these rules: give it as If-Match to change just these.
    """

    name: str
    document: dict[str, Any]
    etag: str


class ReclaimedAttempt(Struct):
    """One attempt that was stopped, or made smaller, for work of another queue.

    Attributes:
        at: when it was asked to, in ms.
        workload: whose attempt it was; empty = the caller may not see it.
        for_workload: for whose sake; empty likewise.
        gpu_milli: thousandths of GPUs that it gave up; None = unknown.
    """

    at: int
    workload: str = ""
    for_workload: str = ""
    gpu_milli: int | None = None


class ReclaimView(Struct):
    """What one queue took back from another for one cause.

    Attributes:
        taker: queue of the work for whose sake; empty = unknown, or queues that the caller may
            not see.
        giver: queue whose work was stopped; empty likewise.
        cause: `reclaimed`, `reclaimed_borrowing` or `shared`.
        why: the same as a sentence.
        count: attempts that were stopped or made smaller.
        gpu_milli: thousandths of GPUs that these gave up, as far as known.
        unknown: attempts of which that is not known.
        last_at: when the last one was asked to, in ms.
        last: the last ones, the newest first.
    """

    taker: str
    giver: str
    cause: CauseKind
    why: str
    count: int = 0
    gpu_milli: int = 0
    unknown: int = 0
    last_at: int = 0
    last: tuple[ReclaimedAttempt, ...] = ()


class ReclaimPage(Struct):
    """Which queues took back from which in a period.

    Attributes:
        since, until: the period, in ms.
        known_since: what was before is not known, in ms; None = all of the period is.
        items: the one with the latest stop first.
        left_out: whether there were too many stops; then the oldest are missing.
    """

    since: int
    until: int
    known_since: int | None = None
    items: tuple[ReclaimView, ...] = ()
    left_out: bool = False
