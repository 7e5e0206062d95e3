"""What is reserved of a budget is what metering would charge, also for parts of GPUs."""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.budget_account import HOUR_MS, UNIT
from ganglion.engine.search.cost_ahead import CostAhead, CostsAhead
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.fork import fork
from ganglion.engine.state.snapshot import saved
from ganglion.engine.state.snapshot import state_of as state_from
from ganglion.engine.store.queue_rules import shapes_for
from ganglion.metering.meter import Meter
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.fleet.node import Device, Node
from ganglion.model.plan import Plan
from ganglion.model.queue import Budget
from ganglion.model.reasons import Token
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet
from ganglion.worlds.kubernetes.gpu_discovery.devices import parts_of
from tests.effort import examples
from tests.engine.build import GIB, gang, node, started, state_of, submit
from tests.engine.queues.test_budgets import EUR, MONTH, QUEUES
from tests.metering.metered import PARTS, SlicedLife
from tests.pricing.build import priced

Part = Fraction | None
WHOLE_GPU = Fraction(1)
SLICE = Fraction(1, 7)
"""Of a GPU: a MIG instance 1g."""


def divided(name: str, *parts: Part, flavor: str = "H100") -> Node:
    """A node with devices that are parts of GPUs; the type of each says which part."""
    devices = tuple(Device(_type(part), 10 * GIB) for part in parts)
    return replace(node(name, 0), devices=devices, flavor=flavor, parts=parts_of(parts))


def _type(part: Part) -> str:
    return f"PART-{part}"


def asking(name: str, part: Part, gpus: int = 1, pods: int = 1) -> Gang:
    """A gang of an hour of devices that are such parts."""
    request = PodRequest(gpu=GpuRequest(gpus, types=(_type(part),)))
    return gang(name, pods=pods, request=request, time_limit_ms=HOUR_MS, submitted=MONTH)


def fleet(*nodes: Node, micro: int = EUR, price: int = EUR) -> ClusterState:
    """A fleet at a price for a GPU-hour, and what `org` may spend in a month."""
    state = state_of(*nodes, queues=QUEUES)
    said = [ev.PriceSet(MONTH, priced(price, flavor=flavor)) for flavor in ("H100", "A100")]
    cycle(state, [*said, ev.BudgetSet(MONTH, Budget("org", micro), 0)], MONTH)
    return state


def reserved(state: ClusterState, now: int = MONTH) -> int:
    return state.queues.budgets.accounts["org"].reserved(now)


def charged(state: ClusterState, plan: Plan, price: int) -> int:
    """What metering charges for what a plan starts, until its time limit, as exact money."""
    meter = Meter()
    meter.begin(MONTH, state.fleet.nodes, (), ())
    for event in plan.decisions:
        meter.note(event, state.gangs.record)
    for start in plan.starts:
        end = ev.GangEnded(MONTH + HOUR_MS, start.gang.id, 1, ev.Outcome.TIMED_OUT)
        meter.note(end, state.gangs.record)
    usage, _ = meter.drain()
    return sum(each.held_milli * price * (each.end_ms - each.begin_ms) for each in usage)


def test_a_slice_of_a_gpu_fits_as_often_as_its_part_does() -> None:
    state = fleet(divided("n", *[SLICE] * 8))
    names = [f"g{number}" for number in range(8)]
    assert started(submit(state, *(asking(each, SLICE) for each in names), now=MONTH)) == names[:7]
    assert reserved(state) == EUR * UNIT
    reason = state.gangs.reason("g7/0")
    assert reason is not None
    assert (reason.token, reason.never) == (Token.BUDGET, False)
    assert reason.evidence["asked_micro"] in (142_000, 143_000)
    assert reason.evidence["reserved_micro"] == EUR
    state.validate()


def test_beside_slices_a_whole_gpu_costs_a_whole_one() -> None:
    state = fleet(divided("n", WHOLE_GPU, SLICE, SLICE))
    assert started(submit(state, asking("whole", WHOLE_GPU), now=MONTH)) == ["whole"]
    assert started(submit(state, asking("part", SLICE), now=MONTH)) == []
    other = fleet(divided("n", WHOLE_GPU, SLICE, SLICE))
    assert started(submit(other, asking("part", SLICE), now=MONTH)) == ["part"]
    assert started(submit(other, asking("whole", WHOLE_GPU), now=MONTH)) == []


