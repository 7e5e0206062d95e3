"""Offers come cheapest first although most nodes are never priced exactly."""

from random import Random

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption.node_offers import NodeOffers, Offer
from ganglion.engine.preemption.stock import Stock
from ganglion.engine.preemption_rules.units import units_of
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import Effort
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit
from ganglion.engine.topology.pod_shape import shapes_of
from ganglion.model.causes import CauseKind
from ganglion.model.events import GangSubmitted, NodeAdded, QueueSet
from ganglion.model.placement import PodPlacement
from tests.effort import sample
from tests.engine import random_fleets as make


def crowded(rng: Random) -> ClusterState:
    state = ClusterState()
    cycle(
        state,
        [
            *(QueueSet(0, queue) for queue in make.queue_tree(rng)),
            *(NodeAdded(0, make.node(rng, f"n{number}")) for number in range(12)),
            *(GangSubmitted(0, make.gang(rng, number)) for number in range(40)),
        ],
        0,
    )
    return state


def priced_at_random(rng: Random, state: ClusterState) -> list[VictimUnit]:
    def price(record: GangRecord, pods: tuple[PodPlacement, ...], whole: bool) -> int:
        return rng.choice((0, 1, 7, 7, 1000)) * len(pods) * (3 if whole else 1)

    found = [
        unit for each in state.holdings.settled() for unit in units_of(each, CAUSE, price, bool)
    ]
    return [unit for unit in found if unit.pods]


CAUSE = CauseKind.PREEMPTED


def one_by_one(
    state: ClusterState, record: GangRecord, stock: Stock, slots: int, gone: list[VictimUnit]
) -> Offer | None:
    """The best of the offers of markets of one node each."""
    sight, offers = state.fleet.table.sight(record.shapes[0]), []
    for rank in range(len(state.fleet.tree.nodes)):
        market = NodeOffers(state, sight, stock, [rank], Effort(0), slots)
        for unit in gone:
            market.take(unit)
        offers.append(market.best())
    return min(
        (each for each in offers if each), key=lambda each: (each.cost, each.rank), default=None
    )


@pytest.mark.parametrize("slots", [1, 4])
def test_the_next_offer_is_the_cheapest_of_all_nodes(slots: int) -> None:
    compared = unpriced = 0
    for seed in sample(range(30), 3, turn=slots):
        rng = Random(seed)
        state = crowded(rng)
        stock = Stock(state, priced_at_random(rng, state))
        gang = make.gang(rng, 1000)
        record = GangRecord(gang, shapes_of(gang, ()), None)
        sight, ranks, effort = state.fleet.table.sight(record.shapes[0]), range(12), Effort(0)
        market = NodeOffers(state, sight, stock, ranks, effort, slots)
        market.open()
        tentative, taken = Tentative(state), list[VictimUnit]()
        while offer := market.best():
            assert offer == one_by_one(state, record, stock, slots, taken)
            compared += 1
            done = market.accept(offer, tentative, lambda _: True)
            assert done
            taken += done
        assert one_by_one(state, record, stock, slots, taken) is None
        unpriced += len(ranks) * (len(taken) + 1) - effort.used
        tentative.undo()
        state.validate()
    assert compared > 30
    assert unpriced > 0, "some nodes are never priced"
