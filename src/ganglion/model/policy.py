"""Policy as data: the knobs of the engine, with safe defaults."""

from enum import StrEnum

from msgspec import Struct, field

from ganglion.model.kinds import KindRules, Weighted
from ganglion.model.queue import Preemption, Victims
from ganglion.model.workload import Kind


class Order(StrEnum):
    """Which gang goes first among waiting ones of equal priority."""

    FAIR = "fair"
    """Queues that use the smallest part of what they deserve first, then the oldest gang."""
    FIFO = "fifo"
    """The oldest gang first, whatever its queue."""
    SHORTEST = "shortest"
    """The shortest expected run time first."""
    SMALLEST = "smallest"
    """The smallest expected service (GPUs x expected run time) first."""


class Entitlement(StrEnum):
    """What queues are compared by, in the order of gangs and for reclaim."""

    SHARE = "share"
    """Quota first, then the fair share of the rest by weight."""
    KAI = "kai"
    """As KAI-Scheduler: below share, below quota, queue priority, dominant share, queue age."""
    QUOTA = "quota"
    """As Kueue: the queue that borrows least first; only what is above quota can be reclaimed."""
    DOMINANT = "dominant"
    """As Kueue with fair sharing: the smallest weighted share of what is borrowed first."""


class VictimOrder(StrEnum):
    """Which victims are preferred."""

    PRICE = "price"
    """Lowest priority first; among equals the cheapest in GPU time lost."""
    PRICE_FIRST = "price-first"
    """The cheapest in GPU time lost, whatever its priority."""
    NEWEST = "newest"
    """Lowest priority first; among equals the latest started (or submitted)."""
    YOUNGEST = "youngest"
    """The latest started first, whatever its priority."""


class Backfill(StrEnum):
    """What may overtake a blocked gang."""

    ANY = "any"
    """Everything that fits: no reservations."""
    EASY = "easy"
    """What does not delay the first blocked gangs, which hold reservations."""
    CONSERVATIVE = "conservative"
    """What delays no gang ahead of it: every one holds a reservation."""


class Placing(StrEnum):
    """How the place of a gang is looked for."""

    COMPACT = "compact"
    """The lowest domain that holds it all; inside, what the Score plugins prefer."""
    TIGHT = "tight"
    """As Kueue: the domain with least to spare, level by level; pods without a wish anywhere."""
    EVEN = "even"
    """As tight, but over the domains it needs a gang with a preferred level spreads evenly."""


class StandbyCharge(StrEnum):
    """What a queue is charged for the kept place of a gang that sleeps."""

    QUOTA = "quota"
    """All of it, as for work that may not be preempted: waking never lacks quota."""
    NOTHING = "nothing"
    """Nothing until it is woken; then its queue must have room for it like for any start."""


class EvictionRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Whom to stop, and when.

    Attributes:
        enabled: whether any gang is stopped for another at all.
        victims: which victims are preferred.
        restart_ms: time a gang needs to be back at work after a restart.
        dead_zone_permille: a queue is not reclaimed from while it is over its entitlement by no
            more than this part of it.
        checkpoint_wait_ms: most time to wait for a victim's next checkpoint.
        move: whether victims that fit elsewhere at once are moved there.
        tries: most domains in which a trade is worked out.
    """

    enabled: bool = True
    victims: VictimOrder = VictimOrder.PRICE
    restart_ms: int = 60_000
    dead_zone_permille: int = 0
    checkpoint_wait_ms: int = 0
    move: bool = True
    tries: int = 8


class Future(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Reservations, backfill and what is learnt about run times.

    Attributes:
        backfill: what may overtake a blocked gang.
        reservations: how many of the first blocked gangs hold reservations.
        learn: whether the order among equals follows learnt run times.
        ageing_ms: waiting so long makes up for one step of the order among equals; 0 = never.
        assumed_ms: run time assumed of gangs without limit and without history.
        patience_permille: a blocked gang gets a reservation once it has waited for this part of
            the time that the fleet needed, when it was submitted, for all work ahead of it; in
            thousandths, 0 = at once.
        starving_permille: a gang that has waited for this part of that time starves: its
            reservation may rest on guesses, and its place is drained; in thousandths, 0 = never.
    """

    backfill: Backfill = Backfill.EASY
    reservations: int = 1
    learn: bool = True
    ageing_ms: int = 86_400_000
    assumed_ms: int = 86_400_000
    patience_permille: int = 750
    starving_permille: int = 0