@pytest.mark.parametrize("seed", range(examples(30)))
def test_what_is_reserved_and_at_most_spent_is_what_is_charged_for_it(seed: int) -> None:
    random = Random(seed)
    layouts = [random.choices(PARTS, k=random.randint(1, 8)) for _ in range(3)]
    nodes = [
        divided(f"n{at}", *parts, flavor=random.choice(("H100", "A100")))
        for at, parts in enumerate(layouts)
    ]
    price = random.randrange(1, 9_999_999)
    state = fleet(*nodes, micro=1 << 40, price=price)
    gangs = [
        asking(f"g{at}", random.choice(layouts[0]), random.choice((1, 1, 2)), random.choice((1, 2)))
        for at in range(6)
    ]
    before = {each.id: _ahead(state, each) for each in gangs}
    plan = submit(state, *gangs, now=MONTH)
    assert plan.starts
    assert reserved(state) == charged(state, plan, price)
    records = [state.gangs.records[start.gang.id] for start in plan.starts]
    costs = CostsAhead(state, MONTH)
    assert sum(costs.of(each).exact for each in records) == reserved(state)
    assert all(costs.of(each).exact <= before[each.gang.id].exact for each in records)


def _ahead(state: ClusterState, each: Gang) -> CostAhead:
    return CostsAhead(state, MONTH).of(GangRecord(each, shapes_for(state, each), None))


@pytest.mark.parametrize("part", PARTS)
def test_a_budget_of_just_what_is_charged_is_enough_and_a_millionth_less_is_not(
    part: Part,
) -> None:
    parts = (SLICE, part, Fraction(2, 7))  # what comes before decides how thousandths are cut
    price = 1_000 * EUR
    plan = submit(fleet(divided("n", *parts), micro=1 << 40), asking("g", part), now=MONTH)
    (pod,) = plan.starts[0].placement.pods
    micro = divided("n", *parts).part(pod.devices[0]) * price // WHOLE
    for more, expected in ((0, ["g"]), (-1, [])):
        state = fleet(divided("n", *parts), micro=micro + more, price=price)
        assert started(submit(state, asking("g", part), now=MONTH)) == expected


