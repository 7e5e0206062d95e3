"""Queues: a tree of organisation > department > team."""

from msgspec import Struct, field

from ganglion.model.resources import Amount

ANY_FLAVOR = "*"
"""Key of an amount that counts all flavors together."""


class Queue(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One node of the queue tree; pods are charged to leaves and count in every ancestor.

    Attributes:
        name: unique in the whole tree.
        parent: name of the parent queue; empty = a root.
        quota: guaranteed amount by flavor (or `*`); a flavor left out has none.
        limit: most it may ever use by flavor; a flavor left out is unlimited.
        lend_limit: most of its unused quota that others may use; left out = all of it.
        over_quota_weight: weight in the division of what nobody is guaranteed.
        priority: order of over-quota division; higher first.
        max_pending: most workloads that may wait here; 0 = no bound.
    """

    name: str
    parent: str = ""
    quota: dict[str, Amount] = field(default_factory=dict)
    limit: dict[str, Amount] = field(default_factory=dict)
    lend_limit: dict[str, Amount] = field(default_factory=dict)
    over_quota_weight: int = 1
    priority: int = 100
    max_pending: int = 0