class Repack(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """When running gangs are moved to mend fragmentation.

    Attributes:
        consolidate: whether preemptible gangs are moved so that a waiting one fits.
        horizon_ms: a move must gain more GPU time within this than it costs.
        moves: most gangs moved for one that waits.
        empty_nodes: whether gangs are moved off nearly empty nodes when no gang waits.
    """

    consolidate: bool = True
    horizon_ms: int = 3_600_000
    moves: int = 16
    empty_nodes: bool = False


class UsageDecay(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How past use counts against a queue or user.

    Attributes:
        half_life_ms: past use counts half after so long; 0 = only present use counts.
        levels: `queue`, `user`, or both: what past use is compared among.
        correction_permille: how strongly past use lowers a queue's weight in the division of
            what no queue is guaranteed (KAI: kValue), in thousandths; 0 = not at all.
    """

    half_life_ms: int = 0
    levels: tuple[str, ...] = ("queue", "user")
    correction_permille: int = 0


class Failures(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What becomes of nodes that fail, and what is kept for those who lose them.

    Attributes:
        quarantine_after: failures of one node within the window that shut it; 0 = none does.
        quarantine_ms: how long it stays shut the first time; doubles up to 8 times.
        window_ms: failures count together that are no further apart.
        most_permille: most nodes that are shut for their failures at once, in thousandths of
            the fleet; at least one may be, and never the last one.
        spares: nodes of each flavor that are kept free for gangs that lose one.
        ready_within_ms: how long a gang of several pods in a cluster may take from its binding
            until all of them are ready; 0 = for ever.
    """

    quarantine_after: int = 3
    quarantine_ms: int = 24 * 3_600_000
    window_ms: int = 14 * 24 * 3_600_000
    most_permille: int = 100
    spares: int = 0
    ready_within_ms: int = 15 * 60_000


class PriorityClass(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A priority with a name.

    Attributes:
        value: the number; higher is sooner.
        preemptible: whether workloads of the class may be stopped for others where they do not
            say so themselves; None = as for any workload.
    """

    value: int
    preemptible: bool | None = None


class Escalation(Struct, frozen=True, forbid_unknown_fields=True):
    """One step by which waiting raises a priority.

    Attributes:
        after_ms: wait since submission, or since the last attempt ended.
        to: priority from then on, for gangs below it.
    """

    after_ms: int
    to: int


SHARING = Preemption(borrowing=Victims.ANY, share_after_ms=600_000)
"""Queues get their fair shares, from gangs that have run for ten minutes."""


class Policy(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the engine decides.

    Attributes:
        order: which gang goes first among equals in priority.
        strict: whether a gang that cannot start keeps all later ones of its queue waiting.
        heads_only: look at one gang per queue and cycle, as Kueue does.
        placement: how the place of a gang is looked for.
        scores: Score plugins by entry point name, with weights.
        filters: Filter plugins that apply beside the built-in rules.
        permits: Permit plugins asked before every start.
        preempts: Preempt plugins asked before a victim is taken.
        tries: most domains in which a gang's placement is tried before it waits.
        entitlement: what queues are compared by.
        preemption: what gangs may do to others where their queue does not say.
        evict, future, repack, usage, failures: see there.
        repair: whether the pods that a gang lost with a node are replaced while the rest goes on.
        timeshare: whether gangs that save when they are asked to stop share time with their equals
            where their queue does not say; not with the order `fifo`.
        elastic: whether elastic gangs grow into idle GPUs after their start.
        sleeping: what a queue is charged for the kept places of gangs that sleep.
        priorities: named priorities beside the built-in ones, by name.
        escalate: steps by which waiting raises the priority of a gang, until it ends.
        kinds: rules for workloads of one kind, where their queue has none of its own.
        workspaces_per_user: workspaces that one user may have which are not suspended; 0 = any
            number.
        fetch_per_second_mib: how fast nodes fetch weights and images, by which what they hold
            counts in seconds; 0 = it does not count.
    """

    order: Order = Order.FAIR
    strict: bool = False
    heads_only: bool = False
    placement: Placing = Placing.COMPACT
    scores: tuple[Weighted, ...] = (Weighted("ganglion"),)
    filters: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()
    preempts: tuple[str, ...] = ()
    tries: int = 8
    entitlement: Entitlement = Entitlement.SHARE
    preemption: Preemption = SHARING
    evict: EvictionRules = EvictionRules()
    future: Future = Future()
    repack: Repack = Repack()
    usage: UsageDecay = UsageDecay()
    failures: Failures = Failures()
    elastic: bool = True
    repair: bool = False
    timeshare: bool = True
    sleeping: StandbyCharge = StandbyCharge.QUOTA
    priorities: dict[str, PriorityClass] = field(default_factory=dict)
    escalate: tuple[Escalation, ...] = ()
    kinds: dict[Kind, KindRules] = field(default_factory=dict)
    workspaces_per_user: int = 0
    fetch_per_second_mib: int = 128
