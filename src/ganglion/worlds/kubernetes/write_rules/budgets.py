"""Pods under several disruption budgets, which the eviction API refuses to judge.

The API answers 500 for them, always. Leaving such pods alone would let any user put work out
of reach of preemption with a second budget; ignoring the budgets would break promises made to
their owners. So all of them are read, and the pod is deleted only if every one allows it, by
the rules that the eviction API has for one. What this batch took is remembered, since the
status of a budget follows later.
"""

from collections import Counter
from collections.abc import Sequence

from ganglion.worlds.kubernetes.selectors import selector_of
from ganglion.worlds.kubernetes.types.disruption import PodDisruptionBudget
from ganglion.worlds.kubernetes.types.pod import Pod


class SpentDisruptions:
    """Disruptions taken from budgets by one batch of evictions, per state of the budget."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[str, str]] = Counter()

    def left(self, budget: PodDisruptionBudget) -> int:
        """Return how many more pods a budget lets go."""
        status = budget.status
        if status.observed_generation < budget.metadata.generation:
            return 0
        return status.disruptions_allowed - self._taken[_state(budget)]

    def take(self, budgets: Sequence[PodDisruptionBudget]) -> None:
        """Remember that a pod under these budgets goes."""
        self._taken.update(_state(each) for each in budgets)


def _state(budget: PodDisruptionBudget) -> tuple[str, str]:
    return budget.metadata.uid, budget.metadata.resource_version


def guards(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether a budget is about a pod."""
    same = pod.metadata.namespace == budget.metadata.namespace
    return same and selector_of(budget.spec.selector).selects(pod.metadata.labels)


def guarding(pod: Pod, budgets: Sequence[PodDisruptionBudget]) -> list[PodDisruptionBudget]:
    """Return the budgets that are about a pod, by name."""
    found = [each for each in budgets if guards(each, pod)]
    return sorted(found, key=lambda each: each.metadata.name)


def counted(pod: Pod, budget: PodDisruptionBudget) -> bool:
    """Whether the end of a pod uses up the budget: that of one that is not ready may not."""
    ready = pod.condition("Ready")
    if ready is not None and ready.status == "True":
        return True
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return False
    status = budget.status
    return not (status.current_healthy >= status.desired_healthy > 0)


def forbids(pod: Pod, budgets: Sequence[PodDisruptionBudget], spent: SpentDisruptions) -> str:
    """Return which budget forbids the end of a pod, for people; empty = none does.

    Args:
        pod: the one to go.
        budgets: those that guard it.
        spent: what this batch has taken already.
    """
    for budget in budgets:
        if counted(pod, budget) and spent.left(budget) < 1:
            return f"the disruption budget {budget.metadata.key} lets no pod go now"
    return ""
