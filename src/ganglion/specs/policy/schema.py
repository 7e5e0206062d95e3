"""The policy file as pydantic models: canonical keys only, values already understood.

Defaults here are those of `preset: default`; with another preset its values stand.
"""

from typing import Annotated

from ganglion.model.kinds import Weighted
from ganglion.model.policy import (
    Backfill,
    Entitlement,
    Order,
    Placing,
    StandbyCharge,
    VictimOrder,
)
from ganglion.specs.grammar.words import one_of
from ganglion.specs.policy import bookings, queue_schema
from ganglion.specs.policy.bookings import BookingFile
from ganglion.specs.policy.presets import PRESETS, preset_name
from ganglion.specs.policy.queue_schema import PreemptionFile, QueueFile
from ganglion.specs.reading import fields as f
from ganglion.specs.reading import rule_fields as r
from ganglion.specs.reading.mapping import Mapping, described
from ganglion.specs.reading.renaming import Vocabulary

PresetName = Annotated[str, f.told(preset_name), f.schema("string", examples=[*PRESETS])]
UsageLevels = Annotated[
    tuple[str, ...],
    f.told(
        lambda value: tuple(
            one_of(("queue", "user"), {"queues": "queue", "users": "user"})(each)
            for each in (value if isinstance(value, list) else [value])
        )
    ),
    f.PLAIN,
    f.schema("array", "string"),
]


class EvictFile(Mapping):
    """Whom to stop, and when."""

    enabled: f.Flag = described("whether gangs are preempted at all", True)
    victims: r.VictimOrderRule = described(
        f"which victims are preferred: {r.among(VictimOrder)}", VictimOrder.PRICE
    )
    restart: f.Duration = described("time a gang needs to be back at work after a restart", 60_000)
    dead_zone: r.Permille = described(
        "a queue over its entitlement by no more than this part of it is not reclaimed from", 0
    )
    checkpoint_wait: f.Duration = described("most time to wait for a victim's next checkpoint", 0)
    move: f.Flag = described("victims that fit elsewhere immediately are moved there", True)
    tries: r.Tries = described("most domains in which a trade is worked out", 8)


class FutureFile(Mapping):
    """Reservations, backfill and what is learnt about run times."""

    backfill: r.BackfillRule = described(
        f"what may overtake a blocked gang: {r.among(Backfill)}", Backfill.EASY
    )
    reservations: r.Count = described("how many of the first blocked gangs hold reservations", 1)
    learn: f.Flag = described("the order among equals follows learnt run times", True)
    ageing: f.Duration = described(
        "waiting time that offsets one step of the order among equals; 0 = never", 86_400_000
    )
    assumed: f.Duration = described(
        "run time assumed of gangs without limit and without history", 86_400_000
    )
    patience: r.Permille = described(
        "a blocked gang gets a reservation once it has waited for this part of the time that the"
        " fleet needed for the work ahead of it when it was submitted; 0% = at once",
        750,
    )
    starving: r.Permille = described(
        "a blocked gang that has waited for this part of that time, and for 30 minutes, starves:"
        " without time limits that say when room comes, its place is drained; 0% = never",
        0,
    )


class RepackFile(Mapping):
    """When running gangs are moved to mend fragmentation."""

    consolidate: f.Flag = described("preemptible gangs are moved so that a waiting one fits", True)
    horizon: f.Duration = described(
        "a move must gain more GPU time within this than it costs", 3_600_000
    )
    moves: r.Count = described("most gangs moved for one that waits", 16)
    empty_nodes: f.Flag = described(
        "gangs are moved off nearly empty nodes when no gang waits", False
    )


class UsageFile(Mapping):
    """How past use counts against a queue or user."""

    half_life: f.Duration = described(
        "time after which past use counts half; 0 = only present use counts", 0
    )
    levels: UsageLevels = described(
        "what past use is compared among: queue, user", ("queue", "user")
    )
    correction: r.Permille = described(
        "how strongly past use lowers a queue's weight (KAI: kValue, 100% = 1.0)", 0
    )


class FailuresFile(Mapping):
    """What becomes of nodes that fail."""

    quarantine_after: r.Count = described(
        "failures of one node within the window that shut it; 0 = none does", 3
    )
    quarantine: f.Duration = described(
        "how long it stays shut the first time; doubles up to 8 times", 24 * 3_600_000
    )
    window: f.Duration = described(
        "failures count together that are no further apart", 14 * 24 * 3_600_000
    )
    most: r.Permille = described("most nodes that are shut for their failures at once", 100)
    spares: r.Count = described(
        "nodes of each flavor that are kept free for gangs that lose one", 0
    )
    ready_within: f.Duration = described(
        "how long a gang in a cluster may take from its binding until it is ready; 0 = for ever",
        15 * 60_000,
    )


