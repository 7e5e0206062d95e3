"""Queues: their rules and their use."""

from typing import Any

from msgspec import Struct, field

from ganglion.api.page import Page
from ganglion.model import resources


class Amount(resources.Amount, frozen=True, forbid_unknown_fields=False, omit_defaults=False):
    """A quantity of each resource; None = not governed."""


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
