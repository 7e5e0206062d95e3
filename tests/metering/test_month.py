"""A month of jobs is metered, priced and budgeted, and comes out as a bill by hand says."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.common.jobs import Arrival, read_arrivals, synthetic
from ganglion.engine.queues.budget_account import UNIT
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.metering.meter import Meter
from ganglion.metering.sums import UsageBy, date_of
from ganglion.model import events as ev
from ganglion.model.events import Event, PriceSet
from ganglion.model.plan import Plan
from ganglion.model.queue import Budget, Queue
from ganglion.model.reasons import Token
from ganglion.pricing.book import PriceBook
from ganglion.server.views.usage import OpenIntervals, UsageReport, usage_report
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import PRESETS
from ganglion.worlds.simulated.job import Shapes, SimJob
from ganglion.worlds.simulated.run import FinishedRun, simulate
from ganglion.worlds.simulated.scenario import SimulatedScenario
from tests.effort import examples
from tests.engine.build import gang, node
from tests.metering.bill import DAY, HOUR, Bill
from tests.pricing.build import priced

MONTH = int(datetime(2026, 12, 1, tzinfo=UTC).timestamp()) * 1000
NEXT = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp()) * 1000
END = NEXT - 1
QUEUES = (Queue("org"), Queue("vision", "org"), Queue("speech", "org"))
RAISED = MONTH + 10 * DAY + 5 * HOUR
"""From when on H100 cost more."""
WRONG = MONTH + 3 * DAY
"""The price of A100 from here on is corrected."""
FOUND = MONTH + 20 * DAY
"""When that is found out."""
PRICES = (
    PriceSet(MONTH, priced(2_500_000, MONTH)),
    PriceSet(MONTH, priced(1_200_000, MONTH, hours=(20, 8))),
    PriceSet(MONTH, priced(1_700_001, MONTH, flavor="A100")),
    PriceSet(MONTH, priced(3_000_007, RAISED)),
)
CORRECTION = PriceSet(FOUND, priced(1_100_003, WRONG, flavor="A100"))


def by_hand(changed: int) -> dict[tuple[str, int], int]:
    """Millionths for an hour of a GPU of a flavor in each hour of the month.

    `changed`: from when on the other price of A100 holds.
    """
    found: dict[tuple[str, int], int] = {}
    for hour in range(MONTH // HOUR, NEXT // HOUR):
        night = not 8 <= hour % 24 < 20
        dear = 3_000_007 if hour * HOUR >= RAISED else 2_500_000
        found["H100", hour] = 1_200_000 if night else dear
        late = hour * HOUR >= changed
        found["A100", hour] = 1_100_003 if late else 1_700_001
    return found


def month_of(arrivals: Sequence[Arrival], nodes: int, limit: int) -> SimulatedScenario:
    """Jobs of a month in two queues below one budget, on nodes of two flavors that fail."""
    shapes, first = Shapes(8), arrivals[0][0]
    fleet = tuple(node(f"n{i}", kind="A100" if i % 3 == 2 else "H100") for i in range(nodes))
    jobs = [
        SimJob(
            replace(
                gang(f"{number:06d}", queue=("vision", "speech")[number % 2]),
                pod_sets=shapes.gpus(size),
                submitted=MONTH + at - first,
                time_limit_ms=duration // HOUR * HOUR + 2 * HOUR,
            ),
            duration,
        )
        for number, (at, duration, size) in enumerate(arrivals)
        if at - first < NEXT - MONTH and 0 < size <= 8 * nodes
    ]
    budgets = (
        ev.BudgetSet(MONTH, Budget("org", limit)),
        ev.BudgetSet(MONTH, Budget("speech", limit)),
    )
    return SimulatedScenario(
        fleet,
        QUEUES,
        tuple(jobs),
        timing=Timing(start_ms=20_000),
        faults=replace(PRESETS["light"], node_mtbf_ms=30 * DAY, device_mtbf_ms=40 * DAY),
        horizon_ms=END - MONTH,
        begin_ms=MONTH,
        facts=(*PRICES, *budgets),
        withdraws=False,
    )


class Month:
    """A scenario that was run, metered into a ledger, and put down by hand."""

    def __init__(self, scenario: SimulatedScenario, ledger: Ledger) -> None:
        self.meter, self.bill = Meter(), Bill(scenario.nodes, scenario.jobs)
        self.records = {each.gang.id: each for each in scenario.jobs}
        self.meter.begin(MONTH, {}, (), ())
        self.ledger, self.refused = ledger, 0
        self.run: FinishedRun = simulate(scenario, observe=self._observe)
        self.bill.close(END)
        self._write()

    def _observe(self, events: list[Event], plan: Plan) -> None:
        for event in (*events, *plan.decisions):
            self.meter.note(event, self.records.__getitem__)
            self.bill.note(event)
        self.refused += sum(each.reason.token is Token.BUDGET for each in plan.waits)
        if len(self.meter.pending_usage()) > 500:
            self._write()

    def _write(self) -> None:
        usage, supply = self.meter.drain()
        begun = ev.ServerStarted(self.meter.now, "test", metered=True)
        self.ledger.append(Batch(self.meter.now, [begun], usage=usage, supply=supply))

    def report(self, by: Sequence[UsageBy], *prices: PriceSet) -> UsageReport:
        usage = tuple(self.meter.open_usage(END))
        supply = tuple(self.meter.open_supply(END))
        book = PriceBook([*PRICES, *prices])
        found = OpenIntervals(usage, supply, self.ledger.cycle, MONTH, book)
        return usage_report(self.ledger, found, by, (MONTH, END), None, fleet=True)


def in_micro(exact: int) -> int:
    """Exact money in millionths, half up."""
    return (2 * exact + UNIT) // (2 * UNIT)


def reconcile(month: Month, limit: int) -> None:
    """What was metered, rated and counted against budgets is what the bill says."""
    held = month.bill.held()
    days = month.report((UsageBy.QUEUE, UsageBy.FLAVOR, UsageBy.DAY))
    metered = {(each.queue, each.flavor, each.day): each.held_gpu_us for each in days.rows}
    assert {key: each for key, each in metered.items() if each} == {
        (queue, flavor, date_of(day)): each for (queue, flavor, day), each in held.items() if each
    }
    assert days.total.attempts == len(month.bill.stays)

    capacity, flavors = month.bill.capacity(), Counter[str]()
    for (_, flavor, _), each in held.items():
        flavors[flavor] += each
    assert days.fleet is not None
    assert {each.flavor: each.capacity_gpu_us for each in days.fleet} == capacity
    for found in days.fleet:
        assert found.held_gpu_us == flavors[found.flavor]
        assert found.idle_gpu_us >= 0
        assert found.unavailable_gpu_us >= 0
        known = found.held_gpu_us + found.idle_gpu_us + found.unavailable_gpu_us
        assert known == found.capacity_gpu_us

    for corrected in (False, True):
        costs = month.bill.cost(by_hand(WRONG if corrected else NEXT))
        said = month.report((UsageBy.QUEUE,), *[CORRECTION] * corrected)
        assert said.total.cost_micro == in_micro(costs.total())
        for row in said.rows:
            assert abs(row.cost_micro - in_micro(costs[row.queue or ""])) <= 1
        at_the_time = month.bill.cost(by_hand(FOUND if corrected else NEXT)).total()
        change = sum(each.change_micro for each in said.corrections)
        assert abs(change - in_micro(costs.total() - at_the_time)) <= 1
        assert said.total.unpriced_gpu_us == 0
        assert bool(change) is corrected

    costs = month.bill.cost(by_hand(NEXT))
    spent = {each.budget.queue: each for each in month.run.state.queues.budgets.views(END)}
    assert spent["org"].spent == -(-costs.total() // UNIT)
    assert spent["speech"].spent == -(-costs["speech"] // UNIT)
    assert month.refused
    assert max(each.spent for each in spent.values()) <= limit


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "ledger.db")


def test_a_made_up_month_is_reconciled_to_the_last_millisecond(ledger: Ledger) -> None:
    limit = 900_000_000
    reconcile(Month(month_of(synthetic(1, 250, nodes=4, load=0.11), 3, limit), ledger), limit)
    ledger.close()


TRACED = (("cluster10", 4, 5_000_000_000), ("cluster05", 4, 14_000_000_000))
"""Cluster, nodes, and a budget that does not hold all of its month."""


@pytest.mark.parametrize(("cluster", "nodes", "limit"), TRACED[: examples(1, nightly=2)])
def test_a_month_of_a_public_trace_is_reconciled_to_the_last_millisecond(
    shared: Path, ledger: Ledger, cluster: str, nodes: int, limit: int
) -> None:
    trace = shared / "itp_elasticflow" / "jobs.csv.gz"
    if not trace.is_file():
        pytest.skip(f"no trace {trace}; set GANGLION_TRACES to the folder that has it")
    scenario = month_of(read_arrivals(trace)[cluster], nodes, limit)
    reconcile(Month(scenario, ledger), limit)
    ledger.close()
