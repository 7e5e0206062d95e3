"""What a policy or a queue says about all workloads of one kind."""

from collections.abc import Mapping

from msgspec import Struct

from ganglion.model.workload import Kind


class Weighted(Struct, frozen=True, forbid_unknown_fields=True):
    """A Score plugin and how much its opinion counts."""

    name: str
    weight: int = 1


class KindRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Rules for workloads of one kind.

    The first four fill in what a workload leaves out when it is submitted; the other two hold
    for waiting and running gangs alike, from the moment they are set.

    Attributes:
        priority: of workloads that give none; None = 50.
        preemptible: whether others may stop workloads that do not say so themselves, and whose
            priority class does not either; None = yes.
        isolation: of workloads that give none: `none`, `kind`, `queue` or `workload`; empty =
            `none`.
        spread: whether gangs of one workload stay apart, by rack and then by node; None =
            services do.
        protected_ms: run time during which they are no victims; None = as the queue says.
        scores: Score plugins that choose the nodes of their pods; empty = those of the policy.
    """

    priority: int | None = None
    preemptible: bool | None = None
    isolation: str = ""
    spread: bool | None = None
    protected_ms: int | None = None
    scores: tuple[Weighted, ...] = ()


NO_RULES = KindRules()
"""Says nothing."""


def rules_of_kind(
    kind: Kind, own: Mapping[Kind, KindRules], usual: Mapping[Kind, KindRules]
) -> KindRules:
    """Rules for a kind in a queue, field by field: the queue's own, else the usual ones.

    Args:
        kind: the kind of workload.
        own: rules of the queue.
        usual: rules of the policy.
    """
    ours, theirs = own.get(kind), usual.get(kind, NO_RULES)
    if ours is None:
        return theirs
    chosen = {
        name: getattr(theirs, name) if (value := getattr(ours, name)) in (None, "", ()) else value
        for name in KindRules.__struct_fields__
    }
    return KindRules(**chosen)
