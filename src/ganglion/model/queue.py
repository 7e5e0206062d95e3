"""Queues: a tree of organisation > department > team."""

from enum import StrEnum

from msgspec import Struct, field

from ganglion.model.kinds import KindRules
from ganglion.model.resources import Amount
from ganglion.model.workload import Kind

ANY_FLAVOR = "*"
"""Key of an amount that counts all flavors together."""


CLUSTER_SIGN = ":"
"""Stands, at a server, between the name of a cluster and that of its queue."""


class Victims(StrEnum):
    """Which gangs a waiting one may have stopped, compared by priority."""

    NEVER = "never"
    """No gang."""
    LOWER = "lower"
    """Gangs of lower priority."""
    LOWER_OR_NEWER = "lower_or_newer"
    """Gangs of lower priority, and those of equal priority submitted later."""
    ANY = "any"
    """Gangs of any priority."""


class Preemption(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the waiting gangs of a queue may do to running ones.

    Kueue's names: `preempt` is withinClusterQueue, `reclaim` reclaimWithinCohort, `borrowing`
    borrowWithinCohort and `threshold` its maxPriorityThreshold. KAI's: the actions preempt and
    reclaim; `protected_ms` is preemptMinRuntime and reclaimMinRuntime, `delay_ms` its
    preemption delay.

    Attributes:
        preempt: victims within the queue.
        reclaim: victims in queues that use more than they are entitled to.
        borrowing: the same while the asking queue itself goes beyond its quota.
        threshold: highest priority of a victim while borrowing; None = any the rule allows.
        protected_ms: run time during which gangs of this queue are no victims.
        delay_ms: how long a gang of this queue waits before it may have others stopped.
        share_after_ms: run time before which gangs of this queue are no victims of queues that
            ask for their share beyond what they are guaranteed; doubles with every stop of a
            gang for others, up to 64 times.
    """

    preempt: Victims = Victims.LOWER
    reclaim: Victims = Victims.ANY
    borrowing: Victims = Victims.NEVER
    threshold: int | None = None
    protected_ms: int = 0
    delay_ms: int = 0
    share_after_ms: int = 0


class Flavors(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """In which order a queue tries the flavors (Kueue: flavorFungibility).

    Attributes:
        order: flavors tried first, in this order; others follow by name.
        borrow_first: take a flavor beyond quota before trying the next one.
        preempt_first: take a flavor by stopping others before trying the next one.
        prefer_preempting: between borrowing one flavor and preempting in another, preempt.
    """

    order: tuple[str, ...] = ()
    borrow_first: bool = True
    preempt_first: bool = False
    prefer_preempting: bool = False


WARN_PERCENT = (50, 80, 95)
"""At which parts of a budget people are notified by default."""
GRACE_MS = 900_000
"""How long what runs goes on by default once a budget is spent."""


class Budget(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a queue and all below it may spend in a month.

    Attributes:
        queue: name of the queue.
        micro: the limit, in millionths of the currency of the prices.
        zone: time zone in which months begin.
        carry_over: whether what was left of a month is added to the next one.
        warn: percentages of the limit at which people are notified that it is spent.
        grace_ms: how long what runs goes on once the limit is spent.
        until_ms: when the token ends whose spending cap it is, which has no months and bears the
            name of `cap_of` in place of a queue's; 0 = it is the budget of a queue.
        known_as: name of the queue at the server that holds the budget; empty = the same.
    """

    queue: str
    micro: int
    zone: str = "UTC"
    carry_over: bool = False
    warn: tuple[int, ...] = WARN_PERCENT
    grace_ms: int = GRACE_MS
    until_ms: int = 0
    known_as: str = ""

    @property
    def shown(self) -> str:
        """Name of its queue for those who may raise it."""
        return self.known_as or self.queue


def cap_of(token: str) -> str:
    """The name of what workloads may cost that are submitted with a token, by its id."""
    return f"token:{token}"


class Queue(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One node of the queue tree; pods are charged to leaves and count in every ancestor.

    Attributes:
        name: unique in the whole tree.
        parent: name of the parent queue; empty = a root.
        quota: guaranteed amount by flavor (or `*`); a flavor left out has none.
        limit: most it may ever use by flavor; a flavor left out is unlimited.
        lend_limit: most of its unused quota that others may use; left out = all of it.
        user_limit: most that one user may use in it by flavor; left out = unlimited.
        over_quota_weight: weight in the division of what no queue is guaranteed, in thousandths
            of a unit where it comes from a decimal; 0 = none of it.
        priority: order of over-quota division; higher first.
        max_pending: most workloads that may wait here; 0 = no bound.
        strict: a gang that cannot start keeps all later ones of the queue waiting; None = as
            the policy says.
        preemption: what its gangs may do to others; None = as the policy says.
        flavors: order of flavors; None = whichever scores best.
        timeshare_ms: service, in ms of one GPU, after which a gang with a checkpoint contract may
            yield to equals that had less; 0 = never, None = as the policy says, learnt.
        kinds: rules for its workloads of one kind; what they leave out is as the policy says.
    """

    name: str
    parent: str = ""
    quota: dict[str, Amount] = field(default_factory=dict)
    limit: dict[str, Amount] = field(default_factory=dict)
    lend_limit: dict[str, Amount] = field(default_factory=dict)
    user_limit: dict[str, Amount] = field(default_factory=dict)
    over_quota_weight: int = 1
    priority: int = 100
    max_pending: int = 0
    strict: bool | None = None
    preemption: Preemption | None = None
    flavors: Flavors | None = None
    timeshare_ms: int | None = None
    kinds: dict[Kind, KindRules] = field(default_factory=dict)
