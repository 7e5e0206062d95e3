"""Disruption budgets and priority classes."""

from msgspec import field

from ganglion.worlds.kubernetes.types.meta import LabelSelector, Meta, Object


class BudgetSpec(Object, frozen=True):
    """`spec` of a budget; an empty selector selects every pod of the namespace, None no pod."""

    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class BudgetStatus(Object, frozen=True):
    """`status` of a budget, kept by the disruption controller.

    Attributes:
        disruptions_allowed: how many more pods may be evicted now.
        current_healthy: pods that are ready.
        desired_healthy: pods that have to be.
        observed_generation: generation of the spec that the numbers are about.
        disrupted_pods: name -> when, of pods that were evicted but have not left yet.
    """

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    observed_generation: int = 0
    disrupted_pods: dict[str, str] = field(default_factory=dict)


class PodDisruptionBudget(Object, frozen=True):
    """A PodDisruptionBudget of `policy/v1`."""

    metadata: Meta = Meta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class PriorityClass(Object, frozen=True):
    """A PriorityClass of `scheduling.k8s.io/v1`; values are -2^31..2^31-1."""

    metadata: Meta = Meta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""
