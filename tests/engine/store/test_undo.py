"""Whatever is tried is taken back: the pods that count are those of the records."""

from random import Random

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption.node_offers import NodeOffers
from ganglion.engine.preemption.stock import Stock
from ganglion.engine.preemption_rules.units import units_of
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import Effort
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.events import GangSubmitted, NodeAdded, QueueSet
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.resources import GpuRequest, PodRequest
from tests.engine import random_fleets as make
from tests.engine.build import gang, node, state_of, submit

HALF = PodRequest(gpu=GpuRequest(1, milli=500))


def running(pods: int = 2, **more: object) -> tuple[ClusterState, GangRecord]:
    state = state_of(node("a", 1), node("b", 1))
    elastic = gang("e", pods, request=HALF, pod={"min_count": 1}, **more)
    assert len(submit(state, elastic).starts) == 1
    return state, state.gangs.records["e/0"]


def units(record: GangRecord) -> list[VictimUnit]:
    return list(units_of(record, CauseKind.RECLAIMED, lambda *_: 1, lambda _: True))


def test_a_seat_that_is_equal_to_a_pod_that_counts_is_taken_back_alone() -> None:
    state, record = running()
    assert record.placement
    tentative = Tentative(state)
    tentative.take(units(record)[-1])
    free = record.placement.pods[1]
    tentative.seat(record, Placement((free,)))
    tentative.undo()
    state.validate()


def test_two_equal_seats_are_both_taken_back() -> None:
    state, record = running(pods=1)
    seat = Placement((PodPlacement("main", 7, "b", (0,), 500),))
    tentative = Tentative(state)
    tentative.seat(record, seat)
    tentative.seat(record, seat)
    tentative.unseat(record, seat)
    tentative.undo()
    state.validate()


def test_a_gang_is_taken_only_with_its_surplus() -> None:
    state, record = running()
    surplus, whole = units(record)
    assert (surplus.whole, whole.whole) == (False, True)
    asked = state.fleet.table.sight(record.shapes[0])
    market = NodeOffers(state, asked, Stock(state, [surplus, whole]), range(2), Effort(0))
    tentative = Tentative(state)
    market.drop(surplus)
    offer = market.best()
    assert offer and offer.units == (whole,)
    assert market.accept(offer, tentative, lambda unit: unit.whole) is None
    assert market.best() is None, "a gang whose surplus may not leave is no victim"
    state.validate()
    market = NodeOffers(state, asked, Stock(state, [surplus, whole]), range(2), Effort(0))
    market.drop(surplus)
    offer = market.best()
    assert offer
    assert market.accept(offer, tentative, lambda _: True) == [surplus, whole]
    assert not state.holdings.occupants.counted()
    tentative.undo()
    state.validate()


def test_whatever_is_taken_and_seated_at_random_is_undone() -> None:
    for seed in range(40):
        rng = Random(seed)
        state = ClusterState()
        cycle(
            state,
            [
                *(QueueSet(0, queue) for queue in make.queue_tree(rng)),
                *(NodeAdded(0, make.node(rng, f"n{number}")) for number in range(4)),
                *(GangSubmitted(0, make.gang(rng, number)) for number in range(12)),
            ],
            1,
        )
        state.validate()
        tentative, taken = Tentative(state), list[VictimUnit]()
        settled = [
            each for each in state.holdings.settled() if each.placement and each.placement.pods
        ]
        for record in rng.sample(settled, min(len(settled), 4)):
            for unit in units(record):
                if unit.pods:
                    tentative.take(unit)
                    taken.append(unit)
        for unit in taken:
            pods = tuple(rng.sample(unit.pods, rng.randint(1, len(unit.pods))))
            tentative.seat(unit.record, Placement(pods))
            if rng.random() < 0.3:
                tentative.unseat(unit.record, Placement(pods))
        tentative.undo()
        state.validate()