class Knobs(Mapping):
    """How the engine decides."""

    preset: PresetName = described("what the rest of the file changes", "default")
    order: r.OrderRule = described(
        f"order of gangs of equal priority: {r.among(Order)}", Order.FAIR
    )
    strict: r.StrictRule = described(
        "a gang that cannot start holds up all later ones of its queue", False
    )
    heads_only: f.Flag = described("look at one gang per queue and cycle, as Kueue does", False)
    placement: r.PlacingRule = described(
        f"how a place for a gang is searched: {r.among(Placing)}", Placing.COMPACT
    )
    entitlement: r.EntitlementRule = described(
        f"what queues are compared by: {r.among(Entitlement)}", Entitlement.SHARE
    )
    elastic: f.Flag = described("elastic gangs grow into idle GPUs after their start", True)
    repair: f.Flag = described(
        "pods that a gang lost with a node are replaced while the rest goes on", False
    )
    timeshare: f.Flag = described(
        "gangs that save when asked to stop share time with equals; not with order fifo",
        True,
    )
    sleeping: r.RightsRule = described(
        "what a queue is charged for places kept for replicas that sleep: "
        f"{r.among(StandbyCharge)}",
        StandbyCharge.QUOTA,
    )
    tries: r.Tries = described("most domains tried for a gang before it waits", 8)
    scores: r.Scores = described(
        "Score plugins: a list, or name -> weight", (Weighted("ganglion"),)
    )
    filters: f.Texts = described("Filter plugins, beside the built-in rules", ())
    permits: f.Texts = described("Permit plugins, asked before every start", ())
    preempts: f.Texts = described("Preempt plugins, asked before a victim is taken", ())
    priorities: r.Classes = described(
        "named priorities: `{batch: 10, prod: {value: 90, preemptible: false}}`", {}
    )
    escalate: r.Steps = described(
        "waiting raises a priority: `{after: 12h, to: high}`, or a list of such steps", ()
    )
    kinds: r.Kinds = described(
        "rules for workloads of one kind: `{service: {preemptible: false, scores: memory}}`", {}
    )
    workspaces_per_user: r.Count = described(
        "workspaces that one user may have which are not suspended; 0 = any number", 0
    )
    fetch_per_second: f.Memory = described(
        "how much of weights and images a node fetches in a second: what it holds already counts"
        " by it among places that are equal otherwise; 0 = it does not count",
        128,
    )
    preemption: PreemptionFile = described(
        "what gangs may do to others where their queue does not say", PreemptionFile()
    )
    evict: EvictFile = described("which gangs to stop, and when", EvictFile())
    future: FutureFile = described("reservations, backfill, learnt run times", FutureFile())
    repack: RepackFile = described("when running gangs are moved", RepackFile())
    usage: UsageFile = described("how past use counts", UsageFile())
    failures: FailuresFile = described("handling of nodes that fail", FailuresFile())


class Topped(Knobs):
    """The whole file."""

    queues: tuple[QueueFile, ...] | None = described(
        "the whole queue tree; left out = the queues stay as they are", None
    )
    bookings: tuple[BookingFile, ...] | None = described(
        "all bookings; left out = they stay as they are", None
    )


SECTIONS: dict[str, type[Mapping]] = {
    "preemption": PreemptionFile,
    "evict": EvictFile,
    "future": FutureFile,
    "repack": RepackFile,
    "usage": UsageFile,
    "failures": FailuresFile,
}
"""Scope of knobs -> its model."""

SCOPES: dict[str, type[Mapping]] = {
    "": Topped,
    **queue_schema.SCOPES,
    **SECTIONS,
    "bookings": BookingFile,
}
"""Scope of keys -> its model."""

KNOB_ALIASES = {
    "score": "scores",
    "priority_classes": "priorities",
    "escalation": "escalate",
    "preemptMinRuntime": "preemption.protected",
    "reclaimMinRuntime": "preemption.protected",
    "queueingStrategy": "strict",
    "PriorityDecayHalfLife": "usage.half_life",
    "backfill": "future.backfill",
}
ALIASES: dict[str, dict[str, str]] = {
    "": KNOB_ALIASES,
    **queue_schema.ALIASES,
    "bookings": bookings.ALIASES,
    "usage": {
        "PriorityDecayHalfLife": "half_life",
        "halfLife": "half_life",
        "kValue": "correction",
    },
}
KNOB_CHILDREN = {name: name for name in SECTIONS}

VOCABULARY = Vocabulary(
    keys={scope: tuple(model.model_fields) for scope, model in SCOPES.items()},
    aliases=ALIASES,
    children={
        "": {**KNOB_CHILDREN, "queues": "queues", "bookings": "bookings"},
        **queue_schema.CHILDREN,
    },
    lists=("queues", "bookings"),
)
