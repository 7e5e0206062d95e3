"""No gang is stopped in vain, within quota or against its will, and all comes to rest."""

from random import Random

import pytest

from ganglion.model.policy import Entitlement, EvictionRules, Policy, VictimOrder
from tests.effort import sample
from tests.engine.contention import Contention, Lending

POLICIES = {
    "default": Policy(),
    "kai": Policy(entitlement=Entitlement.KAI),
    "newest": Policy(evict=EvictionRules(victims=VictimOrder.NEWEST)),
    "price first": Policy(evict=EvictionRules(victims=VictimOrder.PRICE_FIRST)),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", (*sample(range(8), 4), 100292, 100549, 100851))
def test_queues_that_fight_come_to_rest(name: str, seed: int) -> None:
    contention = Contention(Random(seed), POLICIES[name])

    for _ in range(40):
        contention.step()


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", sample(range(4), 2))
def test_queues_that_fight_for_counted_resources_come_to_rest(name: str, seed: int) -> None:
    contention = Contention(Random(seed), POLICIES[name], cards=True)

    for _ in range(40):
        contention.step()


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", sample(range(12), 6))
def test_services_keep_their_floors_and_whoever_wakes_has_its_place(name: str, seed: int) -> None:
    lending = Lending(Random(seed), POLICIES[name])

    for _ in range(40):
        lending.step()
