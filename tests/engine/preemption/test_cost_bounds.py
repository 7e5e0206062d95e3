"""No trade in a domain costs less than its bound, and what is free in domains is followed."""

from itertools import combinations
from random import Random

import pytest

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption import preempt
from ganglion.engine.preemption.cost_bounds import NO_BOUND, Bound, Leftovers, Supply
from ganglion.engine.preemption.domain_offers import Shop, Shops
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.placement import PodPlacement
from ganglion.model.plan import Phase, Plan
from tests.engine.build import end, gang, node, state_of, submit


@pytest.mark.parametrize("seed", range(20))
def test_no_set_of_units_costs_less_than_the_bound(seed: int) -> None:
    rng = Random(seed)
    state = state_of(*(node(f"n{number}") for number in range(3)))
    units = [unit(rng, number) for number in range(rng.randint(1, 8))]
    by_node: dict[int, list[VictimUnit]] = {}
    for each in units:
        for rank in {state.fleet.tree.index[pod.node] for pod in each.pods}:
            by_node.setdefault(rank, []).append(each)
    supply = Supply(state, by_node, range(2), classless=False)

    for milli in (1000, 3000, 8000, 13_000):
        found = supply.bound(milli)
        costs = [
            (max(each.hurts for each in some), sum(each.price for each in some))
            for size in range(1, len(units) + 1)
            for some in combinations(units, size)
            if sum(freed(each) for each in some) >= milli
        ]
        assert (found is None) == (not costs)
        assert found is None or found <= min(costs)


def unit(rng: Random, number: int) -> VictimUnit:
    record = GangRecord(gang(f"g{number}", priority=rng.choice((10, 20))), (), None)
    record.phase = Phase.RUNNING
    pods = tuple(
        PodPlacement("main", index, f"n{rng.randrange(3)}", tuple(range(rng.randint(1, 4))), 1000)
        for index in range(rng.randint(1, 3))
    )
    return VictimUnit(record, pods, True, rng.randrange(10_000), CauseKind.PREEMPTED)


def freed(each: VictimUnit) -> int:
    """Thousandths of GPUs that a unit frees on the first two nodes."""
    return sum(len(pod.devices) * 1000 for pod in each.pods if pod.node in ("n0", "n1"))


def test_what_is_free_in_a_domain_follows_starts_ends_and_cordons() -> None:
    state = state_of(*(node(f"n{number}", rack=f"r{number // 2}") for number in range(4)))
    tree = state.fleet.tree
    free, racks = Leftovers(tree), {each.name: at for at, each in enumerate(tree.domains)}
    assert [free.of(at) for at in (0, racks["r0"], racks["r1"])] == [32_000, 16_000, 16_000]

    submit(state, gang("a", gpus=3), gang("b", gpus=8))

    held = {
        at: sum(sum(tree.table.known[tree.conditions[rank]].gpu) for rank in tree.ranks_in(at))
        for at in racks.values()
    }
    assert {at: free.of(at) for at in held} == held
    assert free.of(0) == 21_000

    end(state, "b")
    assert free.of(0) == 29_000


def rack_wars(seed: int) -> Plan:
    """Gangs of higher priority take full racks; what they pay differs from rack to rack."""
    rng = Random(seed)
    nodes = [node(f"n{n:02d}", rack=f"r{n // 2}", block=f"b{n // 4}") for n in range(8)]
    state = state_of(*nodes)
    sizes = [rng.choice((1, 2, 4, 8)) for _ in range(40)]
    submit(
        state, *(gang(f"low-{n}", gpus=size, priority=10 + n % 2) for n, size in enumerate(sizes))
    )
    asks = [(rng.choice((2, 3)), rng.choice((2, 4, 8))) for _ in range(4)]
    return submit(
        state,
        *(gang(f"high-{n}", pods, gpus, priority=50) for n, (pods, gpus) in enumerate(asks)),
        now=3_600_000,
    )


@pytest.mark.parametrize("seed", range(12))
def test_trades_are_those_of_a_search_through_every_domain(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rack_wars(seed)

    class Everywhere(Shops):
        def for_gang(self, *args: object) -> list[tuple[Bound, int, Shop]]:
            every = super().for_gang(*args)  # type: ignore[arg-type]  # passed on as it is
            return [(NO_BOUND, turn, shop) for _, turn, shop in sorted(every, key=lambda e: e[1])]

    monkeypatch.setattr(preempt, "Shops", Everywhere)
    assert found.stops
    assert found.stops == rack_wars(seed).stops
