"""Which budgets guard a pod, and whether they let it go."""

import pytest

from ganglion.worlds.kubernetes.types.disruption import (
    BudgetSpec,
    BudgetStatus,
    PodDisruptionBudget,
)
from ganglion.worlds.kubernetes.types.meta import Condition, LabelSelector, Meta, Requirement
from ganglion.worlds.kubernetes.types.pod import Pod, PodStatus
from ganglion.worlds.kubernetes.write_rules.budgets import (
    SpentDisruptions,
    counted,
    forbids,
    guarding,
    guards,
)

READY = PodStatus(conditions=(Condition("Ready", "True"),))
ALL = LabelSelector()


def pod(status: PodStatus = READY, **labels: str) -> Pod:
    return Pod(Meta(name="p", namespace="ns", labels=labels), status=status)


def budget(
    selector: LabelSelector | None = ALL,
    allowed: int = 1,
    *,
    name: str = "b",
    namespace: str = "ns",
    unhealthy: str = "",
    healthy: tuple[int, int] = (1, 2),
    observed: int = 1,
) -> PodDisruptionBudget:
    meta = Meta(name=name, namespace=namespace, uid=name, generation=1)
    status = BudgetStatus(allowed, *healthy, observed)
    return PodDisruptionBudget(meta, BudgetSpec(selector, unhealthy), status)


def expression(operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(Requirement("app", operator, values),))


@pytest.mark.parametrize(
    ("selector", "a", "b", "none"),
    [
        (ALL, True, True, True),
        (None, False, False, False),
        (LabelSelector({"app": "a"}), True, False, False),
        (expression("In", "a", "c"), True, False, False),
        (expression("NotIn", "a"), False, True, True),
        (expression("Exists"), True, True, False),
        (expression("DoesNotExist"), False, False, True),
        (expression("Unheard"), False, False, False),
    ],
)
def test_selectors_select_as_the_api_does(
    selector: LabelSelector | None, a: bool, b: bool, none: bool
) -> None:
    asked = budget(selector)
    found = [guards(asked, each) for each in (pod(app="a"), pod(app="b"), pod())]
    assert found == [a, b, none]


def test_budgets_guard_their_namespace() -> None:
    mine, theirs = budget(name="mine"), budget(name="theirs", namespace="other")
    assert guarding(pod(), [theirs, mine]) == [mine]


def test_a_budget_that_nobody_looked_at_lets_nobody_go() -> None:
    assert "ns/b" in forbids(pod(), [budget(observed=0)], SpentDisruptions())


def test_all_have_to_agree_and_what_was_taken_counts() -> None:
    spent, wide, tight = (
        SpentDisruptions(),
        budget(name="wide", allowed=5),
        budget(name="tight", allowed=1),
    )
    assert forbids(pod(), [wide, tight], spent) == ""
    spent.take([wide, tight])
    assert "ns/tight" in forbids(pod(), [wide, tight], spent)
    assert forbids(pod(), [wide], spent) == ""


def test_pods_that_are_not_ready_count_as_their_budget_says() -> None:
    sick = pod(PodStatus())
    assert counted(pod(), budget(unhealthy="AlwaysAllow"))
    assert not counted(sick, budget(unhealthy="AlwaysAllow"))
    assert counted(sick, budget(healthy=(1, 2)))
    assert not counted(sick, budget(healthy=(2, 2)))
    assert counted(sick, budget(healthy=(0, 0)))