def test_a_cheaper_part_is_found_where_a_dear_one_would_pass_the_budget() -> None:
    half = Fraction(1, 2)
    state = fleet(divided("a", WHOLE_GPU, flavor="A100"), divided("b", half), micro=EUR // 2)
    request = PodRequest(gpu=GpuRequest(1))
    wanted = gang("g", request=request, queue="team", time_limit_ms=HOUR_MS)
    assert started(submit(state, wanted, now=MONTH)) == ["g"]
    assert reserved(state) == EUR // 2 * UNIT


def test_two_pod_sets_are_known_to_cost_at_most_the_part_of_each() -> None:
    state = fleet(divided("n", WHOLE_GPU, *[SLICE] * 7))
    sets = tuple(
        PodSet(name, count, request=PodRequest(gpu=GpuRequest(1, types=(_type(part),))))
        for name, count, part in (("head", 1, WHOLE_GPU), ("rest", 2, SLICE))
    )
    both = replace(asking("g", SLICE), pod_sets=sets)
    most = _ahead(state, both).exact
    assert most == (1000 + 2 * 143) * EUR * HOUR_MS
    cycle(state, [ev.BudgetSet(MONTH, Budget("org", 2 * EUR), 0)], MONTH)
    plan = submit(state, both, now=MONTH)
    assert started(plan) == ["g"]
    assert reserved(state) == charged(state, plan, EUR) <= most


def test_a_node_that_gets_another_layout_is_reserved_by_it_from_then_on() -> None:
    state = fleet(divided("n", SLICE, SLICE), micro=EUR)
    plan = submit(state, asking("g", SLICE, gpus=2), now=MONTH)
    assert started(plan) == ["g"]
    assert reserved(state) == charged(state, plan, EUR) == 285 * EUR * HOUR_MS
    finer = replace(divided("n", SLICE, SLICE), parts=(100, 100))
    cycle(state, [ev.NodeAdded(MONTH, finer)], MONTH)
    assert reserved(state) == 200 * EUR * HOUR_MS
    cycle(state, [ev.GangStopping(MONTH, "g/0", 1, Cause(CauseKind.CANCELLED))], MONTH)
    cycle(state, [ev.NodeAdded(MONTH, divided("n", SLICE, SLICE))], MONTH)
    assert reserved(state) == 285 * EUR * HOUR_MS
    for copy in (fork(state), state_from(saved(state), state.config.plugins)):
        copy.validate()
        assert reserved(copy) == reserved(state)


def test_a_budget_is_set_while_a_gang_leaves_a_node_that_is_forgotten() -> None:
    state = fleet(divided("n", SLICE), node("m"), micro=20 * EUR)
    submit(state, asking("g", SLICE), gang("whole", 8, time_limit_ms=HOUR_MS), now=MONTH)
    cause = Cause(CauseKind.CANCELLED)
    leaving: list[ev.Event] = [
        ev.GangStopping(MONTH, each, 1, cause) for each in ("g/0", "whole/0")
    ]
    cycle(state, [*leaving, ev.NodeLost(MONTH, "n"), ev.NodeAdded(MONTH, node("z"))], MONTH)
    assert "n" not in state.fleet.nodes
    plan = cycle(state, [ev.BudgetSet(MONTH, Budget("org", 10 * EUR), 0)], MONTH)
    assert plan.rejected == []
    assert reserved(state) == 8 * EUR * UNIT


class BudgetedLife(SlicedLife):
    """A life in which every queue has a budget."""

    def begin(self, rng: Random, count: int, cards: bool = False) -> None:
        super().begin(rng, count, cards)
        names = list(self.state.queues.by_name)
        self.run(*(ev.BudgetSet(self.now, Budget(name, 1 << 60), 0) for name in names))

    def waits(self, ms: int) -> None:
        super().waits(ms)
        held = self.state.queues.budgets.held
        for name, record in self.state.gangs.records.items():
            milli = Counter[str]()
            nodes = self.state.fleet.nodes
            for pod in record.placement.pods if record.placement else ():
                if any(each >= len(nodes[pod.node].devices) for each in pod.devices):
                    break  # it holds what is gone, and is about to be stopped for that
                for device in pod.devices:
                    part = self.parts[pod.node, device]
                    milli[nodes[pod.node].kind] += part * pod.milli // WHOLE
            else:
                rates = held[name].rates if name in held else ()
                assert {flavor: each for (flavor, _), each in rates} == dict(+milli)


@pytest.mark.parametrize("seed", range(examples(3, nightly=100)))
def test_whatever_happens_each_gang_counts_as_it_is_metered(seed: int) -> None:
    rng = Random(seed)
    life = BudgetedLife()
    life.begin(rng, 3)
    for _ in range(12):
        life.waits(1)
        life.submit(rng=rng, count=2)
        rng.choice((life.start, life.node_comes_back, life.leave))(rng=rng)
    assert life.state.queues.budgets.held


def two_sets(*types: tuple[str, ...]) -> Gang:
    """A gang of an hour with a pod of each of these kinds of GPUs."""
    sets = tuple(
        PodSet(f"s{at}", request=PodRequest(gpu=GpuRequest(1, types=each)))
        for at, each in enumerate(types)
    )
    return replace(asking("g", WHOLE_GPU), pod_sets=sets)


def priced_fleet(micro: int) -> ClusterState:
    """A node of H100 at 4 EUR an hour, one of A100 at 1 EUR, and what may be spent."""
    state = state_of(node("h"), node("a", kind="A100"), queues=QUEUES)
    said = [
        ev.PriceSet(MONTH, priced(price, flavor=flavor))
        for flavor, price in (("H100", 4 * EUR), ("A100", EUR))
    ]
    cycle(state, [*said, ev.BudgetSet(MONTH, Budget("org", micro), 0)], MONTH)
    return state


BOTH = (("H100",), ("A100",))
EITHER = (("H100",), ("H100", "A100"))


@pytest.mark.parametrize("types", [BOTH, EITHER])
def test_sets_of_two_flavors_start_where_a_budget_holds_just_what_they_cost(
    types: tuple[tuple[str, ...], ...],
) -> None:
    state = priced_fleet(5 * EUR)
    wanted = two_sets(*types)
    most = _ahead(state, wanted).exact
    plan = submit(state, wanted, now=MONTH)
    assert started(plan) == ["g"]
    assert reserved(state) == 5 * EUR * UNIT <= most
    assert most == (5 if types == BOTH else 8) * EUR * UNIT


def test_sets_of_two_flavors_wait_where_a_millionth_is_missing_and_say_how_much() -> None:
    state = priced_fleet(5 * EUR - 1)
    for types in (BOTH, EITHER):
        wanted = replace(two_sets(*types), id=f"{len(types[1])}/0", workload=str(len(types[1])))
        assert started(submit(state, wanted, now=MONTH)) == []
        reason = state.gangs.reason(wanted.id)
        assert reason is not None
        assert (reason.token, reason.evidence["asked_micro"]) == (Token.BUDGET, 5 * EUR)


def test_a_set_that_no_node_can_take_says_so_whatever_the_others_cost() -> None:
    state = priced_fleet(EUR)
    assert started(submit(state, two_sets(("H100",), ("B200",)), now=MONTH)) == []
    reason = state.gangs.reason("g/0")
    assert reason is not None
    assert reason.token is not Token.BUDGET
