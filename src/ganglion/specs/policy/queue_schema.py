"""Queues as cluster and policy files write them: canonical keys only."""

from typing import Any

from ganglion.model.queue import Victims
from ganglion.specs.reading import fields as f
from ganglion.specs.reading import rule_fields as r
from ganglion.specs.reading.mapping import Mapping, described


class PreemptionFile(Mapping):
    """What waiting gangs may do to running ones."""

    preempt: r.VictimRule = described(
        f"victims within the queue: {r.among(Victims)}", Victims.LOWER
    )
    reclaim: r.VictimRule = described(
        "victims in queues that use more than they are entitled to: the same words", Victims.ANY
    )
    borrowing: r.VictimRule = described(
        "the same while the asking queue itself goes beyond its quota", Victims.ANY
    )
    threshold: r.Rank | None = described(
        "highest priority of a victim while borrowing; left out = any the rule allows", None
    )
    protected: f.Duration = described("run time during which gangs of this queue are no victims", 0)
    delay: f.Duration = described(
        "how long a gang of this queue waits before others are stopped for it", 0
    )
    share_after: f.Duration = described(
        "run time before which gangs of this queue are no victims of queues that ask for their "
        "share beyond quota; doubles with every stop",
        600_000,
    )


class FlavorsFile(Mapping):
    """In which order a queue tries the flavors."""

    order: f.Texts = described("flavors tried first, in this order; others follow by name", ())
    borrow_first: r.BorrowFirst = described(
        "take a flavor beyond quota before trying the next one", True
    )
    preempt_first: r.PreemptFirst = described(
        "take a flavor by stopping others before trying the next one", False
    )
    prefer_preempting: r.PreferPreempting = described(
        "between borrowing one flavor and preempting in another, preempt", False
    )


class QueueFile(Mapping):
    """A queue of the tree."""

    name: f.Name = described("unique in the whole tree")
    parent: f.Name = described("queue it belongs to; left out = a root", "")
    quota: r.Amounts = described("guaranteed, by flavor or `*`: `{H100: 16}`", {})
    limit: r.Amounts = described("most it may ever use, by flavor or `*`", {})
    lend_limit: r.Amounts = described("most of its unused quota that others may use", {})
    borrowing_limit: r.Amounts = described("the limit, said as what goes beyond the quota", {})
    user_limit: r.Amounts = described("most that one user may use in it, by flavor or `*`", {})
    weight: r.Count = described("part in dividing capacity beyond quotas; 0 = only its quota", 1)
    priority: r.Rank = described("priority in that division; higher first", 100)
    max_pending: f.Amount = described("most workloads that may wait; 0 = no bound", 0)
    strict: r.StrictRule | None = described(
        "a gang that cannot start holds up all later ones; left out = as the policy says", None
    )
    preemption: PreemptionFile | None = described(
        "what its gangs may do to others; keys left out = as the policy says", None
    )
    flavors: FlavorsFile | None = described(
        "order of flavors; left out = whichever scores best", None
    )
    timeshare: f.Duration | None = described(
        "service of one GPU after which gangs with a checkpoint contract yield to equals that had "
        "less; 0 = never; left out = as the policy says",
        None,
    )
    kinds: r.Kinds = described(
        "rules for its workloads of one kind; what is left out is as the policy says", {}
    )


PREEMPTION_ALIASES = {
    "withinClusterQueue": "preempt",
    "reclaimWithinCohort": "reclaim",
    "borrowWithinCohort": "borrowing",
    "maxPriorityThreshold": "threshold",
    "preemptMinRuntime": "protected",
    "reclaimMinRuntime": "protected",
    "preemptionDelay": "delay",
}
FLAVOR_ALIASES = {
    "whenCanBorrow": "borrow_first",
    "whenCanPreempt": "preempt_first",
    "preference": "prefer_preempting",
}
QUEUE_ALIASES = {
    "cohort": "parent",
    "cohortName": "parent",
    "parentQueue": "parent",
    "nominalQuota": "quota",
    "deserved": "quota",
    "guarantee": "quota",
    "limits": "limit",
    "capability": "limit",
    "borrowingLimit": "borrowing_limit",
    "lendingLimit": "lend_limit",
    "over_quota_weight": "weight",
    "overQuotaWeight": "weight",
    "queueingStrategy": "strict",
    "flavorFungibility": "flavors",
    "preemptMinRuntime": "preemption.protected",
    "reclaimMinRuntime": "preemption.protected",
}

SCOPES: dict[str, type[Mapping]] = {
    "queues": QueueFile,
    "preemption": PreemptionFile,
    "flavors": FlavorsFile,
}
ALIASES: dict[str, dict[str, str]] = {
    "queues": QUEUE_ALIASES,
    "preemption": PREEMPTION_ALIASES,
    "flavors": FLAVOR_ALIASES,
}
CHILDREN = {"queues": {"preemption": "preemption", "flavors": "flavors"}}


def expand(rules: Any) -> None:  # noqa: ANN401 - what a file holds at `preemption`
    """Write out Kueue's `borrowWithinCohort: {policy, maxPriorityThreshold}` in place."""
    given = rules.get("borrowing") if isinstance(rules, dict) else None
    if not isinstance(given, dict) or not given.keys() <= {"policy", "maxPriorityThreshold"}:
        return
    rules["borrowing"] = given.get("policy", Victims.NEVER.value)
    if "maxPriorityThreshold" in given:
        rules.setdefault("threshold", given["maxPriorityThreshold"])
