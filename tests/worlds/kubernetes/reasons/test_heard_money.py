"""A pod that a budget keeps waiting says so, with the numbers, on the object and in its views."""

from ganglion.model.events import PriceSet
from ganglion.model.events.policy import ClusterMoney, StandingBudget
from ganglion.model.queue import Budget
from ganglion.pricing.zones import month_of
from ganglion.worlds.kubernetes.cluster_view.orders import Bind, Say
from tests.controlplane import manifests
from tests.pricing.build import priced
from tests.worlds.kubernetes.controller.stage import Stage

EUR = 1_000_000


def heard(stage: Stage, limit: int) -> None:
    (flavor,) = stage.controller.scene.state.fleet.totals.flavors()
    begin, _ = month_of(stage.now, "UTC")
    budget = Budget("", limit * EUR)
    said = StandingBudget(budget, begin, 1 * EUR)
    price = PriceSet(1, priced(EUR, flavor=flavor))
    stage.controller.scene.state.hear_money(
        ClusterMoney(1, (price,), {"east:default": said}), stage.now
    )


def test_a_gang_that_does_not_fit_a_heard_budget_waits_with_its_numbers_until_it_does() -> None:
    stage = Stage()
    stage.show(manifests.node("n0", gpus=8))
    stage.turn()
    heard(stage, 4)
    stage.show(*manifests.gang("train", 2, gpus=2))
    stage.turn()
    assert not stage.ordered(Bind)
    (said,) = {each.message for each in stage.ordered(Say)}
    assert "the budget of queue east:default is 4.00 EUR this month: 1.00 are spent" in said
    assert "1.00 are missing" in said
    heard(stage, 5)
    stage.turn()
    (bind,) = stage.ordered(Bind)
    assert len(bind.pods) == 2
